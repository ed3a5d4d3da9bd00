/** Tests commands of a deployment whose authority is PostgreSQL. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Command } from 'commander';
import { listNewest, verifyChains } from '../../cli/activity.ts';
import { type OpenedAuthority, withAuthorityOf } from '../../cli/authority.ts';
import { chosenOr, databaseOfSettings } from '../../cli/database.ts';
import { erasing } from '../../cli/erase.ts';
import { ExitCode } from '../../cli/failure.ts';
import { Session } from '../../cli/session.ts';
import { recoverTables } from '../../cli/tables.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import type { Transition } from '../../lambdas/payments/domain/transition.ts';
import { firstWithNotes, refundAfter } from '../payments/carried-chain.ts';
import { Copies } from '../payments/copies.ts';
import { paymentIdFor } from '../payments/payment-fixtures.ts';
import { sql } from '../postgres/postgres-fixture.ts';
import { createDatabase, openTestDatabase, type StoreDatabase } from '../postgres/store-database.ts';
import { BY_OPERATOR } from '../support/causes.ts';
import { Stores } from '../world/stores.ts';
import { TABLES } from '../world/tables.ts';

const TENANT = tenantId('ten_fixture');
const OWN = { tenant: TENANT, mode: 'test' } as const;
const SECRET = { authority: 'postgres', postgresSecretArn: 'arn', postgresHost: 'db.example', postgresPort: '6432' };
const SURROUNDINGS = { print: () => undefined, isTerminal: false, freshKey: () => 'key' };

let url: string;
let database: StoreDatabase;
let copies: Copies;
let stores: Stores;
let made = 0;

beforeAll(async () => {
  url = await createDatabase();
  database = openTestDatabase(url);
});
afterAll(() => database.close());
afterEach(() => {
  delete process.env['PAYONCE_DATABASE_URL'];
});
beforeEach(async () => {
  for (const table of ['outbox', 'activity']) await database.owner.run(sql(`DELETE FROM ${table}`));
  copies = new Copies(database);
  stores = new Stores(copies.clock, copies.tables);
  await stores.activity.recordSettings(SECRET);
});

function run<T>(work: (opened: OpenedAuthority) => Promise<T>): Promise<T> {
  const opened = { client: copies.tables.client, tables: TABLES, pacing: copies.tools().pacing };
  return withAuthorityOf({ aws: () => Promise.reject(new Error('unexpected use of AWS')) }, opened, { url }, work);
}

async function copiedPayment(): Promise<{ readonly first: Transition; readonly refund: Transition }> {
  made += 1;
  const first = firstWithNotes(paymentIdFor(`command-${made}`));
  const refund = refundAfter(first);
  await copies.write(first, refund);
  await copies.poll();
  return { first, refund };
}

describe('payonce erase', () => {
  test('erases the rows in PostgreSQL and their copies once, and records the operator', async () => {
    const { payment } = (await copiedPayment()).first;
    expect(copies.details(payment.id)).toHaveLength(3);
    const erase = () =>
      run(async (opened) => (await erasing({ operator: 'ada' }, opened)).erase('payment.erased')(payment));
    expect([await erase(), await erase()]).toEqual([true, false]);
    expect(copies.details(payment.id)).toEqual([]);
    expect(await database.run(sql('SELECT part FROM details WHERE chain_id = $1', payment.id))).toEqual([]);
    expect(await run((opened) => listNewest(opened, OWN, 9))).toMatchObject([
      { action: 'payment.erased', actor: { by: 'command', operator: 'ada' }, about: [payment.id] },
    ]);
  });
});

test.each([
  ['erase', (opened: OpenedAuthority) => erasing({ operator: 'ada' }, opened)],
  ['tables recover', (opened: OpenedAuthority) => recoverTables(new Session(new Command(), SURROUNDINGS), opened, 1)],
])(
  'payonce %s is refused if the recorded settings select DynamoDB, but PostgreSQL has the payments',
  async (_command, change) => {
    await stores.activity.recordSettings({ sandbox: 'true' });
    await expect(run<unknown>(change)).rejects.toMatchObject({
      exitCode: ExitCode.refused,
      message: 'The payments are in postgres: deploy with payonce:authority=postgres.',
    });
  },
);

describe('payonce activity', () => {
  async function threeEntries(): Promise<void> {
    await copies.erase((await copiedPayment()).first.payment.id);
    copies.clock.advance(1_000);
    const draft = { chain: { tenantId: TENANT, mode: 'test' }, actor: BY_OPERATOR, about: ['key_1'] } as const;
    await stores.activity.record({ ...draft, action: 'api_key.revoked', occurredAtMs: copies.clock.nowMs() });
    copies.clock.advance(1_000);
    await copies.erase((await copiedPayment()).first.payment.id);
  }

  test('lists the entries of both logs together, newest first', async () => {
    await threeEntries();
    const actions = async (most: number) =>
      (await run((opened) => listNewest(opened, OWN, most))).map(({ action }) => action);
    expect(await actions(9)).toEqual(['payment.erased', 'api_key.revoked', 'payment.erased']);
    expect(await actions(2)).toEqual(['payment.erased', 'api_key.revoked']);
  });

  test('verifies each log as a separate chain', async () => {
    await threeEntries();
    const chain = `${TENANT}#test`;
    const valid = { log: 'dynamodb', chain, entries: 1, broken: null };
    expect(await run((opened) => verifyChains(opened, OWN))).toEqual([
      { log: 'postgres', chain, entries: 2, broken: null },
      valid,
    ]);
    await database.owner.run(
      sql(`UPDATE activity SET body = replace(body::text, 'payment.erased', 'order.erased')::json WHERE sequence = 2`),
    );
    expect(await run((opened) => verifyChains(opened, OWN))).toEqual([
      { log: 'postgres', chain, entries: 1, broken: 2 },
      valid,
    ]);
  });
});

describe('the database of a command', () => {
  test('is the one in the recorded settings, unless an option or PAYONCE_DATABASE_URL selects another', () => {
    const ofSettings = { secret: 'arn', host: 'db.example', port: 6432 };
    expect(chosenOr(SECRET, {})).toEqual(ofSettings);
    const near = { ca: 'ca.pem', host: '10.0.0.1' };
    expect(chosenOr(SECRET, near)).toEqual({ ...ofSettings, ...near });
    expect(chosenOr(SECRET, { url })).toEqual({ url });
    expect(chosenOr(SECRET, { secret: 'own' })).toEqual({ secret: 'own' });
    process.env['PAYONCE_DATABASE_URL'] = url;
    expect(chosenOr(SECRET, {})).toEqual({});
    expect(databaseOfSettings(SECRET)).toEqual(ofSettings);
  });

  test('is not opened if DynamoDB is the authority', async () => {
    await stores.activity.recordSettings({ sandbox: 'true' });
    expect(await run(async ({ postgres }) => postgres)).toBeUndefined();
  });
});
