import type { OwnerToken } from '../../kernel/ids.ts';
import { ownerToken } from '../../kernel/ids.ts';
import { expirySeconds } from '../../once/domain/idempotency.ts';
import { rounds } from '../../once/use/rounds.ts';
import { readRows, type StatementTools, writeRows } from '../../postgres/attempts.ts';
import { timestamp } from '../../postgres/values.ts';
import type { SendClaimResult, SendingClaims, SendingOwner } from '../use/sending-claims.ts';

interface StoredClaim {
  readonly owner: OwnerToken;
  /** The owner that may still be sending. Absent when that owner has recorded the end of its send. */
  readonly sender: OwnerToken | undefined;
  readonly leaseExpiresAtMs: number;
  readonly mayHaveSentUntilMs: number;
  /** Undefined until the request was sent. */
  readonly vendorId: string | undefined;
}

/** Fails after a takeover, and after the request was sent. */
const IS_OURS = 'vendor = $1 AND key = $2 AND owner = $3 AND vendor_id IS NULL';

/** The claims are in a table of a team's database. */
export class PostgresSendingClaims implements SendingClaims {
  readonly #tools: StatementTools;
  readonly #table: string;
  readonly #vendor: string;

  /** @param table qualified with its schema */
  constructor(tools: StatementTools, table: string, vendor: string) {
    this.#tools = tools;
    this.#table = table;
    this.#vendor = vendor;
  }

  /**
   * Begins a send. If two processes find a claim whose lease has ended, the condition allows only one takeover:
   *
   *   A ── reads owner X, ended ── takes over if owner = X ✓
   *   B ──── reads owner X, ended ──── takes over if owner = X ✗ ── reads owner A: sending
   */
  async begin(key: string, leaseMs: number): Promise<SendClaimResult> {
    const { clock, entropy } = this.#tools.pacing;
    const owner = entropy.ownerToken();
    return rounds<SendClaimResult>('this message', async () => {
      const nowMs = clock.nowMs();
      const leaseExpiresAtMs = nowMs + leaseMs;
      const inserted = await this.#write(
        key,
        `INSERT INTO ${this.#table} (vendor, key, owner, sender, lease_expires_at, may_have_sent_until)
         VALUES ($1, $2, $3, $3, $4, $4) ON CONFLICT (vendor, key) DO NOTHING RETURNING key`,
        [owner, timestamp(leaseExpiresAtMs)],
      );
      if (inserted) return { kind: 'ours', owner };
      const found = await this.#read(key);
      // The claim was removed between the two statements.
      if (found === undefined) return 'again';
      if (found.vendorId !== undefined) return { kind: 'sent', vendorId: found.vendorId };
      // If this is the claim of this process, its first insert was applied, but the response was lost.
      if (found.owner === owner) return { kind: 'ours', owner };
      if (nowMs < found.leaseExpiresAtMs) return { kind: 'sending', leaseExpiresAtMs: found.leaseExpiresAtMs };
      if (!(await this.#takeOver(key, found, { owner, leaseExpiresAtMs }))) return 'again';
      const { mayHaveSentUntilMs, sender } = found;
      return { kind: 'sending_before', owner, mayHaveSentUntilMs, isOver: sender === undefined };
    });
  }

  async sendAgain({ key, owner }: SendingOwner): Promise<boolean> {
    return this.#write(
      key,
      `UPDATE ${this.#table} SET may_have_sent_until = lease_expires_at, sender = owner WHERE ${IS_OURS} RETURNING key`,
      [owner],
    );
  }

  /** The first vendor id stays: later responses are about the same request. */
  async sent(key: string, vendorId: string): Promise<void> {
    const { pacing } = this.#tools;
    const nowMs = pacing.clock.nowMs();
    await this.#write(
      key,
      `INSERT INTO ${this.#table} AS claim
         (vendor, key, owner, lease_expires_at, may_have_sent_until, vendor_id, expires_at)
       VALUES ($1, $2, '', $3, $3, $4, $5) ON CONFLICT (vendor, key) DO UPDATE
       SET vendor_id = excluded.vendor_id, expires_at = excluded.expires_at WHERE claim.vendor_id IS NULL RETURNING key`,
      [timestamp(nowMs), vendorId, timestamp(expirySeconds(pacing, 'events', nowMs) * 1000)],
    );
  }

  /**
   * If this owner may have sent the request, `may_have_sent_until` becomes the current time; otherwise, the time of the
   * earlier owner stays.
   */
  async release({ key, owner }: SendingOwner, what: 'nothing_sent' | 'unknown'): Promise<void> {
    if (what === 'nothing_sent') {
      await this.#write(key, `DELETE FROM ${this.#table} WHERE ${IS_OURS} RETURNING key`, [owner]);
      return;
    }
    await this.#write(
      key,
      `UPDATE ${this.#table} SET lease_expires_at = $4, sender = nullif(sender, owner),
         may_have_sent_until = CASE WHEN sender = owner THEN $4 ELSE may_have_sent_until END
       WHERE ${IS_OURS} RETURNING key`,
      [owner, timestamp(this.#tools.pacing.clock.nowMs())],
    );
  }

  async #takeOver(
    key: string,
    before: StoredClaim,
    { owner, leaseExpiresAtMs }: { readonly owner: OwnerToken; readonly leaseExpiresAtMs: number },
  ): Promise<boolean> {
    const taken = await this.#write(
      key,
      // The condition includes the lease, because a release keeps the owner but may change `may_have_sent_until`, which
      // the caller has read.
      `UPDATE ${this.#table} SET owner = $4, lease_expires_at = $5
       WHERE ${IS_OURS} AND lease_expires_at = $6 RETURNING key`,
      [before.owner, owner, timestamp(leaseExpiresAtMs), timestamp(before.leaseExpiresAtMs)],
    );
    // If this is the takeover by this process, its first update was applied, but the response was lost.
    return taken || (await this.#read(key))?.owner === owner;
  }

  /** @returns whether the statement changed a row */
  async #write(key: string, text: string, values: readonly unknown[]): Promise<boolean> {
    const rows = await writeRows(this.#tools, { name: '', text, values: [this.#vendor, key, ...values] });
    return rows.length > 0;
  }

  async #read(key: string): Promise<StoredClaim | undefined> {
    // Read the times as text, because the application may have registered its own parsers for other types.
    const [row] = await readRows(this.#tools, {
      name: '',
      text: `SELECT owner, sender, vendor_id, (extract(epoch FROM lease_expires_at) * 1000)::bigint::text AS lease,
          (extract(epoch FROM may_have_sent_until) * 1000)::bigint::text AS sent_until
        FROM ${this.#table} WHERE vendor = $1 AND key = $2`,
      values: [this.#vendor, key],
    });
    if (row === undefined) return undefined;
    const { owner, sender, vendor_id: vendorId } = row;
    return {
      owner: ownerToken(String(owner)),
      sender: typeof sender === 'string' ? ownerToken(sender) : undefined,
      vendorId: typeof vendorId === 'string' ? vendorId : undefined,
      leaseExpiresAtMs: Number(row['lease']),
      mayHaveSentUntilMs: Number(row['sent_until']),
    };
  }
}
