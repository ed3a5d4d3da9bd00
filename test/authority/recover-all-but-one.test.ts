import { expect, test } from '@jest/globals';
import { recoverPostgres } from '../../lambdas/authority/recover-postgres.ts';
import { KeyAttribute } from '../../lambdas/kernel/contract/tables.ts';
import { type TenantId, tenantId } from '../../lambdas/kernel/ids.ts';
import type { Item } from '../../lambdas/kernel/platform/items.ts';
import type { Database } from '../../lambdas/postgres/database.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { Api } from '../world/api.ts';
import { TABLES } from '../world/tables.ts';

/** The rows of `bad` are unreadable. */
async function recoverTwo(changes: { readonly owns?: (tenant: TenantId) => Promise<boolean | undefined> }) {
  const api = new Api();
  const [bad] = [await api.paid('bad'), await api.paid('good')];
  const client = api.store.database.clientWith(async (_command, apply) => {
    const output = await apply();
    const { Items } = output as { readonly Items?: readonly Item[] };
    const isBad = (item: Item) => String(item[KeyAttribute.partition]).includes(bad);
    const changed = Items?.map((item) => (isBad(item) ? { ...item, type: 'payment.of_a_form_to_come' } : item));
    return changed === undefined ? output : { ...output, Items: changed };
  });
  const appended: unknown[] = [];
  const database: Database = {
    run: async ({ name, values }) => {
      if (name === 'chain-append') appended.push(values);
      return name === 'chain-append' ? [{ appended: 1 }] : [];
    },
    transaction: () => Promise.reject(new Error('unexpected')),
  };
  const pacing = { clock: api.clock, entropy: countingEntropy() };
  const recovered = await recoverPostgres({ client, tables: TABLES, pacing, database, ...changes }, 1, () => undefined);
  return { bad, recovered, appended };
}

test.each([
  ['the only database', {}],
  ['one of several databases', { owns: async () => true }],
])('the recovery of %s continues after a payment whose first row cannot be read', async (_which, owner) => {
  const { bad, recovered, appended } = await recoverTwo(owner);
  expect(recovered).toMatchObject({ read: 2, recovered: 1, withoutRow: [] });
  expect([...recovered.unreadable, ...recovered.stopped.map(({ chainId }) => chainId)]).toContain(bad);
  expect(appended).toHaveLength(1);
});

test('the recovery reports a tenant without a row, and appends nothing for it', async () => {
  const { recovered, appended } = await recoverTwo({ owns: async () => undefined });
  expect(recovered).toMatchObject({ recovered: 0, withoutRow: [tenantId('ten_desk')], elsewhere: [] });
  expect(appended).toEqual([]);
});
