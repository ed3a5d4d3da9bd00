import type { DynamoDBDocumentClient, UpdateCommandInput } from '@aws-sdk/lib-dynamodb';
import { DeleteCommand, PutCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { RegistryRow } from '../../kernel/contract/rows.ts';
import { KeyAttribute } from '../../kernel/contract/tables.ts';
import { type OwnerToken, ownerToken } from '../../kernel/ids.ts';
import { type Pacing, type WriteResult, writeConditionally } from '../../kernel/platform/attempts.ts';
import type { Item } from '../../kernel/platform/items.ts';
import { itemOf } from '../../once/store/transact-items.ts';
import { rounds } from '../../once/use/rounds.ts';
import type { SendingClaim, SendingClaims, SendingOwner } from '../use/sending-claims.ts';

const sendingItem = z.object({
  status: z.literal('sending'),
  owner: z.string().transform(ownerToken),
  leaseExpiresAtMs: z.int(),
  mayHaveSentUntilMs: z.int(),
  /** Who may be sending still; gone once it has said that its send is over. */
  sender: z.string().transform(ownerToken).exactOptional(),
});
const claimItem = z.discriminatedUnion('status', [
  z.object({ status: z.literal('sent'), vendorId: z.string() }),
  sendingItem,
]);

type Sending = z.infer<typeof sendingItem>;

const IS_OURS = '#status = :sending AND #owner = :owner';
const NAMES = { '#status': 'status', '#owner': 'owner' };

/**
 * Claims in the Registry, a row each: `SENDING#<vendor>#<key>`. They are never forgotten: a message that is replayed from
 * an archive years later finds what was sent, long after the vendor itself has forgotten it.
 */
export class DynamoDbSendingClaims implements SendingClaims {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;
  readonly #pacing: Pacing;
  readonly #vendor: string;

  constructor(client: DynamoDBDocumentClient, table: string, pacing: Pacing, vendor: string) {
    this.#client = client;
    this.#table = table;
    this.#pacing = pacing;
    this.#vendor = vendor;
  }

  /**
   * Two that find one stale claim both take it over, and the condition lets one:
   *
   *   A ── sees owner X, stale ── takes over where owner = X ✓
   *   B ──── sees owner X, stale ──── takes over where owner = X ✗ ── sees owner A: sending
   */
  async begin(key: string, leaseMs: number): Promise<SendingClaim> {
    const owner = this.#pacing.entropy.ownerToken();
    return rounds<SendingClaim>('this message', async () => {
      const nowMs = this.#pacing.clock.nowMs();
      const leaseExpiresAtMs = nowMs + leaseMs;
      const found = await this.#putNew(key, { owner, leaseExpiresAtMs });
      // Our own, with which we began: the first sending was applied and its answer was lost.
      if (found === undefined || (found.status === 'sending' && found.owner === owner)) return { kind: 'ours', owner };
      if (found.status === 'sent') return { kind: 'sent', vendorId: found.vendorId };
      if (nowMs < found.leaseExpiresAtMs) return { kind: 'sending', leaseExpiresAtMs: found.leaseExpiresAtMs };
      if (await this.#takeOver(key, found, { owner, leaseExpiresAtMs })) {
        const { mayHaveSentUntilMs, sender } = found;
        return { kind: 'sending_before', owner, mayHaveSentUntilMs, isOver: sender === undefined };
      }
      return 'again';
    });
  }

  async sendAgain({ key, owner }: SendingOwner): Promise<boolean> {
    const written = await this.#update(key, {
      UpdateExpression: 'SET mayHaveSentUntilMs = leaseExpiresAtMs, sender = :owner',
      ConditionExpression: IS_OURS,
      ExpressionAttributeNames: NAMES,
      ExpressionAttributeValues: { ':sending': 'sending', ':owner': owner },
    });
    return written.kind === 'applied';
  }

  /** What was known first stays: every later answer is about the same one thing. */
  async sent(key: string, vendorId: string): Promise<void> {
    await writeConditionally(this.#pacing, () =>
      this.#client.send(
        new PutCommand({
          TableName: this.#table,
          Item: { ...this.#rowKey(key), status: 'sent', vendorId },
          ConditionExpression: 'attribute_not_exists(#status) OR #status <> :sent',
          ExpressionAttributeNames: { '#status': 'status' },
          ExpressionAttributeValues: { ':sent': 'sent' },
        }),
      ),
    );
  }

  async release(claim: SendingOwner, what: 'nothing_sent' | 'unknown'): Promise<void> {
    if (what === 'unknown') await this.#endLease(claim);
    else await this.#remove(claim);
  }

  async #putNew(
    key: string,
    claim: Pick<Sending, 'owner' | 'leaseExpiresAtMs'>,
  ): Promise<z.infer<typeof claimItem> | undefined> {
    const sending = { status: 'sending', ...claim, mayHaveSentUntilMs: claim.leaseExpiresAtMs, sender: claim.owner };
    const written = await writeConditionally(this.#pacing, () =>
      this.#client.send(
        new PutCommand({
          TableName: this.#table,
          Item: { ...this.#rowKey(key), ...sending },
          ConditionExpression: `attribute_not_exists(${KeyAttribute.partition})`,
          ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
        }),
      ),
    );
    const existing = refusing(written);
    return existing === undefined ? undefined : claimItem.parse(existing);
  }

  /** What may have been sent stays as it was: the new owner has sent nothing yet. False when somebody was quicker. */
  async #takeOver(
    key: string,
    before: Sending,
    { owner, leaseExpiresAtMs }: { readonly owner: OwnerToken; readonly leaseExpiresAtMs: number },
  ): Promise<boolean> {
    const written = await this.#update(key, {
      UpdateExpression: 'SET #owner = :owner, leaseExpiresAtMs = :lease',
      // The lease too: an owner that ended its own has said that it is gone, and until when it may have sent.
      ConditionExpression: '#status = :sending AND #owner = :before AND leaseExpiresAtMs = :ended',
      ExpressionAttributeNames: NAMES,
      ExpressionAttributeValues: {
        ':sending': 'sending',
        ':owner': owner,
        ':lease': leaseExpiresAtMs,
        ':before': before.owner,
        ':ended': before.leaseExpiresAtMs,
      },
    });
    if (written.kind === 'applied') return true;
    const now = claimItem.safeParse(refusing(written)).data;
    // Our own: the first sending was applied and its answer was lost.
    return now?.status === 'sending' && now.owner === owner;
  }

  /** Whoever comes next finds out what was sent, until now at the latest. */
  async #endLease({ key, owner }: SendingOwner): Promise<void> {
    const values = { ':sending': 'sending', ':owner': owner, ':now': this.#pacing.clock.nowMs() };
    const written = await this.#update(key, {
      UpdateExpression: 'SET leaseExpiresAtMs = :now, mayHaveSentUntilMs = :now REMOVE sender',
      ConditionExpression: `${IS_OURS} AND sender = :owner`,
      ExpressionAttributeNames: NAMES,
      ExpressionAttributeValues: values,
    });
    if (written.kind === 'applied') return;
    // Taken over, and nothing sent since: the earlier owner's end stands.
    await this.#update(key, {
      UpdateExpression: 'SET leaseExpiresAtMs = :now',
      ConditionExpression: `${IS_OURS} AND (attribute_not_exists(sender) OR sender <> :owner)`,
      ExpressionAttributeNames: NAMES,
      ExpressionAttributeValues: values,
    });
  }

  async #remove({ key, owner }: SendingOwner): Promise<void> {
    await writeConditionally(this.#pacing, () =>
      this.#client.send(
        new DeleteCommand({
          TableName: this.#table,
          Key: this.#rowKey(key),
          ConditionExpression: IS_OURS,
          ExpressionAttributeNames: NAMES,
          ExpressionAttributeValues: { ':sending': 'sending', ':owner': owner },
        }),
      ),
    );
  }

  #update(key: string, change: Omit<UpdateCommandInput, 'TableName' | 'Key'>): Promise<WriteResult<never>> {
    return writeConditionally(this.#pacing, () =>
      this.#client.send(
        new UpdateCommand({
          TableName: this.#table,
          Key: this.#rowKey(key),
          ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
          ...change,
        }),
      ),
    );
  }

  #rowKey(key: string): Record<string, string> {
    return {
      [KeyAttribute.partition]: `${RegistryRow.sending}${this.#vendor}#${key}`,
      [KeyAttribute.sort]: 'CLAIM',
    };
  }
}

/** The row that stood in the way; undefined when the write was applied, or there is no row. */
function refusing(written: WriteResult<never>): Item | undefined {
  return written.kind === 'refused' ? itemOf(written.reasons[0]) : undefined;
}
