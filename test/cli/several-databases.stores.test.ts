/** Tests commands in a deployment with two PostgreSQL databases. */
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { listNewest } from '../../cli/activity.ts';
import { type OpenedAuthority, withAuthorityOf } from '../../cli/authority.ts';
import { databasesOfSettings } from '../../cli/database.ts';
import { problemsOfDatabase } from '../../cli/db.ts';
import { erasing } from '../../cli/erase.ts';
import { ExitCode } from '../../cli/failure.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { readIdentity } from '../../lambdas/postgres/identity.ts';
import { TenantAdministration } from '../../lambdas/tenants/store/tenant-administration.ts';
import { firstWithNotes } from '../payments/carried-chain.ts';
import { Copies } from '../payments/copies.ts';
import { paymentIdFor } from '../payments/payment-fixtures.ts';
import { sql } from '../postgres/postgres-fixture.ts';
import { createDatabase, openTestDatabase } from '../postgres/store-database.ts';
import { Stores } from '../world/stores.ts';
import { TABLES } from '../world/tables.ts';
import { DatabaseSecrets } from './database-secrets.ts';

const NAMES = ['first', 'b'];
const TENANT = tenantId('ten_fixture');
const SETTINGS = {
  authority: 'postgres',
  postgresSecretArn: 'first',
  postgresShards: '[{"name":"b","secretId":"b"}]',
};

/** Keyed by the names of the secrets. */
const urls = new Map<string, string>();
let secrets: DatabaseSecrets;
let copies: Copies;
beforeAll(async () => {
  for (const name of NAMES) urls.set(name, await createDatabase());
  secrets = await DatabaseSecrets.start(urls);
});
afterAll(() => secrets.stop());

const aws = async () => secrets.target;

beforeEach(async () => {
  const database = openTestDatabase(urls.get('b') ?? '');
  copies = new Copies(database);
  await new Stores(copies.clock, copies.tables).activity.recordSettings(SETTINGS);
  const { client } = copies.tables;
  const { pacing } = copies.tools();
  await new TenantAdministration(client, TABLES, 'ada', pacing).createTenant('Ten', {
    id: TENANT,
    databases: ['b', 'b'],
  });
  await copies.write(firstWithNotes(paymentIdFor('command')));
  await copies.poll();
  await database.close();
});

function run<T>(work: (opened: OpenedAuthority) => Promise<T>, chosen = {}): Promise<T> {
  const opened = { client: copies.tables.client, tables: TABLES, pacing: copies.tools().pacing };
  return withAuthorityOf({ aws }, opened, chosen, work);
}

test('the settings name each database; an entry inherits missing values from the first database', () => {
  const settings = { ...SETTINGS, postgresHost: 'db.example', postgresShards: '[{"name":"b","database":"payonce_b"}]' };
  expect(databasesOfSettings(settings)).toEqual([
    { name: 'first', chosen: { secret: 'first', host: 'db.example' } },
    { name: 'b', chosen: { secret: 'first', host: 'db.example', database: 'payonce_b' } },
  ]);
  expect(databasesOfSettings({ authority: 'postgres', postgresSecretArn: 'first' })).toHaveLength(1);
});

test('a command finds the database of a payment, and refuses an option that selects a database', async () => {
  const { payment } = firstWithNotes(paymentIdFor('command'));
  const erase = () =>
    run(async (opened) => (await erasing({ operator: 'ada' }, opened)).erase('payment.erased')(payment));
  expect([await erase(), await erase()]).toEqual([true, false]);
  expect(await run((opened) => listNewest(opened, { tenant: TENANT, mode: 'test' }, 9))).toMatchObject([
    { action: 'payment.erased', about: [payment.id] },
  ]);
  expect(await run(async ({ databases }) => databases?.length)).toBe(NAMES.length);
  await expect(run(async () => undefined, { url: urls.get('b') })).rejects.toMatchObject({ exitCode: ExitCode.usage });
});

test('the doctor examines each database, and each problem names its database', async () => {
  const database = openTestDatabase(urls.get('b') ?? '');
  expect(await problemsOfDatabase({ aws }, SETTINGS)).toEqual(
    expect.arrayContaining([expect.stringMatching(/^first: /), expect.stringMatching(/^b: /)]),
  );
  await database.owner.run(sql('ALTER TABLE orphan RENAME TO orphans'));
  const problems = await problemsOfDatabase({ aws }, SETTINGS);
  await database.owner.run(sql('ALTER TABLE orphans RENAME TO orphan'));
  await database.close();
  expect(problems).toContain('b: The table orphan is missing.');
  expect(problems).not.toContain('first: The table orphan is missing.');
});

test('the doctor reports a configured database that is not the one with the payments', async () => {
  const database = openTestDatabase(urls.get('b') ?? '');
  const identity = await readIdentity(database);
  await database.close();
  const problem = 'b: The payments are in another database: correct the address in the settings or in the secret.';
  const problemsWith = (known: number | undefined) =>
    problemsOfDatabase({ aws }, SETTINGS, async (name) => (name === 'b' ? known : undefined));
  expect(await problemsWith(identity)).not.toContain(problem);
  expect(await problemsWith(Number(identity) + 1)).toContain(problem);
});
