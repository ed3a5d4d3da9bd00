import type { OwnerToken } from '../../lambdas/kernel/ids.ts';
import type { Clock, Entropy } from '../../lambdas/kernel/world.ts';
import type { SendingClaim, SendingClaims, SendingOwner } from '../../lambdas/outbound/use/sending-claims.ts';

type Row =
  | { readonly kind: 'sent'; readonly vendorId: string }
  | {
      readonly kind: 'sending';
      readonly owner: OwnerToken;
      readonly leaseExpiresAtMs: number;
      readonly mayHaveSentUntilMs: number;
      /** The owner that may still be sending. Removed when that owner records the end of its send. */
      readonly sender?: OwnerToken;
    };

/** Sending claims in memory, for tests. */
export class MemorySendingClaims implements SendingClaims {
  readonly #rows = new Map<string, Row>();
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #entropy: Pick<Entropy, 'ownerToken'>;

  constructor(clock: Pick<Clock, 'nowMs'>, entropy: Pick<Entropy, 'ownerToken'>) {
    this.#clock = clock;
    this.#entropy = entropy;
  }

  async begin(key: string, leaseMs: number): Promise<SendingClaim> {
    const row = this.#rows.get(key);
    if (row?.kind === 'sent') return row;
    const nowMs = this.#clock.nowMs();
    if (row !== undefined && nowMs < row.leaseExpiresAtMs) {
      return { kind: 'sending', leaseExpiresAtMs: row.leaseExpiresAtMs };
    }
    const owner = this.#entropy.ownerToken();
    const leaseExpiresAtMs = nowMs + leaseMs;
    if (row === undefined) {
      const mayHaveSentUntilMs = leaseExpiresAtMs;
      this.#rows.set(key, { kind: 'sending', owner, leaseExpiresAtMs, mayHaveSentUntilMs, sender: owner });
      return { kind: 'ours', owner };
    }
    this.#rows.set(key, { ...row, owner, leaseExpiresAtMs });
    const { mayHaveSentUntilMs, sender } = row;
    return { kind: 'sending_before', owner, mayHaveSentUntilMs, isOver: sender === undefined };
  }

  async sendAgain(claim: SendingOwner): Promise<boolean> {
    const row = this.#owned(claim);
    if (row === undefined) return false;
    this.#rows.set(claim.key, { ...row, mayHaveSentUntilMs: row.leaseExpiresAtMs, sender: claim.owner });
    return true;
  }

  async sent(key: string, vendorId: string): Promise<void> {
    // The first vendor id stays. Later answers are about the same request.
    if (this.#rows.get(key)?.kind !== 'sent') this.#rows.set(key, { kind: 'sent', vendorId });
  }

  async release(claim: SendingOwner, what: 'nothing_sent' | 'unknown'): Promise<void> {
    const row = this.#owned(claim);
    if (row === undefined) return;
    if (what === 'nothing_sent') {
      this.#rows.delete(claim.key);
      return;
    }
    const nowMs = this.#clock.nowMs();
    const { sender, ...before } = row;
    // An owner that took over and sent nothing leaves the earlier owner's times unchanged.
    const said = sender === claim.owner ? { mayHaveSentUntilMs: nowMs } : sender === undefined ? {} : { sender };
    this.#rows.set(claim.key, { ...before, leaseExpiresAtMs: nowMs, ...said });
  }

  #owned({ key, owner }: SendingOwner) {
    const row = this.#rows.get(key);
    return row?.kind === 'sending' && row.owner === owner ? row : undefined;
  }
}
