import type { DynamoDBDocumentClient, UpdateCommandInput } from '@aws-sdk/lib-dynamodb';
import { DeleteCommand, PutCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { RegistryRow } from '../../kernel/contract/rows.ts';
import { IdempotencyTable, KeyAttribute } from '../../kernel/contract/tables.ts';
import { type OwnerToken, ownerToken } from '../../kernel/ids.ts';
import { type Pacing, type WriteResult, writeConditionally } from '../../kernel/platform/attempts.ts';
import type { Item } from '../../kernel/platform/items.ts';
import { expirySeconds } from '../../once/domain/idempotency.ts';
import { itemOf } from '../../once/store/transact-items.ts';
import { rounds } from '../../once/use/rounds.ts';
import type { SendClaimResult, SendingClaims, SendingOwner } from '../use/sending-claims.ts';

const sendingItem = z.object({
  status: z.literal('sending'),
  owner: z.string().transform(ownerToken),
  leaseExpiresAtMs: z.int(),
  mayHaveSentUntilMs: z.int(),
  /** The owner that may still be sending. Removed when that owner records the end of its send. */
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
 * Stores sending claims in the Registry, one row each: `SENDING#<vendor>#<key>`. A row has no expiry until the send is
 * recorded. Then, it is kept as long as the records of events, so it outlives every message and dead letter of the
 * call. After the row has expired, the order's chain or the permanent record of the receipt refuses a second send.
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
   * Begins a send. If two processes find a claim whose lease has ended, the condition allows only one takeover:
   *
   *   A ── reads owner X, ended ── takes over if owner = X ✓
   *   B ──── reads owner X, ended ──── takes over if owner = X ✗ ── reads owner A: sending
   */
  async begin(key: string, leaseMs: number): Promise<SendClaimResult> {
    const owner = this.#pacing.entropy.ownerToken();
    return rounds<SendClaimResult>('this message', async () => {
      const nowMs = this.#pacing.clock.nowMs();
      const leaseExpiresAtMs = nowMs + leaseMs;
      const found = await this.#putNew(key, { owner, leaseExpiresAtMs });
      // If this is the claim of this process, its first write was applied, but the response was lost.
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

  /** The first vendor id stays, because later responses are about the same request. */
  async sent(key: string, vendorId: string): Promise<void> {
    await writeConditionally(this.#pacing, () =>
      this.#client.send(
        new PutCommand({
          TableName: this.#table,
          Item: { ...this.#rowKey(key), status: 'sent', vendorId, ...this.#expiry() },
          ConditionExpression: 'attribute_not_exists(#status) OR #status <> :sent',
          ExpressionAttributeNames: { '#status': 'status' },
          ExpressionAttributeValues: { ':sent': 'sent' },
        }),
      ),
    );
  }

  #expiry(): Item {
    const { clock } = this.#pacing;
    return { [IdempotencyTable.timeToLiveAttribute]: expirySeconds(this.#pacing, 'events', clock.nowMs()) };
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
    return existing === undefined ? undefined : parseSendingClaim(existing);
  }

  /**
   * Does not change `mayHaveSentUntilMs`, because the new owner has not sent yet. Returns false if a rival took over
   * first.
   */
  async #takeOver(
    key: string,
    before: Sending,
    { owner, leaseExpiresAtMs }: { readonly owner: OwnerToken; readonly leaseExpiresAtMs: number },
  ): Promise<boolean> {
    const written = await this.#update(key, {
      UpdateExpression: 'SET #owner = :owner, leaseExpiresAtMs = :lease',
      // The condition includes the lease, because a release keeps the owner but may change `mayHaveSentUntilMs`, which
      // the caller has read.
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
    // If this is the takeover by this process, its first write was applied, but the response was lost.
    return now?.status === 'sending' && now.owner === owner;
  }

  /** From this time on, this owner sends nothing, and the next owner determines the outcome. */
  async #endLease({ key, owner }: SendingOwner): Promise<void> {
    const values = { ':sending': 'sending', ':owner': owner, ':now': this.#pacing.clock.nowMs() };
    const written = await this.#update(key, {
      UpdateExpression: 'SET leaseExpiresAtMs = :now, mayHaveSentUntilMs = :now REMOVE sender',
      ConditionExpression: `${IS_OURS} AND sender = :owner`,
      ExpressionAttributeNames: NAMES,
      ExpressionAttributeValues: values,
    });
    if (written.kind === 'applied') return;
    // This owner took over and sent nothing, so the earlier owner's `mayHaveSentUntilMs` stays.
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

export function parseSendingClaim(item: Item): z.infer<typeof claimItem> {
  return claimItem.parse(item);
}

/** Undefined if the write was applied or the row does not exist. */
function refusing(written: WriteResult<never>): Item | undefined {
  return written.kind === 'refused' ? itemOf(written.reasons[0]) : undefined;
}
