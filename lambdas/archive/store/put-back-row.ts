import type { DynamoDbActivity } from '../../activity/store/dynamodb-activity.ts';
import { KeyAttribute } from '../../kernel/contract/tables.ts';
import type { Clock } from '../../kernel/world.ts';
import { ROW_IS_NEW } from '../../once/store/transact-items.ts';
import { rounds } from '../../once/use/rounds.ts';
import { decidePutBack, type PutBack } from '../domain/put-back.ts';
import { type LedgerRows, wholeChain } from '../use/ledger-rows.ts';

export interface PutBackTools {
  readonly ledger: { readonly table: string; readonly rows: LedgerRows };
  /** The source of the original: a restored table, or the archive. */
  readonly source: { readonly name: string; readonly rows: Pick<LedgerRows, 'chain'> };
  readonly activity: DynamoDbActivity;
  readonly clock: Clock;
}

export interface PutBackRequest {
  readonly chain: string;
  readonly sort: string;
  /** The id of the payment or order. */
  readonly id: string;
  readonly operator: string;
  readonly reason: string;
}

/**
 * Restores the original of one Ledger row. This is the only write that replaces a Ledger row, and no Lambda function
 * performs it. The Stream reports the write as a change, so the alarm for changed rows is raised again.
 *
 * @throws RetryableError `contention`
 */
export function putBackRow(
  { ledger, source, activity, clock }: PutBackTools,
  { chain, sort, id, operator, reason }: PutBackRequest,
): Promise<PutBack['kind']> {
  return rounds<PutBack['kind']>('this row', async () => {
    const [rows, originals] = await Promise.all([wholeChain(ledger.rows, chain), wholeChain(source.rows, chain)]);
    const decided = decidePutBack(
      rows.map(({ row }) => row),
      originals.map(({ row }) => row),
      sort,
    );
    if (decided.kind !== 'put') return decided.kind;
    const original = originals.find(({ row }) => row.sort === sort)?.item;
    const now = rows.find(({ row }) => row.sort === sort)?.item;
    const Put = { TableName: ledger.table, Item: { ...original }, ...asItWas(now) };
    const written = await activity.record(
      {
        chain: 'deployment',
        action: 'row.put_back',
        actor: { by: 'command', operator },
        about: [id],
        details: { row: sort, reason, source: source.name, overwritten: decided.overwritten?.digest ?? 'removed' },
        occurredAtMs: clock.nowMs(),
      },
      [{ Put }],
    );
    // If nothing was written, another operator has restored the row, or the row has changed since it was read.
    return written ? 'put' : 'again';
  });
}

/**
 * Returns the condition that the row has not changed since it was checked. If two operators restore a row concurrently,
 * the second write fails.
 */
function asItWas(item: Readonly<Record<string, unknown>> | undefined) {
  if (item === undefined) return { ConditionExpression: ROW_IS_NEW };
  const names = Object.keys(item).filter((name) => name !== KeyAttribute.partition && name !== KeyAttribute.sort);
  return {
    ConditionExpression: names.map((_name, index) => `#a${index} = :a${index}`).join(' AND '),
    ExpressionAttributeNames: Object.fromEntries(names.map((name, index) => [`#a${index}`, name])),
    ExpressionAttributeValues: Object.fromEntries(names.map((name, index) => [`:a${index}`, item[name]])),
  };
}
