/** Tests `payonce db move-tenant` on in-memory tables and a real PostgreSQL server. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { listNewest } from '../../cli/activity.ts';
import { ExitCode, endingOf } from '../../cli/failure.ts';
import { moveTenantOf } from '../../cli/moving-tenant.ts';
import { recoverTables } from '../../cli/tables.ts';
import { postgresStores } from '../../lambdas/authority/postgres-stores.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { TenantAdministration } from '../../lambdas/tenants/store/tenant-administration.ts';
import { firstWithNotes } from '../payments/carried-chain.ts';
import { Copies } from '../payments/copies.ts';
import { paymentIdFor } from '../payments/payment-fixtures.ts';
import { sql } from '../postgres/postgres-fixture.ts';
import { createDatabase, openTestDatabase, type StoreDatabase } from '../postgres/store-database.ts';
import { asUser } from '../support/postgres.ts';
import { Stores } from '../world/stores.ts';
import { TABLES } from '../world/tables.ts';

const TENANT = tenantId('ten_fixture');
const SETTINGS = {
  authority: 'postgres',
  postgresSecretArn: 'first',
  postgresShards: '[{"name":"b","secretId":"b"}]',
};
const ROLE = `payonce_reader_${process.pid}`;

let urls: Readonly<Record<'fromUrl' | 'toUrl', string>>;
let source: StoreDatabase;
let target: StoreDatabase;
beforeAll(async () => {
  urls = { fromUrl: await createDatabase(), toUrl: await createDatabase() };
  source = openTestDatabase(urls.fromUrl);
  target = openTestDatabase(urls.toUrl);
});
afterAll(async () => {
  await source.owner.run(sql(`DROP OWNED BY ${ROLE}`));
  await source.owner.run(sql(`DROP ROLE ${ROLE}`));
  await source.close();
  await target.close();
});

test('payonce db move-tenant refuses wrong options before it stops writes, can be aborted, and moves a tenant once', async () => {
  const copies = new Copies(source);
  const { client } = copies.tables;
  const { pacing } = copies.tools();
  await new Stores(copies.clock, copies.tables).activity.recordSettings(SETTINGS);
  const administration = new TenantAdministration(client, TABLES, 'ada', pacing);
  await administration.createTenant('Ten', { id: TENANT, databases: ['b', 'b'] });
  const first = firstWithNotes(paymentIdFor('command'));
  await copies.write(first);
  const opened = { client, tables: TABLES, pacing };
  const lines: string[] = [];
  const session = {
    aws: () => Promise.reject(new Error('unexpected use of AWS')),
    operator: 'ada',
    during: <T>(_: string, work: (report: (text: string) => void) => Promise<T>) => work(() => undefined),
    show: (_: unknown, shown: readonly string[]) => void lines.push(...shown),
  };
  const run = async (chosen: Parameters<typeof moveTenantOf>[3], id = TENANT) => {
    const error: unknown = await moveTenantOf(session, opened, id, { ...urls, ...chosen }).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    return error === undefined ? { exitCode: ExitCode.done } : endingOf(error);
  };
  const refusals = [
    [await run({}), ExitCode.usage, 'Use either --to or --abort.'],
    [await run({ to: 'first', abort: true }), ExitCode.usage, 'Use either --to or --abort.'],
    [await run({ to: 'c' }), ExitCode.usage, '--to c is not a database of the settings: first, b.'],
    [await run({ to: 'b' }), ExitCode.refused, 'The tenant ten_fixture is in b already.'],
    [await run({ abort: true }), ExitCode.refused, 'No move of ten_fixture is in progress.'],
    [await run({ to: 'first' }, tenantId('ten_other')), ExitCode.notFound, 'There is no tenant ten_other.'],
  ] as const;
  for (const [ended, exitCode, sentence] of refusals) expect(ended).toEqual({ exitCode, sentence });

  await source.owner.run(sql(`CREATE ROLE ${ROLE} LOGIN PASSWORD 'p'`));
  await source.owner.run(sql(`GRANT USAGE ON SCHEMA payonce TO ${ROLE}`));
  await source.owner.run(sql(`GRANT SELECT ON ALL TABLES IN SCHEMA payonce TO ${ROLE}`));
  expect(await run({ to: 'first', fromUrl: asUser(urls.fromUrl, ROLE, 'p') })).toEqual({
    exitCode: ExitCode.refused,
    sentence: expect.stringMatching(
      /^The user of --from-secret or --from-url lacks [A-Z]+ on the table \w+: use the owner of the tables\.$/,
    ),
  });

  await source.run(sql('UPDATE outbox SET stopped_at = created_at'));
  expect(await run({ to: 'first' })).toEqual({
    exitCode: ExitCode.refused,
    sentence: `The copies of ${first.payment.id} in DynamoDB are stopped: abort the move, and run "payonce tables recover". The tenant's writes get 503 until the command is repeated, or the move is aborted with --abort.`,
  });
  const observer = { stopped: () => undefined, failed: () => undefined, observed: () => undefined };
  const postgres = postgresStores({ database: source, ...opened, observer });
  const recovery = recoverTables(session as never, { ...opened, postgres, databases: [postgres] }, 1);
  await expect(recovery).rejects.toThrow('A tenant is being moved');
  await source.run(sql('UPDATE outbox SET stopped_at = NULL'));
  expect(await run({ to: 'b' })).toMatchObject({ exitCode: ExitCode.refused });
  expect(await run({ abort: true })).toEqual({ exitCode: ExitCode.done });
  expect(await run({ to: 'first' })).toEqual({ exitCode: ExitCode.done });
  expect(lines).toEqual([
    'ten_fixture is in b. Its writes continue within a minute.',
    'ten_fixture is in first. Its writes continue within a minute.',
  ]);
  const chains = sql('SELECT chain_id FROM transition WHERE tenant_id = $1', TENANT);
  expect(await source.run(chains)).toEqual([]);
  expect(await target.run(chains)).toEqual([{ chain_id: first.payment.id }]);
  const actions = (await listNewest(opened, { mode: 'test' }, 9)).map(({ action }) => action);
  expect(actions.filter((action) => action === 'tenant.move_started')).toHaveLength(4);
});
