import { type DynamoDBDocumentClient, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { RegistryRow } from '../../kernel/contract/rows.ts';
import { IdempotencyTable, KeyAttribute } from '../../kernel/contract/tables.ts';
import { base32, type Digest } from '../../kernel/digest.ts';
import { type Pacing, writeConditionally } from '../../kernel/platform/attempts.ts';
import type { Item } from '../../kernel/platform/items.ts';
import { itemOf } from '../../once/store/transact-items.ts';
import type { EmailCounts, OrderEmail } from '../use/order-parties.ts';

const DAY_MS = 24 * 60 * 60_000;
/**
 * Counted from the day whose e-mails the row counts. An e-mail is retried for a shorter time: at most three days for
 * orders, and 14 days for receipts.
 */
const KEPT_DAYS = 30;
const COUNT = 'count';

const countItem = z.looseObject({ [COUNT]: z.int().min(1), [IdempotencyTable.timeToLiveAttribute]: z.int() });

/**
 * Counts e-mails in one row for each tenant, mode, recipient and day. The row contains the number of e-mails, and one
 * attribute for each e-mail. Each e-mail is counted by one conditional write, which takes one write unit as long as the
 * row has at most 25 e-mails.
 *
 *   e-mail 1 ── write: number 20 of 20 ✓ ── crash ──────── write ✗: already in the row, so it is sent
 *   e-mail 2 ───────────────────────────────── write ✗: the row has 20 others, so it is never sent
 */
export class DynamoDbEmailCounts implements EmailCounts {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;
  readonly #pacing: Pacing;
  readonly #digest: Digest;
  readonly #most: number;

  /** @param most e-mails to one recipient on one day */
  constructor(
    client: DynamoDBDocumentClient,
    table: string,
    tools: Pacing & { readonly digest: Digest },
    most: number,
  ) {
    this.#client = client;
    this.#table = table;
    this.#pacing = tools;
    this.#digest = tools.digest;
    this.#most = most;
  }

  async admit(email: Parameters<EmailCounts['admit']>[0]): Promise<boolean> {
    const { operationId, dueAtMs } = email;
    const day = Math.floor(dueAtMs / DAY_MS);
    const written = await writeConditionally(this.#pacing, () =>
      this.#client.send(
        new UpdateCommand({
          TableName: this.#table,
          Key: { [KeyAttribute.partition]: this.#partition(email, day), [KeyAttribute.sort]: 'COUNT' },
          UpdateExpression: 'SET #email = :true, #expiry = :expiry ADD #count :one',
          ConditionExpression: 'attribute_not_exists(#email) AND (attribute_not_exists(#count) OR #count < :most)',
          ExpressionAttributeNames: {
            '#email': operationId,
            '#count': COUNT,
            '#expiry': IdempotencyTable.timeToLiveAttribute,
          },
          ExpressionAttributeValues: {
            ':true': true,
            ':one': 1,
            ':most': this.#most,
            ':expiry': ((day + 1 + KEPT_DAYS) * DAY_MS) / 1000,
          },
          ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
        }),
      ),
    );
    if (written.kind !== 'refused') return true;
    const row = itemOf(written.reasons[0]);
    return row !== undefined && operationId in row;
  }

  #partition({ tenantId, mode, to }: Pick<OrderEmail, 'tenantId' | 'mode' | 'to'>, day: number): string {
    const parts = [tenantId, mode, mailboxOf(to), String(day)];
    return `${RegistryRow.emailCount}${base32(this.#digest.sha256(JSON.stringify(parts)))}`;
  }
}

/** At most mail services, addresses that differ only in case or in a tag after `+` belong to the same mailbox. */
function mailboxOf(address: string): string {
  return address.toLowerCase().replace(/^([^+@]*)\+[^@]*@/, '$1@');
}

/** Only for tests: production code uses the row only in the condition of its write. */
export function parseEmailCount(item: Item): z.infer<typeof countItem> {
  return countItem.parse(item);
}
