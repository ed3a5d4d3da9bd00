import { ScanCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll, expect, test } from '@jest/globals';
import { valueText } from '../../lambdas/archive/domain/row-text.ts';
import { copyRows } from '../../lambdas/archive/store/copy-rows.ts';
import { TABLES } from '../world/tables.ts';
import { World } from '../world/world.ts';
import { archiveOfRows } from './memory-archive.ts';
import { type Fields, keyOf, someLedger } from './verify-world.ts';

let rows: readonly Fields[] = [];
beforeAll(async () => {
  rows = await someLedger();
});

function emptyLedger() {
  const world = new World();
  const { client } = world.store.database;
  return { client, table: TABLES.ledger, pacing: world.tools };
}

async function contentOf({ client, table }: ReturnType<typeof emptyLedger>): Promise<readonly string[]> {
  const { Items = [] } = await client.send(new ScanCommand({ TableName: table }));
  return Items.map((item) => valueText(item) ?? '').sort();
}

const wanted = () => rows.map((row) => valueText(row) ?? '').sort();

test('a copy rebuilds an equal Ledger from the archive alone, and writes nothing when it is repeated', async () => {
  const archive = await archiveOfRows(rows, 2);
  await archive.take(rows);
  const ledger = emptyLedger();
  const reports: number[] = [];
  const copied = await copyRows(ledger, archive, ({ written }) => reports.push(written));
  const newestMs = Math.max(...rows.map(({ occurredAtMs }) => Number(occurredAtMs)));
  expect(copied).toEqual({ written: rows.length, there: rows.length, different: [], unreadable: [], newestMs });
  expect(reports.length).toBeGreaterThan(1);
  expect(await contentOf(ledger)).toEqual(wanted());
  expect(await copyRows(ledger, archive, () => {})).toMatchObject({ written: 0, there: 2 * rows.length });
});

test('an interrupted copy can be continued after any page', async () => {
  const archive = await archiveOfRows(rows, 1);
  const pages: number[] = [];
  await copyRows(emptyLedger(), archive, ({ written }) => pages.push(written));
  expect(pages.length).toBeGreaterThan(2);
  for (const written of pages) {
    const ledger = emptyLedger();
    const interrupted = copyRows(ledger, archive, (copied) => {
      if (copied.written === written) throw new Error('interrupted');
    });
    await expect(interrupted).rejects.toThrow('interrupted');
    const continued = await copyRows(ledger, archive, () => {});
    expect(continued).toMatchObject({ written: rows.length - written, there: written, different: [] });
    expect(await contentOf(ledger)).toEqual(wanted());
  }
});

test('a copy reports unreadable objects, and rows that exist with different content', async () => {
  const archive = await archiveOfRows(rows, 4);
  const [first = {}] = rows;
  await archive.take([{ ...first, tenantId: 'ten_other' }]);
  await archive.takeText('nothing\n');
  const copied = await copyRows(emptyLedger(), archive, () => {});
  expect(copied.different).toEqual([keyOf(first)]);
  expect(copied.unreadable).toHaveLength(1);
});
