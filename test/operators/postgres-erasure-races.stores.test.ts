import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { storedOperationId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { PostgresApprovals } from '../../lambdas/operators/store/postgres-approvals.ts';
import type { ApprovingStore } from '../../lambdas/operators/use/approving-store.ts';
import { nextOrderTransitions } from '../../lambdas/orders/domain/order-transition.ts';
import { orderOperation, paymentOfOrder } from '../../lambdas/orders/ids.ts';
import { PostgresOrders } from '../../lambdas/orders/store/postgres-orders.ts';
import { PostgresStore } from '../../lambdas/payments/store/postgres-store.ts';
import type { OpenDatabase } from '../../lambdas/postgres/connection.ts';
import { orderRequest } from '../orders/order-fixtures.ts';
import { draftsOf, firstOf } from '../orders/order-store-suite.ts';
import { refundAfter } from '../payments/carried-chain.ts';
import { Copies, effectOf } from '../payments/copies.ts';
import {
  completedRecord,
  openRecord,
  outcomeTransition,
  paymentIdFor,
  pendingTransition,
} from '../payments/payment-fixtures.ts';
import { Administrator, sql } from '../postgres/postgres-fixture.ts';
import { createDatabase, heldBeforeCommit, openTestDatabase } from '../postgres/store-database.ts';
import { requestedAt } from '../support/causes.ts';
import { until } from '../support/until.ts';
import { storesOn } from '../world/postgres-stores.ts';
import { TABLES } from '../world/tables.ts';
import { World } from '../world/world.ts';
import { correctionApproval } from './approving-store-suite.ts';
import { describeErasureRaces } from './erasure-races-suite.ts';

let database: OpenDatabase;
let administrator: Administrator;
beforeAll(async () => {
  const url = await createDatabase();
  database = openTestDatabase(url);
  administrator = await Administrator.connect(url);
});
afterAll(async () => {
  await administrator.end();
  await database.close();
});

/** Tables that can contain texts of a request. */
const TEXTS = ['idempotency', 'transition', 'reference', 'details', 'work', 'orphan', 'approval', 'activity'];

describeErasureRaces('PostgreSQL and its copies', async () => {
  const copies = new Copies(database);
  const world = new World({ store: storesOn(copies.carrying()) });
  return {
    world,
    erase: async (paymentId) => {
      await copies.erase(paymentId);
    },
    everything: async (paymentId) => {
      await copies.poll();
      const rowsOf = (table: string) => `SELECT row_to_json(each)::text AS line FROM ${table} AS each`;
      const all = TEXTS.map(rowsOf).join(' UNION ALL ');
      const rows = await database.run(
        sql(`SELECT line FROM (${all}) AS lines WHERE line LIKE '%' || $1 || '%'`, paymentId),
      );
      return JSON.stringify([rows, Object.values(TABLES).map((table) => copies.tables.items(table))]);
    },
  };
});

test('the commit of an order does not restore details that were erased after the claim', async () => {
  const copies = new Copies(database);
  const orders = new PostgresOrders(copies.tools());
  const { orderId } = orderRequest('erased');
  const first = firstOf(orderId);
  const record = openRecord(paymentOfOrder(systemDigest, orderId), { operationId: orderOperation(orderId) });
  await orders.claimOrder({ record, first });
  await database.run(sql('DELETE FROM details WHERE chain_id = $1', orderId));
  const transitions = nextOrderTransitions(systemDigest, first, draftsOf(first), requestedAt(first.occurredAtMs + 5));
  const completed = completedRecord(record.paymentId, { operationId: record.operationId });
  const commit = { record: completed, expects: 'open', transitions } as const;
  expect(await orders.commitOrder(commit)).toEqual({ kind: 'committed' });
  expect(await database.run(sql('SELECT part FROM details WHERE chain_id = $1', orderId))).toEqual([]);
});

test('an erasure waits for an approval that copies the reason, and then erases the copy, too', async () => {
  const copies = new Copies(database);
  const payments = new PostgresStore(copies.tools());
  const paymentId = paymentIdFor('erased-approval');
  const pending = pendingTransition(paymentId);
  const paid = outcomeTransition(pending, { kind: 'succeeded', chargeId: 'ch_1' });
  await copies.write(pending, paid);
  const approval = correctionApproval(paymentId, storedOperationId('cor_erased'));
  const effects: ApprovingStore = new PostgresApprovals(copies.tools(), payments);
  await effects.recordEffect({ ...effectOf([paid]), transitions: [], approval });

  const [written, released] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
  const held = heldBeforeCommit(database, async () => {
    written.resolve(undefined);
    await released.promise;
  });
  const slow: ApprovingStore = new PostgresApprovals(copies.tools(held), payments);
  const approving = slow.recordEffect({
    ...effectOf([refundAfter(paid)]),
    ended: { approval, end: { verdict: 'approved', by: approval.askedBy, atMs: 1 } },
  });
  await written.promise;
  let hasEnded = false;
  const erasing = copies.erase(paymentId).finally(() => {
    hasEnded = true;
  });
  const waiting = `SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%DELETE FROM details%'`;
  await until(async () => hasEnded || (await administrator.query(waiting)).length > 0 || undefined);
  released.resolve(undefined);
  expect(await approving).toEqual({ kind: 'recorded' });
  expect(await erasing).toBe(true);
  expect(await database.run(sql('SELECT part FROM details WHERE chain_id = $1', paymentId))).toEqual([]);
});
