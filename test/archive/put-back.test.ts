/** Tests the guarantee "tamper evidence". */
import { DeleteCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { DynamoDbActivity } from '../../lambdas/activity/store/dynamodb-activity.ts';
import { NO_BOUNDS } from '../../lambdas/archive/domain/judge-chain.ts';
import { DynamoDbLedgerRows } from '../../lambdas/archive/store/dynamodb-ledger-rows.ts';
import { putBackRow } from '../../lambdas/archive/store/put-back-row.ts';
import type { LedgerRows } from '../../lambdas/archive/use/ledger-rows.ts';
import { verifyRows } from '../../lambdas/archive/use/verify-rows.ts';
import type { PaymentId } from '../../lambdas/kernel/ids.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { Api } from '../world/api.ts';
import { TABLES } from '../world/tables.ts';
import { type Fields, ledgerOf, rowFiles, rowsOf } from './verify-world.ts';

let api: Api;
let payment: PaymentId;
let originals: readonly Fields[];

beforeEach(async () => {
  api = new Api();
  payment = await api.paid('p-1');
  await api.change(`${payment}/refunds`, 'r', { amount: 300 });
  originals = await rowsOf(api);
});

const client = () => api.world.store.database.client;
const pacing = () => ({ clock: api.clock, entropy: countingEntropy() });
const activity = () => new DynamoDbActivity(client(), TABLES, pacing());
const rows = () => new DynamoDbLedgerRows(client(), TABLES.ledger, pacing());
const original = (sequence: number): Fields =>
  originals.find(({ pk, sk }) => pk === `PAY#${payment}` && sk === `T#00000${sequence}`) ?? {};
const overwrite = (Item: Fields) => client().send(new PutCommand({ TableName: TABLES.ledger, Item }));
const remove = ({ pk, sk }: Fields) => client().send(new DeleteCommand({ TableName: TABLES.ledger, Key: { pk, sk } }));

async function verified(): Promise<readonly unknown[]> {
  const parts = rowFiles(2);
  const { findings } = await verifyRows({ ledger: rows(), parts, save: () => undefined }, { bounds: NO_BOUNDS });
  parts.close();
  return findings.map((finding) => ('sequence' in finding ? [finding.what, finding.sequence] : finding.kind));
}

function putBack(sequence: number, source: readonly Fields[] = originals, ledger: LedgerRows = rows()) {
  return putBackRow(
    {
      ledger: { table: TABLES.ledger, rows: ledger },
      source: { name: 'restored', rows: ledgerOf(source) },
      activity: activity(),
      clock: api.clock,
    },
    { chain: `PAY#${payment}`, sort: `T#00000${sequence}`, id: payment, operator: 'Ada', reason: 'Ticket 4711' },
  );
}

const entries = () => activity().listActivity('deployment', { order: 'oldest_first', limit: 10 });

describe('a Ledger row', () => {
  test('is reported when overwritten, and is put back with an entry in the activity log', async () => {
    await overwrite({ ...original(2), postings: [] });
    expect(await verified()).toEqual([['changed', 2]]);

    expect(await putBack(2)).toBe('put');

    expect(await verified()).toEqual([]);
    expect((await rowsOf(api)).filter(({ pk }) => pk === `PAY#${payment}`)).toEqual(
      originals.filter(({ pk }) => pk === `PAY#${payment}`),
    );
    expect(await entries()).toMatchObject([
      {
        action: 'row.put_back',
        actor: { by: 'command', operator: 'Ada' },
        about: [payment],
        details: { row: 'T#000002', reason: 'Ticket 4711', source: 'restored' },
      },
    ]);
  });

  test.each([2, 4])('is put back after it was removed: row %d of 4', async (sequence) => {
    await remove(original(sequence));
    expect(await putBack(sequence)).toBe('put');
    expect(await verified()).toEqual([]);
    expect(await rowsOf(api)).toHaveLength(originals.length + 1);
  });

  test('is not written, and gets no entry in the activity log, if it is unchanged or has no original', async () => {
    expect(await putBack(2)).toBe('is_there');
    expect(await putBack(9)).toBe('no_original');
    expect(await entries()).toEqual([]);
  });

  test('is replaced only by the original row', async () => {
    await overwrite({ ...original(2), postings: [] });
    const forged = [{ ...original(2), type: 'payment.failed' }, { ...original(3), sk: 'T#000002' }, original(1)];
    for (const other of forged) expect(await putBack(2, [{ ...other, sk: 'T#000002' }])).toBe('does_not_fit');
    expect(await entries()).toEqual([]);
    expect(await verified()).toEqual([['changed', 2]]);
  });

  test('is put back even if the next row was overwritten too', async () => {
    await overwrite({ ...original(2), postings: [] });
    await overwrite({ ...original(3), occurredAtMs: 1 });
    expect(await putBack(2)).toBe('put');
    expect(await verified()).toEqual([['changed', 3]]);
    expect(await putBack(3)).toBe('put');
    expect(await verified()).toEqual([]);
  });

  test('is not written if another writer changes it during each of several attempts', async () => {
    await overwrite({ ...original(2), occurredAtMs: 0 });
    let changes = 0;
    const contested: LedgerRows = {
      page: (after) => rows().page(after),
      chain: async (chain, after) => {
        const page = await rows().chain(chain, after);
        changes += 1;
        if (changes < 100) await overwrite({ ...original(2), occurredAtMs: changes });
        return page;
      },
    };
    await expect(putBack(2, originals, contested)).rejects.toMatchObject({ code: 'contention' });
    expect(await entries()).toEqual([]);
  });

  test('is put back only once, even by two concurrent commands', async () => {
    await overwrite({ ...original(2), postings: [] });
    const both = await Promise.all([putBack(2), putBack(2)]);
    expect(both.toSorted()).toEqual(['is_there', 'put']);
    expect(await entries()).toHaveLength(1);
  });
});
