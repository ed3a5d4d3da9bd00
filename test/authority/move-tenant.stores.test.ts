/** Moves a tenant between PostgreSQL databases. Tests the guarantee "moved tenants". */

import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { IMPORT_WAITS_MS, STATE_VALID_MS } from '../../lambdas/authority/contract.ts';
import { MoveRefused } from '../../lambdas/authority/move-tenant.ts';
import { MoveReplaced, NOT_MOVED, TENANT_TABLES } from '../../lambdas/authority/store/postgres-tenant-rows.ts';
import { NotBegunError } from '../../lambdas/kernel/faults.ts';
import { fingerprintOf } from '../../lambdas/kernel/fingerprint.ts';
import { storedOperationId, type TenantId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { Clock } from '../../lambdas/kernel/world.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { detailsKey } from '../../lambdas/once/store/details-rows.ts';
import { correctLedger } from '../../lambdas/operators/use/correct-ledger.ts';
import type { CreatePayment } from '../../lambdas/payments/use/create-payment.ts';
import type { PaymentStore } from '../../lambdas/payments/use/payment-store.ts';
import { readMigrations, tablesOf } from '../../lambdas/postgres/migrations.ts';
import { finishJob } from '../jobs/finish-job.ts';
import { orderRequest } from '../orders/order-fixtures.ts';
import { callback, change, paymentIdFor, paymentRequest } from '../payments/payment-fixtures.ts';
import { databaseOf } from '../postgres/store-database.ts';
import { BY_OPERATOR, OPERATOR } from '../support/causes.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { ALL_DUE } from '../support/due.ts';
import { type HistoryRun, surveyFaults } from '../support/fault-histories.ts';
import { Actor, FaultPlan, type PlannedFault } from '../support/fault-plan.ts';
import { SDK_ERRORS } from '../support/faulty-client.ts';
import { whole } from '../support/slice.ts';
import { TABLES } from '../world/tables.ts';
import { FourDatabases, type MoveChanges, ShardedDeployment } from './four-databases.ts';

type Process = Awaited<ReturnType<ShardedDeployment['start']>>;

let databases: FourDatabases;
let deployment: ShardedDeployment;
/** A tenant in `b`, which is moved to `c`, and tenants that stay in both. */
let tenant: TenantId;
let neighbors: readonly TenantId[];
beforeAll(async () => {
  databases = await FourDatabases.create();
});
afterAll(() => databases.close());
beforeEach(begin);

async function begin(): Promise<void> {
  await databases.empty();
  deployment = new ShardedDeployment(databases);
  const [one, two] = [await deployment.tenants('one'), await deployment.tenants('two')];
  const found = [one.get('b'), two.get('b'), two.get('c')];
  const [moved, ...others] = found.map((id) => {
    invariant(id !== undefined, 'a database has no tenant');
    return id;
  });
  invariant(moved !== undefined, 'there is no tenant to move');
  tenant = moved;
  neighbors = others;
}

const requestOf = (key: string, changes: Partial<CreatePayment> = {}, owner = tenant): CreatePayment =>
  paymentRequest(key, { tenantId: owner, paymentId: paymentIdFor(key, owner), ...changes });
const NOTED = { reference: 'order-1', description: 'two shirts' };
const correctionOf = (key: string, owner = tenant) => storedOperationId(`cor_${key}_${owner}`);

function correct(process: Process, payment: CreatePayment) {
  const reversal = { kind: 'reverse', sequence: 2 } as const;
  const { clock } = deployment.world;
  return correctLedger(
    {
      effects: process.tools.effects,
      approvals: undefined,
      runner: idempotentRunner,
      clock,
      entropy: countingEntropy(),
      digest: systemDigest,
    },
    {
      cause: BY_OPERATOR,
      operationId: correctionOf('corrected', payment.tenantId),
      fingerprint: fingerprintOf(systemDigest, { body: { ...reversal }, query: {} }),
      payment: payment.paymentId,
      reason: 'Booked twice',
      by: OPERATOR,
      asked: { kind: 'correction', change: reversal },
    },
  );
}

function erase(process: Process, { paymentId, tenantId, mode }: CreatePayment): Promise<boolean> {
  const actor = { by: 'command' as const, operator: 'ada' };
  const chain = { tenantId, mode };
  return process.erase({ chain, action: 'payment.erased', actor, about: [paymentId], occurredAtMs: 0 });
}

/** Pays in a process that ends after the charge. The claim stays open. */
async function crash(process: Process, request: CreatePayment): Promise<void> {
  const { world } = deployment;
  const died = new Error('the process died');
  const charge: typeof world.processor.charge = async (...sent) => {
    await world.processor.charge(...sent);
    throw died;
  };
  const store: PaymentStore = {
    ...process.tools.store,
    release: () => Promise.reject(died),
    commit: () => Promise.reject(died),
  };
  const tools = { ...process.tools, store, processor: { ...world.processor, charge } };
  await expect(world.pay(request, tools)).rejects.toBe(died);
}

/** Writes rows of every kind. */
async function useAll(process: Process, owner: TenantId): Promise<void> {
  const { world } = deployment;
  const { tools } = process;
  const paid = requestOf('paid', NOTED, owner);
  await world.answered(paid, tools);
  await world.change(change(paid, 'r', { kind: 'refund', amountMinor: 400 }), tools);
  await world.answered(requestOf('erased', { description: 'secret' }, owner), tools);
  expect(await erase(process, requestOf('erased', {}, owner))).toBe(true);
  await world.answered(requestOf('held', { capture: 'manual' }, owner), tools);
  await world.pay(requestOf('unknown', { source: 'tok_timeout_charged' }, owner), tools);
  await crash(process, requestOf('open', NOTED.reference === undefined ? {} : { reference: 'order-2' }, owner));
  await world.order({ ...orderRequest(`order-${owner}`), tenantId: owner }, tools);
  const corrected = requestOf('corrected', {}, owner);
  await world.answered(corrected, tools);
  expect((await correct(process, corrected)).kind).toBe('first');
}

/** Returns all rows of databases as text, sorted, by table. Rows of the moves are left out. */
async function rowsIn(...names: readonly string[]): Promise<Readonly<Record<string, readonly string[]>>> {
  const found: Record<string, readonly string[]> = {};
  for (const table of tablesOf(readMigrations()).filter((name) => name !== 'tenant_move')) {
    const rows = await Promise.all(
      names.map((name) => databases.query(name, `SELECT own::text AS row FROM ${table} AS own`)),
    );
    found[table] = rows
      .flat()
      .map(({ row }) => String(row))
      .toSorted();
  }
  return found;
}

/** Returns the rows of a database that name the tenant or one of the payments and orders. */
async function rowsOf(name: string, ids: readonly string[]): Promise<readonly string[]> {
  const all = Object.values(await rowsIn(name)).flat();
  return all.filter((row) => ids.some((id) => row.includes(id)));
}

async function idsOf(name: string, owner: TenantId): Promise<readonly string[]> {
  const rows = await databases.query(name, 'SELECT DISTINCT chain_id FROM transition WHERE tenant_id = $1', owner);
  return [owner, ...rows.map(({ chain_id: id }) => String(id))];
}

async function hasCopiedDetails({ paymentId }: CreatePayment): Promise<boolean> {
  const { client } = deployment.world.store.database;
  const get = new GetCommand({ TableName: TABLES.registry, Key: detailsKey(paymentId) });
  return (await client.send(get)).Item !== undefined;
}

/** Returns the surroundings of a run that calls `act` in each of its waits, with the number of the wait. */
function waiting(act: (wait: number) => Promise<void>): MoveChanges {
  const { clock, entropy } = deployment.world;
  let waits = 0;
  const observed: Clock = {
    nowMs: () => clock.nowMs(),
    sleep: async (ms) => {
      if (ms === IMPORT_WAITS_MS) await act((waits += 1));
      return clock.sleep(ms);
    },
  };
  return { pacing: { clock: observed, entropy } };
}

/** Returns the surroundings of a run that calls `act` once, before this statement or call. */
function before(name: string, act: () => Promise<unknown>): MoveChanges {
  let isDone = false;
  const once = async (found: string): Promise<void> => {
    if (isDone || found !== name) return;
    isDone = true;
    await act();
  };
  return {
    client: deployment.world.store.database.clientWith(async (command, apply, sent) => {
      await once(JSON.stringify(sent).includes('SET #shard') ? 'switch' : command);
      return apply();
    }),
    database: (shard, given) => ({
      run: async (statement) => {
        await once(`${shard} ${statement.name}`);
        return given.run(statement);
      },
      transaction: (work) =>
        given.transaction((transaction) =>
          work({
            run: async (statement) => {
              await once(`${shard} ${statement.name}`);
              return transaction.run(statement);
            },
          }),
        ),
    }),
  };
}

test('every table is moved, or is named as one that is not moved', () => {
  expect([...TENANT_TABLES, ...NOT_MOVED].toSorted()).toEqual([...tablesOf(readMigrations())].toSorted());
});

describe('a tenant', () => {
  test('is moved with every row, and no row of another tenant changes', async () => {
    const { world } = deployment;
    const process = await deployment.start();
    for (const owner of [tenant, ...neighbors]) await useAll(process, owner);
    await finishJob(process.carryJob(world.store.jobMarks), world.clock.nowMs());
    const all = await rowsIn('b', 'c');
    const others = await rowsOf('b', await idsOf('b', neighbors[0] ?? tenant));
    const ids = await idsOf('b', tenant);
    for (const [table, rows] of Object.entries(all))
      if (!['orphan', 'outbox', 'approval', 'approval_end'].includes(table))
        expect([table, rows]).not.toEqual([table, []]);

    await deployment.move(tenant, 'c');

    expect(await rowsIn('b', 'c')).toEqual(all);
    expect(await rowsOf('b', ids)).toEqual([]);
    expect(await rowsOf('b', await idsOf('b', neighbors[0] ?? tenant))).toEqual(others);
    expect(await deployment.shardOf(tenant)).toBe('c');
    expect(await hasCopiedDetails(requestOf('paid'))).toBe(true);
    world.clock.advance(STATE_VALID_MS);
    for (const { tools, store } of [process, await deployment.start()]) {
      expect((await world.answered(requestOf('paid', NOTED), tools)).kind).toBe('replay');
      expect((await store.readPayment(requestOf('paid').paymentId))?.newest.sequence).toBeGreaterThan(2);
    }
    expect((await correct(process, requestOf('corrected'))).kind).toBe('replay');
    await world.resolveFor(4, process.tools);
    const open = requestOf('open', { reference: 'order-2' });
    expect((await world.answered(open, process.tools)).kind).toBe('replay');
    expect(world.processor.charges(open.paymentId)).toHaveLength(1);
    expect(await rowsOf('b', ids)).toEqual([]);
  });

  test('can be moved on and back', async () => {
    const { world } = deployment;
    for (const [key, to] of [
      ['one', 'c'],
      ['two', 'first'],
      ['three', 'b'],
      ['four', 'c'],
    ] as const) {
      const { tools } = await deployment.start();
      await world.answered(requestOf(key), tools);
      await deployment.move(tenant, to);
    }
    expect(await idsOf('c', tenant)).toHaveLength(5);
    for (const name of ['first', 'b']) expect(await rowsOf(name, [tenant])).toEqual([]);
  });

  test('keeps the keys of corrections in the first database', async () => {
    const ofFirst = (await deployment.tenants('three')).get('first') ?? tenant;
    const process = await deployment.start();
    const payment = requestOf('corrected', {}, ofFirst);
    await deployment.world.answered(payment, process.tools);
    await correct(process, payment);
    await deployment.move(ofFirst, 'c');
    const [binding, ...others] = await rowsOf('first', [payment.paymentId]);
    expect(binding).toContain('#payment');
    expect(others).toEqual([]);
  });

  test('gets 503 for every write during the move, and its reads and the writes of others continue', async () => {
    const { world } = deployment;
    const stale = await deployment.start();
    await useAll(stale, tenant);
    const paid = requestOf('paid', NOTED);
    const { chargeId = '' } = world.processor.charges(paid.paymentId)[0] ?? {};
    const waits: number[] = [];
    const act = async (wait: number): Promise<void> => {
      waits.push(wait);
      // A process may use the tenant's earlier row for a minute.
      if (wait === 1) expect((await world.answered(requestOf('late'), stale.tools)).kind).toBe('first');
      world.clock.advance(STATE_VALID_MS);
      for (const process of [stale, await deployment.start()]) {
        const { tools, store } = process;
        const writes: readonly (() => Promise<unknown>)[] = [
          () => world.pay(requestOf(`new-${wait}`), tools),
          () => world.pay(paid, tools),
          () => world.change(change(paid, `r-${wait}`, { kind: 'refund', amountMinor: 100 }), tools),
          () => world.order({ ...orderRequest(`order-${wait}`), tenantId: tenant }, tools),
          () => world.deliver(callback(`evt-${wait}`, chargeId), tools),
          () => correct(process, requestOf('late')),
          () => erase(process, paid),
          () => store.release(storedOperationId(requestOf('open').paymentId), countingEntropy().ownerToken()),
          async () => tools.work.closeInquiry((await tools.work.unknownOutcomes(ALL_DUE))[0] ?? never()),
          async () => {
            const [row = never()] = (await tools.holds.dueBefore(Number.MAX_SAFE_INTEGER, { limit: 1 })).rows;
            return tools.holds.close(row.row);
          },
          () =>
            tools.orphanStore.queueIfAbsent({
              toReturn: [{ paymentId: paid.paymentId, chargeId, by: 'void', foundAtMs: 0 }],
              inquiries: [],
            }),
        ];
        for (const [index, write] of writes.entries()) {
          const error: unknown = await write().then(
            () => undefined,
            (thrown: unknown) => thrown,
          );
          expect([index, error]).toEqual([index, expect.any(NotBegunError)]);
          expect(error).toMatchObject({ code: 'tenant_moving', retryAfterSeconds: 60 });
        }
        expect((await store.readPayment(paid.paymentId))?.first.payment.id).toBe(paid.paymentId);
        expect(await store.listTransitions(paid.paymentId, { afterSequence: 0, limit: 9 })).not.toEqual([]);
        expect(
          await process.activity.listActivity({ tenantId: tenant, mode: 'test' }, { order: 'newest_first', limit: 9 }),
        ).not.toEqual([]);
        for (const owner of neighbors)
          expect((await world.pay(requestOf(`w${wait}`, {}, owner), tools)).kind).toMatch(/first|replay/);
      }
      await world.resolve(stale.tools);
      await finishJob(stale.carryJob(world.store.jobMarks), world.clock.nowMs());
    };
    await deployment.move(tenant, 'c', waiting(act));
    expect(waits).toEqual([1, 2]);
    const { tools } = await deployment.start();
    expect((await world.answered(requestOf('late'), tools)).kind).toBe('replay');
    // The processor repeats its callback.
    for (const kind of ['recorded', 'recorded_before'])
      expect(await world.deliver(callback('evt-1', chargeId), tools)).toMatchObject({ kind });
    expect(await databases.query('b', 'SELECT 1 FROM idempotency WHERE operation_id LIKE $1', 'cb_%')).toEqual([]);
    expect(await databases.query('c', 'SELECT 1 FROM idempotency WHERE operation_id LIKE $1', 'cb_%')).toHaveLength(1);
    expect(world.processor.charges(paid.paymentId)).toHaveLength(1);
  });

  test.each(['c move-compare-transition', 'switch', 'b move-begin-details', 'b move-waiting'])(
    'keeps what a suspended process commits before %s',
    async (point) => {
      const { world } = deployment;
      const { tools } = await deployment.start();
      await world.answered(requestOf('paid'), tools);
      const held = Promise.withResolvers<void>();
      const released = Promise.withResolvers<void>();
      deployment.before = async ({ statement: { name } }) => {
        if (name !== 'record-complete') return;
        held.resolve();
        await released.promise;
      };
      const paying = world.answered(requestOf('suspended', NOTED), tools);
      await held.promise;
      const commit = async (): Promise<void> => {
        released.resolve();
        await paying;
      };
      await deployment.move(tenant, 'c', before(point, commit));
      const after = await deployment.start();
      expect((await world.answered(requestOf('suspended', NOTED), after.tools)).kind).toBe('replay');
      expect(await rowsOf('b', [tenant, ...(await idsOf('c', tenant))])).toEqual([]);
    },
  );

  test('keeps the copies of its personal data, although a suspended carrier continues in the earlier database', async () => {
    const { world } = deployment;
    const process = await deployment.start();
    const request = requestOf('paid', NOTED);
    await world.answered(request, process.tools);
    // A second erasure is announced, so that the carrier compares the copies with the rows.
    await databases.query(
      'b',
      `INSERT INTO outbox (chain_id, kind, sequence, shard, created_at) VALUES ($1, 'erasure', 9, 0, now())`,
      request.paymentId,
    );
    const held = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    deployment.before = async ({ statement: { name } }) => {
      if (name !== 'details-parts') return;
      held.resolve();
      await released.promise;
    };
    const carrying = finishJob(process.carryJob(world.store.jobMarks), world.clock.nowMs());
    await held.promise;
    await deployment.move(tenant, 'c');
    released.resolve();
    await carrying;
    expect(await hasCopiedDetails(request)).toBe(true);
  });
});

function never(): never {
  throw new Error('there is no row');
}

describe('a run of the command', () => {
  const pay = async (key = 'paid'): Promise<void> => {
    await deployment.world.answered(requestOf(key, NOTED), (await deployment.start()).tools);
  };

  test.each<readonly [string, () => Promise<void>, string | RegExp]>([
    ['the tenant is there already', async () => deployment.move(tenant, 'b'), / is in b already$/],
    ['no move is in progress', async () => deployment.move(tenant, undefined), /^no move of ten_\w+ is in progress$/],
    [
      'the database has another identity',
      async () => {
        await databases.query('c', 'UPDATE schema_version SET applied_at = applied_at + $1::interval', '1 s');
        const { client } = deployment.world.store.database;
        await client.send(deployment.knownAs('c', 1));
        try {
          await deployment.move(tenant, 'c');
        } finally {
          await databases.query('c', 'UPDATE schema_version SET applied_at = applied_at - $1::interval', '1 s');
        }
      },
      '--to-secret or --to-url names another database than c',
    ],
    [
      'the tables differ',
      async () => {
        await databases.query('b', 'ALTER TABLE work ADD COLUMN other text');
        try {
          await deployment.move(tenant, 'c');
        } finally {
          await databases.query('b', 'ALTER TABLE work DROP COLUMN other');
        }
      },
      'the tables of the two databases differ: run "payonce db migrate" on both',
    ],
    [
      'the Registry was restored to a time before the move',
      async () => {
        await deployment.move(tenant, 'c');
        await deployment.change(tenant, 'b');
        await deployment.move(tenant, 'c');
      },
      'b cannot be the source of this move: its table tenant_move has the role empty',
    ],
    [
      'the copies of a payment are stopped',
      async () => {
        await pay('stopped');
        await databases.query(
          'b',
          `INSERT INTO outbox (chain_id, kind, sequence, shard, created_at, stopped_at) VALUES ($1, 'transition', 1, 0, now(), now())`,
          requestOf('stopped').paymentId,
        );
        await deployment.move(tenant, 'c');
      },
      /^the copies of pay_\w+ in DynamoDB are stopped: run "payonce tables recover" first$/,
    ],
    [
      'an append-only row of the target differs',
      async () => {
        await databases.query(
          'c',
          `INSERT INTO transition SELECT (json_populate_record(own, '{"type": "other"}')).* FROM json_populate_record(NULL::transition, $1::json) AS own`,
          JSON.stringify(
            (await databases.query('b', 'SELECT row_to_json(own) AS row FROM transition AS own LIMIT 1'))[0]?.['row'],
          ),
        );
        await deployment.move(tenant, 'c');
      },
      /^rows of the two databases differ, for example transition /,
    ],
  ])('is refused if %s, and no row is lost', async (_, run, message) => {
    await pay();
    const [ids, rows] = [await idsOf('b', tenant), await rowsIn('b')];
    const error: unknown = await run().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(MoveRefused);
    expect(error).toMatchObject({ message: expect.stringMatching(message) });
    const all = await rowsIn('b', 'c');
    for (const [table, found] of Object.entries(rows)) expect(all[table]).toEqual(expect.arrayContaining([...found]));
    expect(ids).toHaveLength(2);
  });

  test('can be aborted before the switch, but not after it', async () => {
    const { world } = deployment;
    await pay();
    const rows = [await rowsIn('b'), await rowsIn('c')];
    const stop = new Error('the command was stopped');
    const stopped = (point: string) =>
      deployment.move(
        tenant,
        'c',
        before(point, () => Promise.reject(stop)),
      );
    await expect(stopped('switch')).rejects.toBe(stop);
    await expect(deployment.move(tenant, 'first')).rejects.toThrow('is being moved to c');
    const { tools } = await deployment.start();
    await expect(world.pay(requestOf('later'), tools)).rejects.toMatchObject({ code: 'tenant_moving' });
    await deployment.move(tenant, undefined);
    expect([await rowsIn('b'), await rowsIn('c')]).toEqual(rows);
    world.clock.advance(STATE_VALID_MS);
    expect((await world.answered(requestOf('later'), tools)).kind).toBe('first');
    await expect(stopped('b move-delete-row-details')).rejects.toBe(stop);
    await expect(deployment.move(tenant, undefined)).rejects.toThrow(
      'is in c already: repeat the command without --abort',
    );
    await deployment.move(tenant, 'c');
    expect(await rowsOf('b', [tenant, ...(await idsOf('c', tenant))])).toEqual([]);
    await pay();
    await pay('later');
  });
});

/** Returns the surroundings of a run whose calls go through a plan. */
function planned(actor: Actor): MoveChanges {
  return {
    client: deployment.world.store.database.clientWith((command, apply) => actor.call(command, SDK_ERRORS, apply)),
    database: (name, given) => databaseOf({ call: (label, ...call) => actor.call(`${name} ${label}`, ...call) }, given),
  };
}

/** Uses the tenant after a move, and returns what is wrong. */
async function violations(): Promise<readonly string[]> {
  const { world } = deployment;
  world.clock.advance(STATE_VALID_MS);
  const { tools, store } = await deployment.start();
  const home = await deployment.shardOf(tenant);
  const away = home === 'b' ? 'c' : 'b';
  const ids = await idsOf(home, tenant);
  const paid = await world.pay(requestOf('paid', NOTED), tools);
  const later = await world.pay(requestOf('after'), tools);
  await world.resolveFor(3, tools);
  const open = await world.pay(requestOf('open', { reference: 'order-2' }), tools);
  const charges = ['paid', 'open', 'after'].map((key) => world.processor.charges(requestOf(key).paymentId).length);
  const { first } = (await store.readPayment(requestOf('paid').paymentId)) ?? {};
  return [
    ...(paid.kind === 'replay' ? [] : [`a replay: ${paid.kind}`]),
    ...(later.kind === 'first' || later.kind === 'replay' ? [] : [`a new payment: ${later.kind}`]),
    ...(open.kind === 'replay' ? [] : [`an open claim: ${open.kind}`]),
    ...(charges.join() === '1,1,1' ? [] : [`charges: ${charges.join()}`]),
    ...(JSON.stringify(first).includes(NOTED.description) ? [] : ['personal data is lost']),
    ...((await hasCopiedDetails(requestOf('paid'))) ? [] : ['copied personal data is lost']),
    ...(await rowsOf(away, ids)).map((row) => `a row in ${away}: ${row.slice(0, 60)}`),
  ];
}

async function beginHistory(): Promise<void> {
  await begin();
  const process = await deployment.start();
  await deployment.world.answered(requestOf('paid', NOTED), process.tools);
  await crash(process, requestOf('open', { reference: 'order-2' }));
  await deployment.world.answered(requestOf('paid', {}, neighbors[0]), process.tools);
}

/** Repeats the command until it has nothing to do. */
async function finish(to: string | undefined): Promise<readonly string[]> {
  try {
    await deployment.move(tenant, to);
    return [];
  } catch (error) {
    // An aborted move that was already switched continues.
    if (error instanceof MoveRefused && error.message.includes('already: repeat')) return finish('c');
    const isDone = error instanceof MoveRefused && / is in c already$|^no move of/.test(error.message);
    return isDone ? [] : [`the repetition: ${String(error)}`];
  }
}

/** Moves the tenant with these faults, and repeats the command, or aborts the move, without faults. */
async function moveWith(faults: readonly PlannedFault[], to: string | undefined): Promise<HistoryRun> {
  await beginHistory();
  const plan = new FaultPlan(faults);
  const actor = new Actor('operator', plan);
  await actor.run(() => deployment.move(tenant, 'c', planned(actor)));
  const calls = plan.calm();
  const repeated = await finish(to);
  return { calls, violations: [...repeated, ...(await violations())] };
}

/**
 * Suspends a run before one of its calls, while another run finishes or aborts the move and the tenant writes. Then the
 * suspended run continues.
 */
async function moveSuspended(faults: readonly PlannedFault[], to: string | undefined): Promise<HistoryRun> {
  await beginHistory();
  const plan = new FaultPlan();
  const actor = new Actor('suspended', plan);
  let found: readonly string[] = [];
  const rows: unknown[] = [];
  plan.holdAt(faults[0]?.point, async () => {
    found = [...(await finish(to)), ...(await violations())];
    rows.push(await rowsIn('b', 'c'));
  });
  const error: unknown = await deployment.move(tenant, 'c', planned(actor)).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  const isFenced = error === undefined || error instanceof MoveReplaced;
  const calls = plan.calm();
  if (rows.length > 0) rows.push(await rowsIn('b', 'c'));
  // A run that has not begun is not fenced: it begins after the other one.
  const isSame = JSON.stringify(rows[0]) === JSON.stringify(rows.at(-1));
  return {
    calls,
    violations: [
      ...found,
      ...(isFenced ? [] : [`the suspended run: ${String(error)}`]),
      ...(isSame ? [] : ['the suspended run changed rows']),
      ...(await finish('c')),
      ...(await violations()),
    ],
  };
}

describe('a move', () => {
  test.each(['c', undefined])('with a fault at any call is completed by a repetition to %s', async (to) => {
    const { findings, histories } = await surveyFaults((faults) => moveWith(faults, to), { faults: 1, oneOf: 32 });
    expect(findings).toEqual([]);
    expect(histories).toBeGreaterThan(whole(200, { slice: 5 }));
  });

  test.each(['c', undefined])('that is suspended at any call changes nothing after another run to %s', async (to) => {
    const { findings, histories } = await surveyFaults((faults) => moveSuspended(faults, to), {
      faults: 1,
      oneOf: 7,
      kindsOf: () => ['crash_before'],
    });
    expect(findings).toEqual([]);
    expect(histories).toBeGreaterThan(whole(50, { slice: 5 }));
  });
});
