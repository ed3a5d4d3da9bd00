/**
 * Tests a deployment that moves its payments from DynamoDB to two PostgreSQL databases, and then moves one tenant from
 * one of these databases to the other.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ExitCode } from '../../cli/failure.ts';
import { STATE_VALID_MS } from '../../lambdas/authority/contract.ts';
import { isStopped } from '../../lambdas/authority/import-authority.ts';
import { AuthorityLog } from '../../lambdas/authority/store/authority-log.ts';
import { ALL_SCOPES } from '../../lambdas/kernel/contract/api.ts';
import { defined } from '../../lambdas/kernel/defined.ts';
import { type PaymentId, type TenantId, tenantId } from '../../lambdas/kernel/ids.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { systemClock, systemEntropy } from '../../lambdas/kernel/platform/platform.ts';
import { detailsKey } from '../../lambdas/once/store/details-rows.ts';
import type { OpenDatabase } from '../../lambdas/postgres/connection.ts';
import { readMigrations, tablesOf } from '../../lambdas/postgres/migrations.ts';
import { databaseOfNewTenant, TenantAdministration } from '../../lambdas/tenants/store/tenant-administration.ts';
import { TenantMoves } from '../../lambdas/tenants/store/tenant-moves.ts';
import { deploy, localDatabases, PAYONCE, payonceWith } from '../../local/cdk.ts';
import { connect, type LocalAws, type LocalKeys } from '../../local/local-aws.ts';
import {
  onDatabase,
  openLocalDatabase,
  ROLE,
  type RunningPostgres,
  shareDatabase,
  startPostgres,
} from '../../local/postgres.ts';
import { CA_FILE, DATABASE, SECRET } from '../../local/postgres-files.ts';
import { runJob } from '../jobs/run-job.ts';
import { sql } from '../postgres/postgres-fixture.ts';
import { type ApiAnswer, ApiClient } from '../support/api-client.ts';
import { payonce } from '../support/command-line.ts';
import { blocksOf } from '../support/documents.ts';
import { dynamoDbClient, localAws } from '../support/local-aws.ts';
import { whole } from '../support/slice.ts';
import { until } from '../support/until.ts';

const ENVIRONMENT = 'moved';
const SHARDS = 'payonce:postgresShards';
/** The local AWS replaces the host. */
const PROJECT = { [SHARDS]: '[{"name":"b","host":"b.example"}]' };
const ON_POSTGRES = payonceWith(PROJECT, 'postgres').context;
const DATABASES = localDatabases(PROJECT);
const NAMES = ['first', 'b'] as const;
type Name = (typeof NAMES)[number];

interface Tenant {
  readonly id: TenantId;
  readonly api: ApiClient;
}

const local = localAws();
const pacing = { clock: systemClock, entropy: systemEntropy };
const client = documentClient(dynamoDbClient());
let directory: string;
let postgres: RunningPostgres;
let aws: LocalAws;
const ended: (() => Promise<void>)[] = [];
/** Both maps are keyed by the name of the database. */
const databases = new Map<Name, OpenDatabase>();
const tenants = new Map<Name, Tenant>();
/** Keyed by the name of the tenant's database and the idempotency key. */
const answered = new Map<string, ApiAnswer>();
/** The later tests fail if it is false. */
let isMoved = false;

// The directory is created in a hook, so that a skipped test creates none.
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'payonce-moved-'));
});
afterAll(async () => {
  for (const end of ended.toReversed()) await end();
  rmSync(directory, { recursive: true, force: true });
});

async function deployWith(context: Readonly<Record<string, string>>, keys?: LocalKeys): Promise<LocalAws> {
  const run = { access: local, directory, report: () => undefined };
  const outputs = await deploy(run, { context: { ...context, 'payonce:environment': ENVIRONMENT } });
  return { ...local, ...(await connect(local, outputs, { environment: ENVIRONMENT, ...defined({ keys }) })) };
}

const command = (...words: readonly string[]) =>
  payonce(
    { ...local, preload: join(import.meta.dirname, '..', 'support', 'short-waits.ts') },
    '--environment',
    ENVIRONMENT,
    ...words,
  );

function found<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('an earlier test of this file has failed');
  return value;
}

const tenantIn = (name: Name): Tenant => found(tenants.get(name));
const urlOf = (name: Name): string => onDatabase(postgres.url, DATABASES[NAMES.indexOf(name)] ?? '');
const query = (name: Name, text: string, ...values: readonly unknown[]) =>
  found(databases.get(name)).run(sql(text, ...values));

async function createTenants(): Promise<void> {
  const administration = new TenantAdministration(client, aws.tables, 'drill');
  for (let number = 0; tenants.size < NAMES.length; number += 1) {
    const id = tenantId(`ten_${number}`);
    const name = NAMES.find((each) => each === databaseOfNewTenant(id, NAMES));
    if (name === undefined || tenants.has(name)) continue;
    await administration.createTenant('Shop', { id });
    const key = { name: 'web', tenantId: id, mode: 'test', scopes: ALL_SCOPES } as const;
    tenants.set(name, { id, api: new ApiClient(aws, await administration.createApiKey(key)) });
  }
}

const shown = async ({ api }: Tenant, payment: unknown) =>
  (await api.send('GET', `/v1/payments/${String(payment)}`)).json;

async function paid(tenant: Tenant, key: string, body: Record<string, unknown> = {}, status = 'succeeded') {
  const answer = await tenant.api.payUntilAnswered({ key, body });
  await until(async () => (await shown(tenant, answer.json['id']))['status'] === status || undefined);
  return answer;
}

function change({ api }: Tenant, payment: unknown, step: string, key: string, body: object = {}): Promise<ApiAnswer> {
  const headers = { 'content-type': 'application/json', 'idempotency-key': key };
  const init = { headers, body: JSON.stringify(body) };
  return api.untilAnswered(() => api.send('POST', `/v1/payments/${String(payment)}/${step}`, init));
}

async function refunded(tenant: Tenant, payment: unknown, amount: number): Promise<void> {
  await until(async () => (await shown(tenant, payment))['amount_refunded'] === amount || undefined);
}

async function hasCopy(id: PaymentId): Promise<boolean> {
  const get = new GetCommand({ TableName: aws.tables.registry, Key: detailsKey(id), ConsistentRead: true });
  return (await client.send(get)).Item !== undefined;
}

const textOf = ({ text, headers }: ApiAnswer) => [text, headers.get('idempotency-replayed')];

async function expectStopped(tenant: Tenant, key: string, read: unknown): Promise<void> {
  const { status, json, headers } = await tenant.api.pay({ key });
  const refusal = [status, json['code'], headers.get('retry-after')];
  expect(refusal).toEqual([503, 'temporarily_unavailable', '60']);
  expect((await tenant.api.send('GET', `/v1/payments/${String(read)}`)).status).toBe(200);
}

async function idsOf(name: Name, { id }: Tenant): Promise<readonly string[]> {
  const rows = await query(name, 'SELECT chain_id FROM transition WHERE tenant_id = $1 AND sequence = 1', id);
  return [id, ...rows.map(({ chain_id: chain }) => String(chain))];
}

/** Leaves out the rows about moves. */
async function rowsWith(name: Name, ids: readonly string[]): Promise<readonly string[]> {
  const tables = tablesOf(readMigrations()).filter((table) => table !== 'tenant_move');
  const rows = await Promise.all(tables.map((table) => query(name, `SELECT own::text AS row FROM ${table} AS own`)));
  return rows
    .flat()
    .map(({ row }) => String(row))
    .filter((row) => ids.some((id) => row.includes(id)));
}

/** Two deploys and the waits of three commands take minutes, so only `npm run prove` runs these tests. */
const inProof = whole(test, { slice: test.skip });

inProof('an import finishes unless a row differs; old keys and payments continue in PostgreSQL', async () => {
  aws = await deployWith(PAYONCE.context);
  const { tables, apiUrl } = aws;
  await createTenants();
  for (const [name, tenant] of tenants) {
    const first = await paid(tenant, 'paid', { description: 'Two shirts' });
    answered.set(`${name} paid`, first);
    const second = await paid(tenant, 'refunded');
    answered.set(`${name} refunded`, second);
    answered.set(`${name} refund`, await change(tenant, second.json['id'], 'refunds', 'refund', { amount: 400 }));
    await refunded(tenant, second.json['id'], 400);
    answered.set(`${name} held`, await paid(tenant, 'held', { capture: 'manual' }, 'requires_capture'));
  }

  postgres = await startPostgres({ directory, port: 0, persist: false, databases: DATABASES });
  ended.push(() => postgres.stop());
  for (const name of NAMES) {
    const database = openLocalDatabase({ url: urlOf(name) });
    databases.set(name, database);
    ended.push(() => database.close());
  }
  await shareDatabase(postgres, local);
  const chosen = ['--secret', SECRET, '--database', DATABASE, '--ca', CA_FILE, '--shards', ON_POSTGRES[SHARDS] ?? ''];
  const copied = await command('db', 'import', ...chosen);
  expect(copied).toEqual({ code: ExitCode.done, said: expect.stringMatching(/^6 payments .* Copied: \d+ trans/m) });

  const ofB = answered.get('b paid')?.json['id'];
  await query('b', `UPDATE transition SET body = '{}' WHERE chain_id = $1`, ofB);
  const differing = command('db', 'import', '--finish', ...chosen);
  const log = new AuthorityLog({ client, tables, pacing }, 'drill');
  await Promise.race([differing, until(async () => (await isStopped({ log })) || undefined)]);
  await sleep(STATE_VALID_MS);
  for (const [name, tenant] of tenants)
    await expectStopped(tenant, 'stopped', answered.get(`${name} paid`)?.json['id']);
  expect(await differing).toEqual({
    code: ExitCode.incomplete,
    said: expect.stringContaining(`differs     ${String(ofB)} in b\n`),
  });
  expect(await command('db', 'import', '--cancel')).toMatchObject({ code: ExitCode.done });
  await Promise.all([...tenants.values()].map((tenant) => paid(tenant, 'stopped')));

  await query('b', 'TRUNCATE transition, posting, details');
  expect(await command('db', 'import', '--finish', ...chosen)).toEqual({
    code: ExitCode.done,
    said: expect.stringContaining('Deploy with payonce:authority=postgres and these payonce:postgresShards.'),
  });
  aws = await deployWith(ON_POSTGRES, aws);
  expect([aws.tables, aws.apiUrl]).toEqual([tables, apiUrl]);
  isMoved = true;

  for (const [name, tenant] of tenants) {
    const before = (key: string): ApiAnswer => found(answered.get(`${name} ${key}`));
    const { api } = tenant;
    const replays = [
      [before('paid'), await api.payUntilAnswered({ key: 'paid', body: { description: 'Two shirts' } })],
      [before('refunded'), await api.payUntilAnswered({ key: 'refunded' })],
      [before('refund'), await change(tenant, before('refunded').json['id'], 'refunds', 'refund', { amount: 400 })],
      [before('held'), await api.payUntilAnswered({ key: 'held', body: { capture: 'manual' } })],
    ] as const;
    for (const [first, replay] of replays) expect(textOf(replay)).toEqual([first.text, 'true']);
    const mismatch = await api.payUntilAnswered({ key: 'refunded', body: { amount: 1001 } });
    expect([mismatch.status, mismatch.json['code']]).toEqual([422, 'idempotency_key_payload_mismatch']);

    const rest = await change(tenant, before('refunded').json['id'], 'refunds', 'rest', { amount: 600 });
    expect(rest.status).toBe(201);
    await refunded(tenant, before('refunded').json['id'], 1000);
    await change(tenant, before('held').json['id'], 'capture', 'capture');
    await until(async () => (await shown(tenant, before('held').json['id']))['status'] === 'succeeded' || undefined);
    const fresh = await paid(tenant, 'new');
    for (const each of [before('paid'), before('refunded'), before('held'), fresh])
      expect(await api.charges(each.json['id'])).toHaveLength(1);
  }
});

inProof(
  'callbacks and refunds of a tenant write only to its own database, and an erasure deletes the copies',
  async () => {
    expect(isMoved).toBe(true);
    const erase = blocksOf('docs/reference/sql.md', 'Erase personal data', 'sql')[0] ?? '';
    const erased: PaymentId[] = [];
    for (const [name, tenant] of tenants) {
      // Only a callback completes this payment.
      const { json } = await paid(tenant, 'by-callback', { source: 'tok_async', description: 'A coat' });
      const id = String(json['id']) as PaymentId;
      const callbacks = await query(name, `SELECT 1 FROM idempotency WHERE operation_id LIKE 'cb_%'`);
      expect(callbacks.length).toBeGreaterThan(0);
      await change(tenant, id, 'refunds', 'refund-by-callback', { amount: 300 });
      await refunded(tenant, id, 300);
      await until(async () => (await hasCopy(id)) || undefined);
      // This statement erases the data directly, not through a function, so only the job `carry` copies the erasure.
      await query(name, erase.replace(/;\s*$/, '').replace(/'pay_\w+'/, `'${id}'`));
      erased.push(id);
    }
    await runJob(aws, 'carry');
    for (const id of erased) await until(async () => ((await hasCopy(id)) ? undefined : true));
    for (const [name, tenant] of tenants) {
      await until(async () => ((await query(name, 'SELECT 1 FROM outbox')).length === 0 ? true : undefined));
      const ids = await idsOf(name, tenant);
      const other = name === 'first' ? 'b' : 'first';
      expect(await rowsWith(other, ids)).toEqual([]);
      const listed = await until(async () => {
        const { json } = await tenant.api.send('GET', '/v1/payments?limit=100');
        const data = json['data'] as readonly { readonly id: string }[];
        return data.length === ids.length - 1 ? data : undefined;
      });
      expect(listed.map(({ id }) => id).toSorted()).toEqual(ids.slice(1).toSorted());
    }
    for (const name of NAMES)
      expect(await command('db', 'check', '--role', ROLE, '--url', urlOf(name), '--ca', CA_FILE)).toEqual({
        code: ExitCode.done,
        said: 'No problems found.\n',
      });
    expect((await command('doctor')).said).not.toMatch(/database|postgres/i);
  },
);

inProof(
  'a tenant gets 503 for writes during its move; then its keys and payments continue in the other database',
  async () => {
    expect(isMoved).toBe(true);
    const [moved, stays] = [tenantIn('b'), tenantIn('first')];
    const ids = await idsOf('b', moved);
    const owners = ['--from-url', urlOf('b'), '--to-url', urlOf('first'), '--ca', CA_FILE];
    const moving = command('db', 'move-tenant', moved.id, '--to', 'first', ...owners);
    const moves = new TenantMoves(client, aws.tables.registry, pacing);
    await Promise.race([moving, until(async () => (await moves.read(moved.id))?.move)]);
    await sleep(STATE_VALID_MS);
    const payment = answered.get('b paid')?.json['id'];
    await expectStopped(moved, 'moving', payment);
    await paid(stays, 'moving');
    expect(await moving).toEqual({
      code: ExitCode.done,
      said: expect.stringContaining(`${moved.id} is in first. Its writes continue within a minute.\n`),
    });

    await paid(moved, 'moving');
    expect(await rowsWith('b', ids)).toEqual([]);
    expect(await idsOf('first', moved)).toHaveLength(ids.length + 1);
    const replay = await moved.api.payUntilAnswered({ key: 'paid', body: { description: 'Two shirts' } });
    expect(textOf(replay)).toEqual([answered.get('b paid')?.text, 'true']);
    const refund = await change(moved, answered.get('b refunded')?.json['id'], 'refunds', 'refund', { amount: 400 });
    expect(textOf(refund)).toEqual([answered.get('b refund')?.text, 'true']);
    await change(moved, payment, 'refunds', 'refund-moved', { amount: 100 });
    await refunded(moved, payment, 100);
    await paid(moved, 'by-callback-moved', { source: 'tok_async' });
    expect(await rowsWith('b', await idsOf('first', moved))).toEqual([]);
    expect(await moved.api.charges(payment)).toMatchObject([{ amount_refunded: 100 }]);
  },
);
