/** Imports payments from DynamoDB into several PostgreSQL databases, as `import.stores.test.ts` does into one. */
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { KEY_OF_CORRECTION, STATE_VALID_MS } from '../../lambdas/authority/contract.ts';
import { cancelImport, copyChains } from '../../lambdas/authority/import-authority.ts';
import { readAuthorityState } from '../../lambdas/authority/store/authority-state.ts';
import { callbackOperation } from '../../lambdas/callbacks/ids.ts';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { ownerToken, tenantId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { Database } from '../../lambdas/postgres/database.ts';
import { databaseOfNewTenant } from '../../lambdas/tenants/store/tenant-administration.ts';
import { orderRequest } from '../orders/order-fixtures.ts';
import { callback, change } from '../payments/payment-fixtures.ts';
import { databaseOf } from '../postgres/store-database.ts';
import { type HistoryRun, surveyFaults } from '../support/fault-histories.ts';
import { Actor, FaultPlan, type PlannedFault } from '../support/fault-plan.ts';
import { SDK_ERRORS } from '../support/faulty-client.ts';
import { whole } from '../support/slice.ts';
import { FourDatabases, NAMES } from './four-databases.ts';
import { ImportedTenants } from './imported-tenants.ts';

let databases: FourDatabases;
let own: ImportedTenants;
beforeAll(async () => {
  databases = await FourDatabases.create();
});
afterAll(() => databases.close());
beforeEach(async () => {
  own = await ImportedTenants.begin(databases);
});

const QUIET = { segments: 2, progress: () => undefined };
const NOTES = { reference: 'order-1', description: 'two shirts' };
const OTHER_ORDER = ['first', 'd', 'c', 'b'];

function inB(of: ImportedTenants) {
  const tenant = of.tenants.get('b');
  invariant(tenant !== undefined, 'no tenant is in b');
  return tenant;
}

test('an import copies each tenant into one database, and a deployment with these databases continues with the imported rows', async () => {
  const { world } = own.deployment;
  // The import uses the database that a tenant's row names, not the one that the hash selects.
  const given = await own.deployment.createTenant('ten_given', []);
  const home = databaseOfNewTenant(given, NAMES) === 'c' ? 'd' : 'c';
  await own.deployment.change(given, home);
  const tenants = [...own.tenants, [home, given] as const];
  for (const [, tenant] of tenants) {
    const paid = own.requestOf(tenant, 'paid', NOTES);
    await world.answered(paid);
    await world.change(change(paid, 'r', { kind: 'refund', amountMinor: 400 }));
    await world.answered(own.requestOf(tenant, 'held', { capture: 'manual' }));
    await world.claimThenDie(own.requestOf(tenant, 'open'), true);
    await world.order({ ...orderRequest(`order-${tenant}`), tenantId: tenant });
    await world.answered(own.requestOf(tenant, 'corrected'));
  }
  const event = callback('evt-early', 'ch_early');
  const operationId = callbackOperation(systemDigest, 'memory', event.eventId);
  const orphan = { operationId, event, reason: 'payment_unknown' as const, receivedAtMs: world.clock.nowMs() };
  const record = { operationId, owner: ownerToken('owner'), recordedAtMs: world.clock.nowMs() };
  await world.store.recordEffect({ record, transitions: [], orphan });
  const corrected = own.requestOf(inB(own), 'corrected').paymentId;
  const rules = { aboveMinor: { EUR: 0 }, lifetimeMs: 60_000 };
  expect(await own.correct(corrected, world.store, rules)).toMatchObject({ kind: 'first', answer: { status: 202 } });

  expect(await own.finish()).toMatchObject({ kind: 'finished', different: [], differentRows: [] });
  for (const [shard, tenant] of tenants) expect(await own.deployment.shardOf(tenant)).toBe(shard);
  expect((await own.misplaced()).filter((row) => !row.includes(KEY_OF_CORRECTION))).toEqual([]);
  // Seven ids: the tenant, four payments, an order, and the payment of the order.
  expect(await databases.idsIn(home, given)).toHaveLength(7);
  for (const name of NAMES)
    expect(await databases.query(name, 'SELECT operation_id FROM orphan')).toHaveLength(name === 'first' ? 1 : 0);

  const { tools, queues } = await own.deployment.start();
  expect(await queues.summary('holds')).toMatchObject({ waiting: tenants.length });
  expect((await tools.effects.listApprovals({ limit: 9 })).map(({ paymentId }) => paymentId)).toEqual([corrected]);
  await world.resolveFor(3, tools);
  for (const [, tenant] of tenants) {
    const paid = own.requestOf(tenant, 'paid', NOTES);
    for (const request of [paid, own.requestOf(tenant, 'open')]) {
      expect(await world.pay(request, tools)).toMatchObject({ kind: 'replay' });
      expect(world.processor.charges(request.paymentId)).toHaveLength(1);
    }
    expect(await world.change(change(paid, 'r', { kind: 'refund', amountMinor: 400 }), tools)).toMatchObject({
      kind: 'replay',
    });
    expect(await world.pay(own.requestOf(tenant, 'other', NOTES), tools)).toMatchObject({ kind: 'reference_used' });
  }
  // The keys of all corrections are in the first database, so a used key is refused even if database b is unavailable.
  own.deployment.away.set('b', new RetryableError('database_unavailable', 'away'));
  const other = own.requestOf(given, 'corrected').paymentId;
  expect(await own.correct(other, tools.effects)).toEqual({ kind: 'payload_mismatch' });
});

test('an import reports each payment and row that an earlier copy, with other databases, wrote into the wrong database', async () => {
  const tenant = inB(own);
  const request = own.requestOf(tenant, 'paid', NOTES);
  await own.deployment.world.answered(request);
  const fewer = ['first', 'c'];
  const left = databaseOfNewTenant(tenant, fewer) ?? '';
  expect(await copyChains(own.tools({ names: fewer }), QUIET)).toMatchObject({ different: [] });
  expect(await own.finish()).toMatchObject({
    kind: 'differs',
    different: [{ chainId: request.paymentId, because: 'differs', database: left }],
  });
  await databases.query(left, 'TRUNCATE transition');
  expect(await own.finish()).toMatchObject({
    kind: 'differs',
    different: [],
    differentRows: ['posting', 'details'].map((table) => ({
      table,
      database: left,
      key: { rows: expect.any(Number), expected: 0 },
    })),
  });
  expect(await own.deployment.shardOf(tenant)).toBe('undefined');
  await databases.query(left, 'TRUNCATE posting, details');
  expect(await own.finish()).toMatchObject({ kind: 'finished' });
  expect(await own.misplaced()).toEqual([]);
});

test('an import does not finish if a table of one database has an extra row', async () => {
  await own.deployment.world.answered(own.requestOf(inB(own), 'paid'));
  const database = (name: string, given: Database): Database => ({
    ...given,
    run: async (statement) => {
      if (name === 'b' && statement.name === 'import-count-idempotency')
        await databases.query('b', `INSERT INTO orphan VALUES ('cb_1', now(), 'charge_unknown', NULL, NULL, '{}')`);
      return given.run(statement);
    },
  });
  expect(await own.finish({ database })).toMatchObject({
    kind: 'differs',
    differentRows: [{ table: 'orphan', database: 'b', key: { rows: 1, expected: 0 } }],
  });
});

test('an import does not finish if a tenant has no row, or its row names a database that was not given', async () => {
  const { world } = own.deployment;
  const elsewhere = await own.deployment.createTenant('ten_elsewhere', []);
  await own.deployment.change(elsewhere, 'e');
  const requests = [elsewhere, tenantId('ten_missing')].map((tenant) => own.requestOf(tenant, 'paid'));
  for (const request of requests) await world.answered(request);
  const result = await own.finish();
  invariant('different' in result, `the import: ${result.kind}`);
  expect(new Set(result.different)).toEqual(
    new Set(requests.map(({ paymentId }) => ({ chainId: paymentId, because: 'tenant' }))),
  );
  // With one database, a tenant needs no row. The deployment would ignore a row that names another database, so the
  // import reports the payment of that tenant.
  const single = await own.finish({ names: ['first'] });
  expect(single).toMatchObject({ different: [{ chainId: requests[0]?.paymentId, because: 'tenant' }] });
});

test('an import that was suspended before it assigned a tenant to a database does not assign it after another import has finished', async () => {
  const tenant = inB(own);
  await own.deployment.world.answered(own.requestOf(tenant, 'paid'));
  let isDone = false;
  const client = own.deployment.world.store.database.clientWith(async (_command, apply, sent) => {
    if (!isDone && JSON.stringify(sent).includes('SET #shard')) {
      isDone = true;
      expect(await cancelImport(own.tools())).toBe(true);
      expect(await own.finish({ names: ['first'] })).toMatchObject({ kind: 'finished' });
    }
    return apply();
  });
  expect(await own.finish({ client })).toEqual({ kind: 'replaced' });
  for (const each of own.tenants.values()) expect(await own.deployment.shardOf(each)).toBe('undefined');
});

test('an import that was killed after it assigned the tenants to databases is finished with the same assignment', async () => {
  for (const tenant of own.tenants.values()) await own.deployment.world.answered(own.requestOf(tenant, 'paid'));
  const died = new Error('the process died');
  const client = own.deployment.world.store.database.clientWith(async (_command, apply, sent) => {
    if (JSON.stringify(sent).includes('import.finished')) throw died;
    return apply();
  });
  await expect(own.finish({ client })).rejects.toThrow();
  // With this order of the names, the hash selects other databases for the tenants.
  expect(await own.finish({ names: OTHER_ORDER })).toMatchObject({ kind: 'finished', appended: 0 });
  for (const [shard, tenant] of own.tenants) expect(await own.deployment.shardOf(tenant)).toBe(shard);
  expect(await own.misplaced()).toEqual([]);
});

test('a process refuses requests for a database that lacks its imported payments, and serves the other databases', async () => {
  const { world } = own.deployment;
  for (const tenant of own.tenants.values()) await world.answered(own.requestOf(tenant, 'paid'));
  expect(await own.finish()).toMatchObject({ kind: 'finished' });
  await databases.query('b', 'TRUNCATE transition');
  const { store, tools } = await own.deployment.start();
  for (const [shard, tenant] of own.tenants) {
    if (shard === 'b')
      await expect(world.pay(own.requestOf(tenant, 'later'), tools)).rejects.toMatchObject({
        code: 'authority_changed',
      });
    else expect(await world.pay(own.requestOf(tenant, 'later'), tools)).toMatchObject({ kind: 'first' });
  }
  await expect(store.readPayment(own.requestOf(inB(own), 'paid').paymentId)).rejects.toBeInstanceOf(RetryableError);
});

const PAIR = ['first', 'b'];

async function importWith(faults: readonly PlannedFault[]): Promise<HistoryRun> {
  const each = await ImportedTenants.begin(databases, PAIR);
  const { world } = each.deployment;
  for (const tenant of each.tenants.values()) {
    await world.answered(each.requestOf(tenant, 'paid', NOTES));
    await world.claimThenDie(each.requestOf(tenant, 'open'), true);
  }
  const plan = new FaultPlan(faults);
  const actor = new Actor('operator', plan);
  const first = await actor.run(() =>
    each.finish({
      names: PAIR,
      client: world.store.database.clientWith((command, apply) => actor.call(command, SDK_ERRORS, apply)),
      database: (name, given) =>
        databaseOf({ call: (label, ...call) => actor.call(`${name} ${label}`, ...call) }, given),
    }),
  );
  const calls = plan.calm();
  const isFinished = (await readAuthorityState(each.tools()))?.authority === 'postgres';
  const second = await each.finish({ names: PAIR });
  world.clock.advance(STATE_VALID_MS);
  const { tools } = await each.deployment.start();
  await world.resolveFor(3, tools);
  const wrong: string[] = [];
  for (const [shard, tenant] of each.tenants) {
    if ((await each.deployment.shardOf(tenant)) !== shard) wrong.push(`${tenant} is not placed into ${shard}`);
    for (const request of [each.requestOf(tenant, 'paid', NOTES), each.requestOf(tenant, 'open')]) {
      const { kind } = await world.pay(request, tools);
      const charges = world.processor.charges(request.paymentId).length;
      if (kind !== 'replay' || charges !== 1) wrong.push(`${request.paymentId}: ${kind}, ${charges} charges`);
    }
  }
  return {
    calls,
    violations: [
      ...('result' in first && first.result.kind === 'finished' && !isFinished ? ['finished without an entry'] : []),
      ...('result' in first && first.result.kind === 'differs' ? ['a fault counts as a difference'] : []),
      ...(second.kind === (isFinished ? 'postgres' : 'finished') ? [] : [`the repetition: ${second.kind}`]),
      ...wrong,
      ...(await each.misplaced()),
    ],
  };
}

test('an import into two databases with a fault at any call is completed by a repetition', async () => {
  const { findings, histories } = await surveyFaults(importWith, { faults: 1, oneOf: 48 });
  expect(findings).toEqual([]);
  expect(histories).toBeGreaterThan(whole(300, { slice: 5 }));
});
