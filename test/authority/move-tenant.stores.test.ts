/** Moves a tenant between PostgreSQL databases. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { STATE_VALID_MS } from '../../lambdas/authority/contract.ts';
import { MoveRefused } from '../../lambdas/authority/move-tenant.ts';
import { recoverPostgres } from '../../lambdas/authority/recover-postgres.ts';
import { NOT_MOVED, TENANT_TABLES } from '../../lambdas/authority/store/postgres-tenant-rows.ts';
import { NotBegunError } from '../../lambdas/kernel/faults.ts';
import type { TenantId } from '../../lambdas/kernel/ids.ts';
import { chargeOperation } from '../../lambdas/payments/ids.ts';
import { readMigrations, tablesOf } from '../../lambdas/postgres/migrations.ts';
import { finishJob } from '../jobs/finish-job.ts';
import { orderRequest } from '../orders/order-fixtures.ts';
import { callback, change } from '../payments/payment-fixtures.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { ALL_DUE } from '../support/due.ts';
import { TABLES } from '../world/tables.ts';
import { FourDatabases, type ShardedDeployment } from './four-databases.ts';
import { MovedTenant, NOTED, OPEN } from './moved-tenant.ts';

let databases: FourDatabases;
let moved: MovedTenant;
let deployment: ShardedDeployment;
let tenant: TenantId;
beforeAll(async () => {
  databases = await FourDatabases.create();
});
afterAll(() => databases.close());
beforeEach(async () => {
  moved = await MovedTenant.begin(databases);
  ({ deployment, tenant } = moved);
});

const errorOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

function found<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('there is no row');
  return value;
}

/** `held` resolves when the statement is suspended; `release` continues it. */
function suspend(statement: string) {
  const [held, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  deployment.before = async ({ statement: { name } }) => {
    if (name !== statement) return;
    held.resolve();
    await released.promise;
  };
  return { held: held.promise, release: () => released.resolve() };
}

test('every table is either moved or listed as not moved', () => {
  expect([...TENANT_TABLES, ...NOT_MOVED].toSorted()).toEqual([...tablesOf(readMigrations())].toSorted());
});

describe('a tenant', () => {
  test('is moved with every row, and no row of another tenant changes', async () => {
    const { world } = deployment;
    const process = await deployment.start();
    for (const owner of [tenant, ...moved.neighbors]) await moved.useAll(process, owner);
    await finishJob(process.carryJob(world.store.jobMarks), world.clock.nowMs());
    const all = await moved.rowsIn('b', 'c');
    const ids = await moved.idsIn('b');
    const ofNeighbor = await moved.idsIn('b', moved.neighbors[0]);
    const others = await moved.rowsWith('b', ofNeighbor);
    for (const table of TENANT_TABLES) expect([table, all[table]?.length]).not.toEqual([table, 0]);

    await deployment.move(tenant, 'c');

    expect(await moved.rowsIn('b', 'c')).toEqual(all);
    expect(await moved.rowsWith('b', ids)).toEqual([]);
    expect(await moved.rowsWith('b', ofNeighbor)).toEqual(others);
    expect(await deployment.placeOf(tenant)).toEqual({ shard: 'c', moves: 1 });
    expect(await moved.hasCopiedDetails(moved.requestOf('paid'))).toBe(true);
    world.clock.advance(STATE_VALID_MS);
    for (const each of [process, await deployment.start()]) {
      expect((await world.answered(moved.requestOf('paid', NOTED), each.tools)).kind).toBe('replay');
      expect(await each.store.readPayment(moved.requestOf('paid').paymentId)).toBeDefined();
    }
    expect((await moved.correct(process, moved.requestOf('corrected'))).kind).toBe('replay');
    await world.resolveFor(4, process.tools);
    const open = moved.requestOf('open', OPEN);
    expect((await world.answered(open, process.tools)).kind).toBe('replay');
    expect(world.processor.charges(open.paymentId)).toHaveLength(1);
    expect(await moved.rowsWith('b', ids)).toEqual([]);
  });

  test('can be moved several times, and back to a database from which it was moved', async () => {
    for (const [key, to] of [
      ['one', 'c'],
      ['two', 'first'],
      ['three', 'b'],
      ['four', 'c'],
    ] as const) {
      await moved.pay(key);
      await deployment.move(tenant, to);
    }
    const ids = await moved.idsIn('c');
    expect(ids).toHaveLength(5);
    for (const name of ['first', 'b']) expect(await moved.rowsWith(name, ids)).toEqual([]);
  });

  test('has its requests refused by the earlier database if the Registry was restored to a time before the move', async () => {
    const { world } = deployment;
    const { paymentId } = await moved.pay('paid');
    await deployment.move(tenant, 'c');
    await deployment.change(tenant, 'b');
    const { tools } = await deployment.start();
    for (const key of ['paid', 'new'])
      expect(await errorOf(world.pay(moved.requestOf(key), tools))).toMatchObject({ code: 'shard_differs' });
    expect(world.processor.charges(paymentId)).toHaveLength(1);
  });

  test.each(['none', 'home', 'source'])(
    'is reported when its earlier database is recovered (role in tenant_move: %s); a move there and back removes the old rows',
    async (role) => {
      await moved.pay('paid', NOTED);
      const copies = await Promise.all(
        TENANT_TABLES.map(async (table) => [table, await moved.jsonIn('b', table)] as const),
      );
      await deployment.move(tenant, 'c');
      // The earlier database is restored to a time before or during the move.
      await databases.query('b', 'DELETE FROM tenant_move');
      if (role !== 'none') await databases.query('b', 'INSERT INTO tenant_move VALUES ($1, 0, $2)', tenant, role);
      for (const [table, rows] of copies)
        await databases.query(
          'b',
          `INSERT INTO ${table} SELECT * FROM json_populate_recordset(NULL::${table}, $1)`,
          rows,
        );
      const { clock, entropy, store } = deployment.world;
      const { client } = store.database;
      const tools = { client, tables: TABLES, pacing: { clock, entropy }, database: databases.database('b') };
      const recover = async () => {
        const owns = async (id: TenantId) => (await deployment.placeOf(id)).shard === 'b';
        return (await recoverPostgres({ ...tools, owns }, 1, () => undefined)).elsewhere;
      };
      expect(await recover()).toEqual([tenant]);
      await deployment.move(tenant, 'b');
      expect(await recover()).toEqual([]);
      await deployment.move(tenant, 'c');
      expect(await recover()).toEqual([]);
      expect(await moved.rowsWith('b', await moved.idsIn('c'))).toEqual([]);
    },
  );

  test('keeps the idempotency key of a correction in the first database', async () => {
    const process = await deployment.start();
    await deployment.move(tenant, 'first');
    const payment = await moved.pay('corrected');
    expect((await moved.correct(process, payment)).kind).toBe('first');
    await deployment.move(tenant, 'c');
    const rows = await moved.rowsWith('first', [payment.paymentId]);
    expect(rows).toEqual([expect.stringContaining('#payment')]);
  });

  test('gets 503 for every write during the move, while its reads and the writes of other tenants continue', async () => {
    const { world } = deployment;
    const stale = await deployment.start();
    await moved.useAll(stale, tenant);
    const paid = moved.requestOf('paid', NOTED);
    const { chargeId = '' } = world.processor.charges(paid.paymentId)[0] ?? {};
    const waits: number[] = [];
    const during = async (wait: number): Promise<void> => {
      waits.push(wait);
      // A process may use the tenant's row for a minute after it has read the row.
      if (wait === 1) expect((await world.answered(moved.requestOf('late'), stale.tools)).kind).toBe('first');
      world.clock.advance(STATE_VALID_MS);
      for (const process of [stale, await deployment.start()]) {
        const { tools, store } = process;
        const toReturn = [{ paymentId: paid.paymentId, chargeId, by: 'void' as const, foundAtMs: 0 }];
        const writes: readonly (() => Promise<unknown>)[] = [
          () => world.pay(moved.requestOf(`new-${wait}`), tools),
          () => world.change(change(paid, `r-${wait}`, { kind: 'refund', amountMinor: 100 }), tools),
          () => world.order({ ...orderRequest(`order-${wait}`), tenantId: tenant }, tools),
          () => world.deliver(callback(`evt-${wait}`, chargeId), tools),
          () => moved.correct(process, moved.requestOf('late'), `key-${wait}`),
          () => moved.erase(process, paid),
          () => store.release(chargeOperation(moved.requestOf('open').paymentId), countingEntropy().ownerToken()),
          () =>
            tools.work.closeInquiry({
              operationId: chargeOperation(paid.paymentId),
              paymentId: paid.paymentId,
              claimedAtMs: 0,
            }),
          async () => {
            const [claim] = await tools.work.staleClaims(ALL_DUE);
            return tools.work.postponeClaim(found(claim), { dueAtMs: 0, undecidable: false });
          },
          () => tools.holds.close({ paymentId: moved.requestOf('held').paymentId, authorizedAtMs: 0 }),
          () => tools.orphanStore.queueOrNote({ toReturn, inquiries: [] }),
        ];
        for (const [index, write] of writes.entries()) {
          const error = await errorOf(write());
          expect([index, error]).toEqual([index, expect.any(NotBegunError)]);
          expect(error).toMatchObject({ code: 'tenant_moving', retryAfterSeconds: 60 });
        }
        const page = { afterSequence: 0, limit: 9 };
        expect((await store.readPayment(paid.paymentId))?.first.payment.id).toBe(paid.paymentId);
        expect(await store.listTransitions(paid.paymentId, page)).not.toEqual([]);
        const newest = { order: 'newest_first' as const, limit: 9 };
        expect(await process.activity.listActivity({ tenantId: tenant, mode: 'test' }, newest)).not.toEqual([]);
        expect(await tools.effects.listApprovals({ limit: 9 })).toHaveLength(1);
        for (const owner of moved.neighbors)
          expect((await world.pay(moved.requestOf(`w-${wait}`, {}, owner), tools)).kind).toMatch(/first|replay/);
      }
      await world.resolve(stale.tools);
      await finishJob(stale.carryJob(world.store.jobMarks), world.clock.nowMs());
    };
    world.clock.advance(STATE_VALID_MS);
    await stale.store.readPayment(paid.paymentId);
    await deployment.move(tenant, 'c', moved.waiting(during));

    expect(waits).toEqual([1, 2]);
    const { tools } = await deployment.start();
    expect((await world.answered(moved.requestOf('late'), tools)).kind).toBe('replay');
    // The processor retries the callback that got 503, and then sends it once more.
    for (const kind of ['recorded', 'redelivered'])
      expect(await world.deliver(callback('evt-1', chargeId), tools)).toMatchObject({ kind });
    const callbacks = (name: string) =>
      databases.query(name, `SELECT operation_id FROM idempotency WHERE operation_id LIKE 'cb_%'`);
    expect([(await callbacks('b')).length, (await callbacks('c')).length]).toEqual([0, 1]);
    expect(world.processor.charges(paid.paymentId)).toHaveLength(1);
  });

  test.each([
    ['c move-compare-transition', undefined],
    ['switch', undefined],
    ['b move-delete-row-posting', 'a row was changed during the move'],
  ])('keeps the commit of a process that resumes right before the step “%s” of the move', async (point, refusal) => {
    const { world } = deployment;
    await moved.pay('paid');
    const { held, release } = suspend('record-complete');
    const request = moved.requestOf('suspended', NOTED);
    const paying = world.answered(request, (await deployment.start()).tools);
    await held;
    const commit = async (): Promise<void> => {
      release();
      await paying;
    };
    const error = await errorOf(deployment.move(tenant, 'c', moved.before(point, commit)));
    if (refusal === undefined) expect(error).toBeUndefined();
    else {
      expect(error).toMatchObject({ message: expect.stringContaining(refusal) });
      await deployment.move(tenant, 'c');
    }
    expect((await world.answered(request, (await deployment.start()).tools)).kind).toBe('replay');
    expect(await moved.rowsWith('b', await moved.idsIn('c'))).toEqual([]);
  });

  test.each<readonly [until: string, move: (erase: () => Promise<void>) => Promise<void>]>([
    ['until the switch', (erase) => deployment.move(tenant, 'c', moved.before('switch', erase))],
    ['for the whole move', async (erase) => deployment.move(tenant, 'c').then(erase)],
    [
      'until the move was aborted',
      async (erase) => {
        const stop = new Error('the command was stopped');
        const erased = moved.before('c read-used-identity', () => erase().then(() => Promise.reject(stop)));
        await expect(deployment.move(tenant, 'c', erased)).rejects.toBe(stop);
        await deployment.move(tenant, undefined);
      },
    ],
  ])('has no personal data left after an erasure that was suspended %s', async (_, move) => {
    const request = await moved.pay('paid', NOTED);
    const { held, release } = suspend('details-erase');
    const erasing = moved.erase(await deployment.start(), request);
    await held;
    await move(async () => {
      release();
      expect(await erasing).toBe(true);
    });
    expect((await moved.rowsIn('b', 'c'))['details']).toEqual([]);
    expect(await moved.hasCopiedDetails(request)).toBe(false);
  });

  test('has no completed approval that is listed as open, at any step of the move', async () => {
    const process = await deployment.start();
    await moved.useAll(process, tenant);
    const open: string[] = [];
    const list = async (point: string): Promise<void> => {
      for (const { end } of await process.tools.effects.listApprovals({ limit: 9 }))
        if (end === undefined) open.push(point);
    };
    await deployment.move(tenant, 'c', moved.beforeEach(list));
    expect(open).toEqual([]);
  });

  test('keeps the copies of its personal data when a suspended carrier continues in the earlier database', async () => {
    const { world } = deployment;
    const request = await moved.pay('paid', NOTED);
    // An erasure makes the carrier compare the copies with the rows.
    const erasure = `INSERT INTO outbox (chain_id, kind, sequence, shard, created_at) VALUES ($1, 'erasure', 9, 0, now())`;
    await databases.query('b', erasure, request.paymentId);
    const { held, release } = suspend('details-parts');
    const { carryJob } = await deployment.start();
    const carrying = finishJob(carryJob(world.store.jobMarks), world.clock.nowMs());
    await held;
    await deployment.move(tenant, 'c');
    release();
    await carrying;
    expect(await moved.hasCopiedDetails(request)).toBe(true);
  });
});

describe('a run of the command that moves a tenant', () => {
  const move = (to?: string) => deployment.move(tenant, to);

  test.each<readonly [reason: string, run: () => Promise<void>, message: RegExp]>([
    ['the tenant is already in the target database', () => move('b'), / is in b already$/],
    ['no move is in progress', () => move(), /^no move of ten_\w+ is in progress$/],
    [
      'the database has another identity',
      async () => {
        await deployment.world.store.database.client.send(deployment.knownAs('c', 1));
        await move('c');
      },
      /^--to-secret or --to-url leads to a different database than the one known as c$/,
    ],
    [
      'the tables differ',
      async () => {
        await databases.query('b', 'ALTER TABLE work ADD COLUMN other text');
        const error = await errorOf(move('c'));
        await databases.query('b', 'ALTER TABLE work DROP COLUMN other');
        throw error;
      },
      /^the tables of the two databases differ: run "payonce db migrate" on both$/,
    ],
    [
      'the Registry was restored to a time before the move',
      async () => {
        await move('c');
        await deployment.change(tenant, 'b');
        await move('c');
      },
      /^the database b cannot be the source of this move: its table tenant_move has the role empty$/,
    ],
    [
      'the copies of a payment are stopped',
      async () => {
        const { paymentId } = await moved.pay('stopped');
        const stopped = `INSERT INTO outbox (chain_id, kind, sequence, shard, created_at, stopped_at)
          VALUES ($1, 'transition', 1, 0, now(), now())`;
        await databases.query('b', stopped, paymentId);
        await move('c');
      },
      /^the copies of pay_\w+ in DynamoDB are stopped: abort the move, and run "payonce tables recover"$/,
    ],
    [
      'the other database has a different transition',
      async () => {
        const columns =
          'chain_id, sequence, occurred_at, tenant_id, mode, status, amount_minor, currency, imbalance_minor';
        const [row] = await databases.query('b', `SELECT ${columns}, body::text FROM transition LIMIT 1`);
        const other = `INSERT INTO transition (${columns}, type, body, prev_hash, hash)
          VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'other', $10::json, '', '')`;
        await databases.query('c', other, ...Object.values(found(row)));
        await move('c');
      },
      /^rows of the two databases differ, for example transition /,
    ],
  ])('is refused if %s, and no row is lost', async (_, run, message) => {
    await moved.pay('paid', NOTED);
    const rows = await moved.rowsIn('b');
    const error = await errorOf(run());
    expect(error).toBeInstanceOf(MoveRefused);
    expect(error).toMatchObject({ message: expect.stringMatching(message) });
    const all = await moved.rowsIn('b', 'c');
    for (const [table, ofTable] of Object.entries(rows))
      expect([table, all[table]]).toEqual([table, expect.arrayContaining([...ofTable])]);
  });

  test('can be aborted before the switch, and can only be finished after the switch', async () => {
    const { world } = deployment;
    await moved.pay('paid', NOTED);
    const rows = [await moved.rowsIn('b'), await moved.rowsIn('c')];
    const stop = new Error('the command was stopped');
    const stopAt = (point: string) =>
      deployment.move(
        tenant,
        'c',
        moved.before(point, () => Promise.reject(stop)),
      );
    await expect(stopAt('c read-used-identity')).rejects.toBe(stop);
    await expect(move('first')).rejects.toThrow('is being moved to c: finish or abort this move first');
    const { tools } = await deployment.start();
    await expect(world.pay(moved.requestOf('later'), tools)).rejects.toMatchObject({ code: 'tenant_moving' });
    await move();
    expect([await moved.rowsIn('b'), await moved.rowsIn('c')]).toEqual(rows);
    world.clock.advance(STATE_VALID_MS);
    expect((await world.answered(moved.requestOf('later'), tools)).kind).toBe('first');

    await expect(stopAt('b move-delete-row-details')).rejects.toBe(stop);
    await expect(move()).rejects.toThrow('is in c already: repeat the command with --to');
    await move('c');
    expect(await moved.rowsWith('b', await moved.idsIn('c'))).toEqual([]);
    expect(await moved.idsIn('c')).toHaveLength(3);
  });
});
