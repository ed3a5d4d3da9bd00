import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { AmbiguousError } from '../../lambdas/kernel/faults.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { nextOrderTransitions, type OrderTransition } from '../../lambdas/orders/domain/order-transition.ts';
import { orderOperation } from '../../lambdas/orders/ids.ts';
import { PostgresOrders } from '../../lambdas/orders/store/postgres-orders.ts';
import { PostgresEffects } from '../../lambdas/payments/store/postgres-effects.ts';
import { PostgresStore } from '../../lambdas/payments/store/postgres-store.ts';
import type { OpenDatabase } from '../../lambdas/postgres/connection.ts';
import type { Database } from '../../lambdas/postgres/database.ts';
import { PostgresUnfinishedWork } from '../../lambdas/resolving/store/postgres-unfinished.ts';
import { completedRecord, openRecord } from '../payments/payment-fixtures.ts';
import { describeOnPostgres } from '../postgres/describe-on-postgres.ts';
import { sql } from '../postgres/postgres-fixture.ts';
import { createDatabase, openTestDatabase, toolsOn } from '../postgres/store-database.ts';
import { requestedAt } from '../support/causes.ts';
import { orderRequest } from './order-fixtures.ts';
import { describeOrderStore, firstOf } from './order-store-suite.ts';

describeOnPostgres((toolsOf) => {
  describeOrderStore('postgres', async () => {
    const payments = new PostgresStore(toolsOf());
    return {
      payments,
      effects: new PostgresEffects(toolsOf(), payments),
      orders: new PostgresOrders(toolsOf()),
      work: new PostgresUnfinishedWork(toolsOf()),
    };
  });
});

describe('an order on PostgreSQL', () => {
  let database: OpenDatabase;
  let made = 0;
  let first: OrderTransition;
  beforeAll(async () => {
    database = openTestDatabase(await createDatabase());
  });
  afterAll(() => database.close());
  beforeEach(() => {
    made += 1;
    first = firstOf(orderRequest(`order-${made}`).orderId);
  });

  const record = () => ({ operationId: orderOperation(first.order.id) });
  const open = () => openRecord(first.order.paymentId, record());
  const page = { afterSequence: 0, limit: 9 };
  const next = (atMs: number, newest = first) =>
    nextOrderTransitions(
      systemDigest,
      newest,
      [{ type: 'reservation.pending', order: newest.order }],
      requestedAt(atMs),
    );
  /** Does not apply the first append: it runs `before` instead, and reports a lost response. */
  const losing = (before: () => Promise<unknown>): Database => {
    let isFirst = true;
    return {
      run: async (statement) => {
        if (statement.name !== 'chain-append' || !isFirst) return database.run(statement);
        isFirst = false;
        await before();
        throw new AmbiguousError('store_ambiguous', 'the response was lost');
      },
      transaction: (work) => database.transaction(work),
    };
  };

  test('gets no second transition from a retried append if a rival appended while the first response was lost', async () => {
    const orders = new PostgresOrders(toolsOn(database));
    await orders.claimOrder({ record: open(), first });
    const rival = next(first.occurredAtMs + 1);
    const racing = new PostgresOrders(toolsOn(losing(() => orders.appendToOrder({ transitions: rival }))));
    const own = next(first.occurredAtMs + 2);
    expect(await racing.appendToOrder({ transitions: own })).toEqual({ kind: 'transition_exists' });
    expect(await orders.listOrderTransitions(first.order.id, page)).toEqual([first, ...rival]);
  });

  test('is queued in the outbox by its claim; `committed` is called once for each later write that adds transitions', async () => {
    const reported: string[] = [];
    const committed = async (id: string): Promise<void> => void reported.push(id);
    const orders = new PostgresOrders({ ...toolsOn(database), committed });
    const { id } = first.order;
    await orders.claimOrder({ record: open(), first });
    expect(reported).toEqual([]);
    const second = next(first.occurredAtMs + 1);
    await orders.commitOrder({
      record: completedRecord(first.order.paymentId, record()),
      expects: 'open',
      transitions: second,
    });
    const third = next(first.occurredAtMs + 2, second[0]);
    await orders.appendToOrder({ transitions: third });
    await orders.appendToOrder({ transitions: third });
    expect(reported).toEqual([id, id]);
    const waiting = await database.run(
      sql('SELECT kind, sequence FROM outbox WHERE chain_id = $1 ORDER BY sequence', id),
    );
    expect(waiting).toEqual([1, 2, 3].map((sequence) => ({ kind: 'transition', sequence })));
  });

  test('stores its e-mail address and the hash of the address outside its chain, and is shown as erased without them', async () => {
    const withHash = { ...first, first: { ...first.first, emailHash: 'hash-of-email' } } as OrderTransition;
    const orders = new PostgresOrders(toolsOn(database));
    await orders.claimOrder({ record: open(), first: withHash });
    const { id } = first.order;
    const details = await database.run(sql('SELECT part, details, email_hash FROM details WHERE chain_id = $1', id));
    expect(details).toMatchObject([
      { part: 'DETAILS', details: { email: first.first?.email }, email_hash: 'hash-of-email' },
    ]);
    const [row] = await database.run(
      sql('SELECT body::text, tenant_id, status FROM transition WHERE chain_id = $1', id),
    );
    expect(row?.['body']).not.toContain(first.first?.email);
    expect(row).toMatchObject({ tenant_id: first.order.tenantId, status: first.order.status });
    await database.run(sql('DELETE FROM details WHERE chain_id = $1', id));
    const [erased] = await orders.listOrderTransitions(id, page);
    expect(erased?.first).toMatchObject({ detailsErased: true });
    expect(erased?.first).not.toHaveProperty('email');
  });
});
