/** Four PostgreSQL databases, on which each test creates a new deployment. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { STATE_VALID_MS } from '../../lambdas/authority/contract.ts';
import { callbackOperation } from '../../lambdas/callbacks/ids.ts';
import { NotBegunError, RetryableError } from '../../lambdas/kernel/faults.ts';
import { fingerprintOf } from '../../lambdas/kernel/fingerprint.ts';
import { ownerToken, type PaymentId, storedOperationId, type TenantId, tenantId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import type { ApprovalRules } from '../../lambdas/operators/domain/approval.ts';
import type { ApprovingStore } from '../../lambdas/operators/use/approving-store.ts';
import { correctLedger } from '../../lambdas/operators/use/correct-ledger.ts';
import type { QueueEntry, QueuePosition } from '../../lambdas/operators/use/queue-lists.ts';
import { readKeyRecord } from '../../lambdas/operators/use/read-key-record.ts';
import { chargeOperation } from '../../lambdas/payments/ids.ts';
import type { CreatePayment } from '../../lambdas/payments/use/create-payment.ts';
import type { PaymentStore } from '../../lambdas/payments/use/payment-store.ts';
import { readIdentity } from '../../lambdas/postgres/identity.ts';
import { databaseOfNewTenant } from '../../lambdas/tenants/store/tenant-administration.ts';
import { finishJob } from '../jobs/finish-job.ts';
import { describeApprovingStore } from '../operators/approving-store-suite.ts';
import { orderRequest } from '../orders/order-fixtures.ts';
import { describeEffectStore } from '../payments/effect-store-suite.ts';
import { callback, change, paymentIdFor, paymentRequest } from '../payments/payment-fixtures.ts';
import { describePaymentStore } from '../payments/payment-store-suite.ts';
import { describeUnfinishedWork } from '../resolving/unfinished-work-suite.ts';
import { BY_OPERATOR, OPERATOR } from '../support/causes.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { ALL_DUE } from '../support/due.ts';
import { whole } from '../support/slice.ts';
import { FourDatabases, NAMES, ShardedDeployment } from './four-databases.ts';

let databases: FourDatabases;
let deployment: ShardedDeployment;
beforeAll(async () => {
  databases = await FourDatabases.create();
});
afterAll(() => databases.close());
beforeEach(() => {
  deployment = new ShardedDeployment(databases);
});

/** The tenant of the fixtures is not in the first database. */
async function startWithFixture() {
  await deployment.createTenant('ten_fixture');
  expect(await deployment.shardOf(tenantId('ten_fixture'))).not.toBe('first');
  return deployment.start();
}

describe('on four databases', () => {
  describePaymentStore('sharded', async () => ({
    store: (await startWithFixture()).store,
    deleteRecord: async (paymentId) => {
      const text = 'DELETE FROM idempotency WHERE operation_id = $1';
      for (const name of NAMES) await databases.query(name, text, chargeOperation(paymentId));
    },
  }));

  describeEffectStore('sharded', async () => {
    const { store, effects } = await startWithFixture();
    return { payments: store, effects: effects() };
  });

  describeApprovingStore('sharded', async () => {
    const { store, approvals, activity } = await startWithFixture();
    for (const name of NAMES) await databases.query(name, 'DELETE FROM approval');
    return {
      payments: store,
      effects: approvals,
      activity,
      erase: async (paymentId) => {
        for (const name of NAMES) await databases.query(name, 'DELETE FROM details WHERE chain_id = $1', paymentId);
      },
    };
  });

  describeUnfinishedWork('sharded', async () => {
    const { tools } = await startWithFixture();
    return { ...tools, payments: tools.store };
  });
});

describe('the tenants of a deployment', () => {
  let tenants: ReadonlyMap<string, TenantId>;
  beforeEach(async () => {
    await databases.empty();
    tenants = await deployment.tenants('t');
  });

  const requestOf = (tenant: TenantId, key: string, changes: Partial<CreatePayment> = {}): CreatePayment =>
    paymentRequest(key, { tenantId: tenant, paymentId: paymentIdFor(key, tenant), ...changes });
  const each = async (work: (tenant: TenantId, shard: string) => Promise<unknown>): Promise<void> => {
    for (const [shard, tenant] of tenants) await work(tenant, shard);
  };
  const countIn = async (shard: string, table: string): Promise<number> =>
    Number((await databases.query(shard, `SELECT count(*) AS rows FROM ${table}`))[0]?.['rows']);

  test('have databases whose identities the copy job records after the first payment', async () => {
    const { carryJob, tools } = await deployment.start();
    const identities = () => Promise.all(NAMES.map((name) => deployment.known(name).read()));
    const run = () => finishJob(carryJob(deployment.world.store.jobMarks), deployment.world.clock.nowMs());
    await run();
    expect(await identities()).toEqual(NAMES.map(() => undefined));
    await each((tenant) => deployment.world.pay(requestOf(tenant, 'k'), tools));
    await run();
    expect(await identities()).toEqual(await Promise.all(NAMES.map((name) => readIdentity(databases.database(name)))));
  });

  test('are spread evenly over the databases, and stay in the database that their row names', async () => {
    const counts = new Map<string, number>();
    for (let number = 0; number < 4_000; number += 1) {
      const shard = databaseOfNewTenant(tenantId(`ten_${number}`), NAMES) ?? '';
      counts.set(shard, (counts.get(shard) ?? 0) + 1);
    }
    for (const name of NAMES) expect(counts.get(name)).toBeGreaterThan(900);
    await each(async (tenant, shard) => expect(await deployment.shardOf(tenant)).toBe(shard));
  });

  test('have all their rows in one database, and no statement there contains the id of another tenant', async () => {
    const { world } = deployment;
    const { tools } = await deployment.start();
    const payments: (readonly [shard: string, id: PaymentId])[] = [];
    await each(async (tenant, shard) => {
      const paid = requestOf(tenant, 'paid', { reference: 'order-1' });
      expect((await world.answered(paid, tools)).status).toBe(201);
      expect(await world.change(change(paid, 'r', { kind: 'refund', amountMinor: 400 }), tools)).toMatchObject({
        kind: 'first',
      });
      const held = requestOf(tenant, 'held', { capture: 'manual' });
      await world.answered(held, tools);
      const pending = requestOf(tenant, 'unknown', { source: 'tok_timeout_charged' });
      await world.pay(pending, tools);
      const { orderId } = orderRequest(`order-${tenant}`);
      await world.order({ ...orderRequest('order'), orderId, tenantId: tenant }, tools);
      payments.push([shard, paid.paymentId], [shard, held.paymentId], [shard, pending.paymentId]);
    });
    await world.resolveFor(whole(40, { slice: 8 }), tools);
    for (const [shard, id] of payments) {
      const found = await Promise.all(
        NAMES.map(async (name) => databases.query(name, 'SELECT 1 AS found FROM transition WHERE chain_id = $1', id)),
      );
      expect(NAMES.filter((_, index) => found[index]?.length !== 0)).toEqual([shard]);
    }
    const ids = [...tenants.values()].toSorted();
    for (const [shard, tenant] of tenants) {
      for (const table of ['transition', 'posting', 'reference']) {
        const rows = await databases.query(shard, `SELECT DISTINCT tenant_id FROM ${table}`);
        expect([table, rows]).toEqual([table, [{ tenant_id: tenant }]]);
      }
      for (const table of ['idempotency', 'details', 'work', 'outbox']) {
        const column = table === 'idempotency' ? 'operation_id' : 'chain_id';
        const rows = await databases.query(
          shard,
          `SELECT ${column} AS id FROM ${table} WHERE ${column} NOT IN (SELECT chain_id FROM transition)
            AND NOT EXISTS (SELECT 1 FROM transition WHERE body::text LIKE '%' || ${column} || '%')`,
        );
        expect([table, rows.filter(({ id }) => !String(id).startsWith('inq_'))]).toEqual([table, []]);
      }
      // No statement in the database of a tenant contains the id of another tenant.
      for (const { statement } of deployment.begun.filter((begun) => begun.shard === shard)) {
        const text = JSON.stringify(statement.values);
        expect(ids.filter((id) => text.includes(`"${id}`) && id !== tenant)).toEqual([]);
      }
    }
  });

  test('get one effect per key, even if different processes receive concurrent duplicates', async () => {
    const { world } = deployment;
    await each(async (tenant) => {
      const request = requestOf(tenant, 'doubled');
      const processes = await Promise.all(Array.from({ length: 8 }, () => deployment.start()));
      const outcomes = await Promise.all(processes.map(({ tools }) => world.pay(request, tools)));
      expect(outcomes.filter(({ kind }) => kind === 'first')).toHaveLength(1);
      expect(world.processor.charges(request.paymentId)).toHaveLength(1);
      const { chargeId = '' } = world.processor.charges(request.paymentId)[0] ?? {};
      const received = await Promise.all(
        processes.map(({ tools }) => world.deliver(callback(`evt-${tenant}`, chargeId), tools)),
      );
      expect(received.filter(({ kind }) => kind === 'recorded')).toHaveLength(1);
    });
  });

  test('get their payments completed by the resolver after the process crashed, with one charge per payment', async () => {
    const { world } = deployment;
    await each(async (tenant) => deployment.crash(await deployment.start(), requestOf(tenant, 'crashed')));
    await world.resolveFor(3, (await deployment.start()).tools);
    await each(async (tenant) => {
      const request = requestOf(tenant, 'crashed');
      expect((await world.answered(request, (await deployment.start()).tools)).status).toBe(201);
      expect(world.processor.charges(request.paymentId)).toHaveLength(1);
    });
  });

  test('adopt, in their own database, a callback that waits as an orphan in the first database', async () => {
    const { world } = deployment;
    const { tools, effects } = await deployment.start();
    await each(async (tenant, shard) => {
      const event = callback(`evt-${shard}`, `ch_${shard}`);
      const operationId = callbackOperation(systemDigest, 'memory', event.eventId);
      const orphan = { operationId, event, reason: 'payment_unknown' as const, receivedAtMs: 0 };
      const record = { operationId, owner: ownerToken('owner'), recordedAtMs: 0 };
      await effects().recordEffect({ record, transitions: [], orphan });
      expect(await countIn('first', 'orphan')).toBe(1);
      const paid = requestOf(tenant, 'late');
      await world.answered(paid, tools);
      const adoption = { ...record, operationId: callbackOperation(systemDigest, 'adopted', event.eventId) };
      const adopted = { record: { ...adoption, paymentId: paid.paymentId }, transitions: [], adopted: orphan };
      expect(await effects().recordEffect(adopted)).toEqual({ kind: 'recorded' });
      expect(await effects().waiting('own', ALL_DUE)).toEqual([]);
      expect(await countIn(shard, 'idempotency')).toBeGreaterThan(1);
    });
  });

  test('have their holds listed and counted together in the operators’ queue', async () => {
    const { world } = deployment;
    const { tools, queues } = await deployment.start();
    const held = new Set<string>();
    await each(async (tenant) => {
      for (const key of ['a', 'b', 'c']) {
        const request = requestOf(tenant, key, { capture: 'manual' });
        await world.answered(request, tools);
        held.add(request.paymentId);
        world.clock.advance(1_000);
      }
    });
    const entries: QueueEntry[] = [];
    for (let after: QueuePosition | undefined; ; ) {
      const page = await queues.page('holds', { limit: 5, ...(after === undefined ? {} : { after }) });
      entries.push(...page.map(({ entry }) => entry));
      after = page.at(-1)?.place;
      if (page.length < 5) break;
    }
    expect(entries).toHaveLength(held.size);
    expect(new Set(entries.map(({ about }) => about))).toEqual(held);
    const oldestMs = Math.min(...entries.map(({ sinceMs = 0 }) => sinceMs));
    expect(await queues.summary('holds')).toEqual({ waiting: held.size, hasMore: false, oldestMs });
  });

  test('can pay while the database of another tenant is unavailable', async () => {
    const { world } = deployment;
    const { tools, queues } = await deployment.start();
    await each(async (tenant) => deployment.crash(await deployment.start(), requestOf(tenant, 'before')));
    await each((tenant) => world.pay(requestOf(tenant, 'paid'), tools));
    deployment.away.set('c', new RetryableError('database_unavailable', 'away'));
    world.clock.advance(30 * 60_000);
    expect(await tools.work.staleClaims(ALL_DUE)).toHaveLength(NAMES.length - 1);
    await each(async (tenant, shard) => {
      const later = world.pay(requestOf(tenant, 'later'), tools);
      if (shard === 'c') await expect(later).rejects.toBeInstanceOf(RetryableError);
      else expect((await later).kind).toBe('first');
      const { paymentId } = requestOf(tenant, 'before');
      const read = (await deployment.start()).store.readPayment(paymentId);
      if (shard === 'c') await expect(read).rejects.toBeInstanceOf(RetryableError);
      else expect(await read).toBeDefined();
      const { chargeId = '' } = world.processor.charges(requestOf(tenant, 'paid').paymentId)[0] ?? {};
      const delivered = world.deliver(callback(`evt-${shard}`, chargeId), tools);
      if (shard === 'c') await expect(delivered).rejects.toBeInstanceOf(RetryableError);
      else expect(await delivered).toMatchObject({ kind: 'recorded' });
    });
    // The summary fails, because a partial summary would look complete to an operator.
    await expect(queues.summary('claims')).rejects.toBeInstanceOf(RetryableError);
  });

  test('have their callbacks recorded while the database of another tenant does not respond', async () => {
    const { world } = deployment;
    const { tools } = await deployment.start();
    await each((tenant) => world.pay(requestOf(tenant, 'paid'), tools));
    deployment.silent.add('c');
    await each(async (tenant, shard) => {
      if (shard === 'c') return;
      const { chargeId = '' } = world.processor.charges(requestOf(tenant, 'paid').paymentId)[0] ?? {};
      const delivered = await world.deliver(callback(`evt-${shard}`, chargeId), tools);
      expect(delivered).toMatchObject({ kind: 'recorded' });
    });
    expect(await tools.work.routineInquiries(ALL_DUE)).toEqual([]);
  });

  const AWAY = new RetryableError('database_unavailable', 'away');
  const CORRECTION = storedOperationId(`cor_${'a'.repeat(32)}`);
  const entropy = countingEntropy();
  const paidIn = async (shard: string, tools: { readonly store: PaymentStore }): Promise<PaymentId> => {
    const tenant = tenants.get(shard);
    invariant(tenant !== undefined, `no tenant is in ${shard}`);
    const request = requestOf(tenant, 'corrected');
    await deployment.world.answered(request, tools);
    return request.paymentId;
  };
  /** The operator uses the same idempotency key for each payment. */
  const correct = (payment: PaymentId, effects: ApprovingStore, approvals?: ApprovalRules) => {
    const reversal = { kind: 'reverse', sequence: 2 } as const;
    return correctLedger(
      { effects, approvals, runner: idempotentRunner, clock: deployment.world.clock, entropy, digest: systemDigest },
      {
        cause: BY_OPERATOR,
        operationId: CORRECTION,
        fingerprint: fingerprintOf(systemDigest, { body: { payment, ...reversal }, query: {} }),
        payment,
        reason: 'Booked twice',
        by: OPERATOR,
        asked: { kind: 'correction', change: reversal },
      },
    );
  };

  test.each([
    ['first', 'b'],
    ['b', 'first'],
    ['b', 'c'],
  ])(
    'get one correction for one key, although the requests with this key concern payments in the databases %s and %s',
    async (one, other) => {
      const { tools } = await deployment.start();
      const [payment, rivals] = [await paidIn(one, tools), await paidIn(other, tools)];
      let rival: Awaited<ReturnType<typeof correct>> | undefined;
      const late = await correct(payment, {
        ...tools.effects,
        // The rival writes its correction after this request has looked for a record and found none.
        recordEffect: async (effect) => {
          rival ??= await correct(rivals, (await deployment.start()).tools.effects);
          return tools.effects.recordEffect(effect);
        },
      });
      expect([rival?.kind, late.kind]).toEqual(['first', 'payload_mismatch']);
      expect(await correct(rivals, tools.effects)).toMatchObject({ kind: 'replay' });
      expect(await correct(payment, tools.effects)).toMatchObject({ kind: 'payload_mismatch' });
    },
  );

  test('get no second correction for a key while the database of the first correction, or of its approval, is unavailable', async () => {
    const { tools } = await deployment.start();
    const [inB, inC] = [await paidIn('b', tools), await paidIn('c', tools)];
    const rules = { aboveMinor: { EUR: 0 }, lifetimeMs: 60_000 };
    expect(await correct(inB, tools.effects, rules)).toMatchObject({ kind: 'first', answer: { status: 202 } });
    deployment.away.set('b', AWAY);
    expect(await correct(inC, tools.effects)).toEqual({ kind: 'payload_mismatch' });
    deployment.away.set('first', AWAY);
    await expect(correct(inC, tools.effects)).rejects.toBeInstanceOf(RetryableError);
  });

  test('get a correction once after a crash, but its key is not accepted for another payment', async () => {
    const { tools } = await deployment.start();
    const [inB, inC] = [await paidIn('b', tools), await paidIn('c', tools)];
    const crashing: ApprovingStore = {
      ...tools.effects,
      recordEffect: (effect) => {
        deployment.away.set('b', AWAY);
        return tools.effects.recordEffect(effect);
      },
    };
    await expect(correct(inB, crashing)).rejects.toBeInstanceOf(RetryableError);
    deployment.away.clear();
    expect(await correct(inC, tools.effects)).toEqual({ kind: 'payload_mismatch' });
    expect((await correct(inB, tools.effects)).kind).toBe('first');
    expect((await correct(inB, tools.effects)).kind).toBe('replay');
  });

  test('can get corrections while the database of another tenant is unavailable', async () => {
    const { tools } = await deployment.start();
    const inB = await paidIn('b', tools);
    deployment.away.set('c', AWAY);
    expect((await correct(inB, tools.effects)).kind).toBe('first');
  });

  test('never have a record reported as missing while its database is unavailable', async () => {
    const { tools, store, effectRecords } = await deployment.start();
    expect((await correct(await paidIn('b', tools), tools.effects)).kind).toBe('first');
    const read = () =>
      readKeyRecord(
        { records: store, effects: effectRecords, chains: store, digest: systemDigest },
        CORRECTION,
        deployment.world.clock.nowMs(),
      );
    deployment.away.set('c', AWAY);
    expect(await read()).toMatchObject({ operationId: CORRECTION, state: 'completed' });
    deployment.away.set('b', AWAY);
    await expect(read()).rejects.toBeInstanceOf(RetryableError);
  });

  test('get an error instead of a payment if their row is missing, or names a database that is unknown or lacks the payment', async () => {
    const { world } = deployment;
    const known = tenants.get('b');
    invariant(known !== undefined, 'no tenant is in b');
    const { tools } = await deployment.start();
    await world.answered(requestOf(known, 'paid'), tools);

    const place = async (shard: string) => {
      await deployment.change(known, shard);
      world.clock.advance(STATE_VALID_MS);
    };
    const missing = world.pay(requestOf(tenantId('ten_missing'), 'k'), tools);
    await expect(missing).rejects.toMatchObject({ code: 'tenant_missing' });
    await place('e');
    await expect(world.pay(requestOf(known, 'k'), tools)).rejects.toMatchObject({ code: 'shard_unknown' });
    await place('c');
    const { paymentId } = requestOf(known, 'paid');
    for (const process of [tools.store, (await deployment.start()).store]) {
      await expect(process.readPayment(paymentId)).rejects.toBeInstanceOf(NotBegunError);
      await expect(process.readPayment(paymentId)).rejects.toMatchObject({ code: 'shard_differs' });
    }
    await place('b');
    expect(await tools.store.readPayment(paymentId)).toBeDefined();
  });
});
