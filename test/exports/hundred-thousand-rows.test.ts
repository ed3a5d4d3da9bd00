import { expect, test } from '@jest/globals';
import { fileOf } from '../../lambdas/exports/domain/data-export.ts';
import { DynamoDbExports } from '../../lambdas/exports/store/dynamodb-exports.ts';
import { exportRows } from '../../lambdas/exports/use/export-rows.ts';
import { writeExport } from '../../lambdas/exports/use/write-export.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { inTurn } from '../support/slice.ts';
import { Api, dataOf } from '../world/api.ts';
import { TABLES } from '../world/tables.ts';
import { bookRows } from './book-rows.ts';
import { LATER_MS } from './export-world.ts';

const SETS = 50_000;
/** A writer is killed before each of these page reads, which are counted from 1 over all writers. */
const KILLED_AT: readonly number[] = [1, 2, 40, 90, 91, 130, 150];
const OWNER = { tenantId: tenantId('ten_desk'), mode: 'test' } as const;

class Killed extends Error {}

inTurn(test, { place: 0, of: 4, otherwise: test.skip })(
  'an export of 100,000 rows with killed writers contains each row once, and sums to the balances',
  async () => {
    const api = new Api({ startWriter: async () => undefined });
    for (const row of bookRows(OWNER, SETS, api.clock.nowMs() - 2 * SETS)) await api.views.put([row]);
    const made = await api.write('/v1/exports', 'e', { kind: 'entries', from: '2026-02-28', to: '2026-03-01' });
    expect(made.status).toBe(202);
    const key = { ...OWNER, id: String(made.body['id']) };

    const rows = exportRows({ views: api.views, transitions: api.store.ledger });
    let pages = 0;
    const page: typeof rows.entries.page = async (...asked) => {
      pages += 1;
      if (KILLED_AT.includes(pages)) throw new Killed();
      return rows.entries.page(...asked);
    };
    const exports = new DynamoDbExports(api.store.database.client, TABLES, {
      clock: api.clock,
      entropy: countingEntropy(),
    });
    const tools = {
      exports,
      files: api.files,
      rows: { ...rows, entries: { ...rows.entries, page } },
      startWriter: async () => undefined,
      clock: api.clock,
      entropy: countingEntropy('writer'),
    };
    const progress: unknown[] = [];
    let last: string | undefined;
    while (last !== 'ended') {
      last = await writeExport(tools, key, Infinity).catch((error: unknown) => {
        if (error instanceof Killed) return 'killed';
        throw error;
      });
      progress.push((await api.get(`/v1/exports/${key.id}`)).body['rows']);
      api.clock.advance(LATER_MS);
    }
    expect(progress).toHaveLength(KILLED_AT.length + 1);
    expect(progress).toEqual(progress.toSorted((a, b) => Number(a) - Number(b)));
    expect(new Set(progress).size).toBeGreaterThan(2);
    expect(progress.at(-1)).toBe(2 * SETS);

    const [columns = [], ...lines] = (api.files.files.get(fileOf(key)) ?? '')
      .trimEnd()
      .split('\r\n')
      .map((line) => line.split(','));
    expect(lines).toHaveLength(2 * SETS);
    expect(new Set(lines.map(String)).size).toBe(2 * SETS);
    expect(api.files.written.get(fileOf(key))).toBe(1);
    const place = (name: string) => columns.indexOf(name);
    const sums: Record<string, number> = {};
    for (const line of lines) {
      const name = `${line[place('account')]} ${line[place('direction')]}`;
      sums[name] = (sums[name] ?? 0) + Number(line[place('amount_minor')]);
    }
    const balances = dataOf(await api.get(`/v1/balances?at=${String(made.body['until'])}`));
    expect(balances).toHaveLength(2);
    for (const { account, debit, credit } of balances)
      expect([account, debit, credit]).toEqual([
        account,
        sums[`${String(account)} debit`] ?? 0,
        sums[`${String(account)} credit`] ?? 0,
      ]);
  },
);
