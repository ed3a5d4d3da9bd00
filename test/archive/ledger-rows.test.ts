import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { expect, test } from '@jest/globals';
import { NO_BOUNDS } from '../../lambdas/archive/domain/judge-chain.ts';
import { DynamoDbLedgerRows } from '../../lambdas/archive/store/dynamodb-ledger-rows.ts';
import { readChainRow } from '../../lambdas/archive/store/read-chain-row.ts';
import type { LedgerRows } from '../../lambdas/archive/use/ledger-rows.ts';
import { rowsBetween } from '../../lambdas/archive/use/rows-between.ts';
import { verifyRows } from '../../lambdas/archive/use/verify-rows.ts';
import { LedgerChains } from '../../lambdas/orders/store/ledger-chains.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { Api } from '../world/api.ts';
import { TABLES } from '../world/tables.ts';
import { rowFiles, rowsOf } from './verify-world.ts';

async function keysOf(ledger: LedgerRows): Promise<ReadonlySet<string>> {
  const keys = new Set<string>();
  let after: string | undefined;
  do {
    const { rows, next } = await ledger.page(after);
    for (const { row } of rows) keys.add(`${row.chain} ${row.sort}`);
    after = next;
  } while (after !== undefined);
  return keys;
}

const keyOf = ({ pk, sk }: Record<string, unknown>): string => `${String(pk)} ${String(sk)}`;

test('a scan reads all rows, and a read of a period finds all rows of the period through its outcomes', async () => {
  const api = new Api();
  const { client } = api.world.store.database;
  const pacing = { clock: api.clock, entropy: countingEntropy() };
  const early = await api.paid('p-1');
  api.clock.advance(40 * 24 * 3_600_000);
  const fromMs = api.clock.nowMs();
  const late = await api.paid('p-2');
  await api.annotate(early, 'a');
  await api.paid('p-3');
  const untilMs = api.clock.nowMs() + 1;
  api.clock.advance(24 * 3_600_000);
  await api.paid('p-4');
  const rows = await rowsOf(api);
  const ledger = new DynamoDbLedgerRows(client, TABLES.ledger, pacing);

  expect(await keysOf(ledger)).toEqual(new Set(rows.map(keyOf)));
  const outcomes = new LedgerChains(client, TABLES, pacing);
  const activity = ['ACT#ten_desk#test'];
  const read = await keysOf(rowsBetween(ledger, outcomes, { fromMs, untilMs }, activity));
  // The early payment was annotated in the period, so its whole chain is read.
  const within = rows.filter(({ pk, payment }) => {
    const { id = '' } = (payment ?? {}) as { id?: string };
    return activity.includes(String(pk)) || id === early || id === late;
  });
  for (const row of within) expect(read).toContain(keyOf(row));
  const last = rows.filter(({ occurredAtMs }) => Number(occurredAtMs) >= untilMs);
  expect(last.length).toBeGreaterThan(0);
  for (const row of last) expect(read).not.toContain(keyOf(row));
});

test('a row overwritten directly in the table is reported', async () => {
  const api = new Api();
  const payment = await api.paid('p-1');
  const { client } = api.world.store.database;
  const [row = {}] = (await rowsOf(api)).filter(({ sk }) => sk === 'T#000002');
  const Item = { ...row, postings: [] };
  await client.send(new PutCommand({ TableName: TABLES.ledger, Item }));
  const ledger = new DynamoDbLedgerRows(client, TABLES.ledger, { clock: api.clock, entropy: countingEntropy() });
  const parts = rowFiles();

  const { findings } = await verifyRows({ ledger, parts, save: () => undefined }, { bounds: NO_BOUNDS });

  parts.close();
  expect(findings).toEqual([{ kind: 'chain_broken', chain: `PAY#${payment}`, sequence: 2, what: 'changed' }]);
  expect(readChainRow(Item).content).toMatchObject({ kind: 'link', holds: false });
});
