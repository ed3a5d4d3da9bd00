/** Tests the recovery of PostgreSQL from the Ledger after PostgreSQL was restored to an earlier point in time. */
import { isDeepStrictEqual } from 'node:util';
import { UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { recoverPostgres } from '../../lambdas/authority/recover-postgres.ts';
import { KeyAttribute } from '../../lambdas/kernel/contract/tables.ts';
import type { PaymentId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { nextOrderTransitions } from '../../lambdas/orders/domain/order-transition.ts';
import { orderPartition } from '../../lambdas/orders/store/order-items.ts';
import { ORDER_CHAIN, PostgresOrders } from '../../lambdas/orders/store/postgres-orders.ts';
import type { ChainId } from '../../lambdas/payments/ids.ts';
import { paymentPartition, transitionSort } from '../../lambdas/payments/store/items.ts';
import { LedgerCarrier, PAYMENT_CHAIN } from '../../lambdas/payments/store/postgres-carrier.ts';
import { PostgresStore } from '../../lambdas/payments/store/postgres-store.ts';
import type { Runner } from '../../lambdas/postgres/database.ts';
import { PostgresUnfinishedWork } from '../../lambdas/resolving/store/postgres-unfinished.ts';
import { orderRequest } from '../orders/order-fixtures.ts';
import { draftsOf, firstOf } from '../orders/order-store-suite.ts';
import { chainOfAllKinds, firstWithNotes, refundAfter } from '../payments/carried-chain.ts';
import { Copies } from '../payments/copies.ts';
import { openRecord, outcomeTransition, paymentIdFor, pendingTransition } from '../payments/payment-fixtures.ts';
import { sql } from '../postgres/postgres-fixture.ts';
import {
  createDatabase,
  databaseOf,
  ERRORS,
  openTestDatabase,
  type StoreDatabase,
} from '../postgres/store-database.ts';
import { requestedAt } from '../support/causes.ts';
import { ALL_DUE } from '../support/due.ts';
import { beforeEachCall, type HistoryRun, surveyFaults } from '../support/fault-histories.ts';
import { Actor, FaultPlan, type PlannedFault } from '../support/fault-plan.ts';
import { SDK_ERRORS } from '../support/faulty-client.ts';
import { sliceOf } from '../support/slice.ts';
import { TABLES } from '../world/tables.ts';

let database: StoreDatabase;
let copies: Copies;
beforeAll(async () => {
  database = openTestDatabase(await createDatabase());
});
afterAll(() => database.close());
beforeEach(async () => {
  copies = new Copies(database);
  for (const table of ['outbox', 'work']) await database.run(sql(`DELETE FROM ${table}`));
});

let made = 0;
function newId(): PaymentId {
  made += 1;
  return paymentIdFor(`recovered-${made}`);
}

function recover(of = copies, tools: Partial<Parameters<typeof recoverPostgres>[0]> = {}) {
  const all = { ...of.tools(), client: of.tables.client, tables: TABLES, ...tools };
  return recoverPostgres(all, 2, () => undefined);
}

/** A restore to an earlier point in time has this effect. */
async function restoreTo(id: ChainId, sequence: number): Promise<void> {
  for (const table of ['transition', 'posting', 'details', 'outbox'])
    await database.owner.run(sql(`DELETE FROM ${table} WHERE chain_id = $1 AND sequence > $2`, id, sequence));
}

async function rowsOf(id: ChainId) {
  const read = (table: string, order: string) =>
    database.run(sql(`SELECT * FROM ${table} WHERE chain_id = $1 ORDER BY ${order}`, id));
  return {
    transitions: await read('transition', 'sequence'),
    postings: await read('posting', 'sequence, leg'),
    details: await read('details', 'part'),
  };
}

const ledgerOf = (of = copies) => of.tables.items(TABLES.ledger);
const NOTHING_LEFT = { stopped: [], erased: [], broken: [], unreadable: [] };

describe('a restored database', () => {
  test('receives each transition that only the Ledger has, with postings and personal data, for any restore point', async () => {
    const chain = chainOfAllKinds(newId());
    const id = chain[0]?.payment.id;
    invariant(id !== undefined, 'the chain is empty');
    await copies.write(...chain);
    await copies.poll();
    const [expected, ledger] = [await rowsOf(id), ledgerOf()];
    expect(expected.details.length).toBeGreaterThan(6);
    for (const moment of [0, 1, Math.floor(chain.length / 2), chain.length - 1, chain.length]) {
      await restoreTo(id, moment);
      const appended = chain.length - moment;
      expect(await recover()).toMatchObject({ ...NOTHING_LEFT, read: 1, recovered: Math.min(1, appended), appended });
      expect(await rowsOf(id)).toEqual(expected);
      expect(await copies.carrier().carry(id)).toBe('carried');
      expect(await copies.outbox(id)).toEqual([]);
    }
    expect(copies.stops).toEqual([]);
    expect(ledgerOf()).toEqual(ledger);
  });

  test('receives only the payments of its own tenants in a deployment with several databases', async () => {
    const chain = chainOfAllKinds(newId());
    const [first] = chain;
    invariant(first !== undefined, 'the chain is empty');
    const { id, tenantId } = first.payment;
    await copies.write(...chain);
    await copies.poll();
    await restoreTo(id, 1);
    const seen: string[] = [];
    const owns = (answer: boolean) => async (tenant: string) => {
      seen.push(tenant);
      return answer;
    };
    expect(await recover(copies, { owns: owns(false) })).toMatchObject({ ...NOTHING_LEFT, read: 0, appended: 0 });
    expect((await rowsOf(id)).transitions).toHaveLength(1);
    expect(await database.run(sql('SELECT 1 FROM work'))).toEqual([]);
    expect(await recover(copies, { owns: owns(true) })).toMatchObject({ read: 1, appended: chain.length - 1 });
    expect(new Set(seen)).toEqual(new Set([tenantId]));
  });

  test('receives an order with its contacts, and an entry in the order queue', async () => {
    const { orderId } = orderRequest(`recovered-${process.pid}`);
    const first = firstOf(orderId);
    const more = nextOrderTransitions(systemDigest, first, draftsOf(first), requestedAt(first.occurredAtMs + 5));
    await new PostgresOrders(copies.tools()).appendToOrder({ transitions: [first, ...more] });
    const carrier = new LedgerCarrier({
      ...copies.tools(),
      client: copies.tables.client,
      tables: TABLES,
      chains: [PAYMENT_CHAIN, ORDER_CHAIN],
      observer: copies,
    });
    await carrier.carry(orderId);
    expect(copies.tables.items(TABLES.ledger, orderPartition(orderId))).toHaveLength(1 + more.length);
    const expected = await rowsOf(orderId);
    await restoreTo(orderId, 0);
    expect(await recover()).toMatchObject({ ...NOTHING_LEFT, appended: 1 + more.length, missing: { open_order: 1 } });
    expect(await rowsOf(orderId)).toEqual(expected);
    expect(await carrier.carry(orderId)).toBe('carried');
    expect(await new PostgresOrders(copies.tools()).openOrders(ALL_DUE)).toMatchObject([{ orderId }]);
  });

  test('keeps a transition that was not yet copied to the Ledger', async () => {
    const id = newId();
    const pending = pendingTransition(id);
    await copies.write(pending);
    await copies.poll();
    await copies.write(outcomeTransition(pending, { kind: 'succeeded', chargeId: 'ch_1' }));
    const expected = await rowsOf(id);
    expect(await recover()).toMatchObject({ ...NOTHING_LEFT, appended: 0 });
    expect(await rowsOf(id)).toEqual(expected);
    await copies.poll();
    expect(copies.copied(id)).toEqual([1, 2]);
  });
});

describe('a recovered chain', () => {
  test('gets its reference back, and an inquiry if the payment is open', async () => {
    const id = newId();
    const reference = `invoice-${id}`;
    const pending = pendingTransition(id, reference);
    const name = { tenantId: pending.payment.tenantId, mode: pending.payment.mode, reference };
    const store = new PostgresStore(copies.tools());
    await store.claim({ record: openRecord(id), pending, reference: { name } });
    await copies.poll();
    await restoreTo(id, 0);
    for (const table of ['idempotency', 'reference'])
      await database.run(sql(`DELETE FROM ${table} WHERE payment_id = $1`, id));

    expect(await recover()).toMatchObject({ appended: 1, missing: { inquiry: 1, reference: 1 } });
    const due = await new PostgresUnfinishedWork(copies.tools()).unknownOutcomes(ALL_DUE);
    expect(due).toMatchObject([{ paymentId: id, operationId: id }]);
    const rival = pendingTransition(newId(), reference);
    const claim = { record: openRecord(rival.payment.id), pending: rival, reference: { name } };
    expect(await store.claim(claim)).toEqual({ kind: 'reference_taken', paymentId: id });
    expect(await recover()).toMatchObject({ appended: 0, missing: { inquiry: 0, reference: 0 } });
  });

  test('takes its reference back from a failed payment, but not from an open payment', async () => {
    const reference = `invoice-${newId()}`;
    const [failed, open] = [pendingTransition(newId(), reference), pendingTransition(newId(), reference)];
    const failure = { code: 'declined', message: 'no' };
    await copies.write(failed, outcomeTransition(failed, { kind: 'declined', failure }));
    await copies.write(open);
    await copies.poll();
    await restoreTo(failed.payment.id, 1);
    await restoreTo(open.payment.id, 0);
    const { tenantId, mode } = failed.payment;
    const hold = (id: PaymentId) => {
      const values = [tenantId, mode, reference, id];
      return database.run(
        sql(
          `INSERT INTO reference VALUES ($1, $2, $3, $4)
          ON CONFLICT (tenant_id, mode, reference) DO UPDATE SET payment_id = EXCLUDED.payment_id`,
          ...values,
        ),
      );
    };
    const holder = async () =>
      (await database.run(sql('SELECT payment_id FROM reference WHERE reference = $1', reference)))[0];
    await hold(failed.payment.id);
    expect(await recover()).toMatchObject({ appended: 2, missing: { reference: 1 } });
    expect(await holder()).toEqual({ payment_id: open.payment.id });

    const other = pendingTransition(newId());
    await copies.write(other);
    await hold(other.payment.id);
    expect(await recover()).toMatchObject({ missing: { reference: 0 } });
    expect(await holder()).toEqual({ payment_id: other.payment.id });
  });
});

describe('a chain that cannot be recovered completely', () => {
  async function restored(moment: number) {
    const id = newId();
    const pending = pendingTransition(id);
    const paid = outcomeTransition(pending, { kind: 'succeeded', chargeId: 'ch_1' });
    await copies.write(pending, paid, refundAfter(paid));
    await copies.poll();
    await restoreTo(id, moment);
    return { id, pending, paid };
  }

  test('is reported if it continued differently in PostgreSQL; neither database is changed', async () => {
    const { id, pending } = await restored(1);
    await copies.write(outcomeTransition(pending, { kind: 'succeeded', chargeId: 'ch_2' }));
    const [own, ledger] = [await rowsOf(id), ledgerOf()];
    const stopped = [{ chainId: id, sequence: 2, because: 'differs' }];
    expect(await recover()).toMatchObject({ ...NOTHING_LEFT, recovered: 0, appended: 0, stopped });
    expect(await rowsOf(id)).toEqual(own);
    await copies.poll();
    expect(copies.stops).toEqual([[id, 2]]);
    expect(await copies.outbox(id)).toHaveLength(1);
    expect(ledgerOf()).toEqual(ledger);
  });

  test('is reported if it continued differently in PostgreSQL and is longer there than in the Ledger', async () => {
    const { id, pending } = await restored(1);
    const paid = outcomeTransition(pending, { kind: 'succeeded', chargeId: 'ch_2' });
    const refund = refundAfter(paid);
    await copies.write(paid, refund, refundAfter(refund));
    expect(await recover()).toMatchObject({ appended: 0, stopped: [{ chainId: id, sequence: 2, because: 'differs' }] });
  });

  const change = (id: PaymentId, sequence: number, to: number) =>
    copies.tables.client.send(
      new UpdateCommand({
        TableName: TABLES.ledger,
        Key: { [KeyAttribute.partition]: paymentPartition(id), [KeyAttribute.sort]: transitionSort(sequence) },
        UpdateExpression: 'SET occurredAtMs = :to',
        ExpressionAttributeValues: { ':to': to },
      }),
    );

  test('is recovered up to the last row before a Ledger row that was changed or is missing', async () => {
    const [changed, missing] = [await restored(1), await restored(1)];
    await change(changed.id, 3, 7);
    await copies.loseCopies(missing.id, 2);
    const found = await recover();
    expect(found).toMatchObject({ recovered: 1, appended: 1, unreadable: [] });
    expect(new Set(found.stopped)).toEqual(
      new Set([
        { chainId: changed.id, sequence: 3, because: 'broken' },
        { chainId: missing.id, sequence: 2, because: 'broken' },
      ]),
    );
    expect((await rowsOf(changed.id)).transitions).toHaveLength(2);
    expect((await rowsOf(missing.id)).transitions).toHaveLength(1);
  });

  test('is reported if its copied personal data was changed, and none of its rows is written', async () => {
    const first = firstWithNotes(newId());
    const { id } = first.payment;
    await copies.write(first);
    await copies.poll();
    await restoreTo(id, 0);
    await copies.tables.client.send(
      new UpdateCommand({
        TableName: TABLES.registry,
        Key: { [KeyAttribute.partition]: `DETAILS#${id}`, [KeyAttribute.sort]: 'DETAILS' },
        UpdateExpression: 'SET details = :to',
        ExpressionAttributeValues: { ':to': { description: 'another' } },
      }),
    );
    expect(await recover()).toMatchObject({ appended: 0, unreadable: [id] });
    expect(await rowsOf(id)).toEqual({ transitions: [], postings: [], details: [] });
  });
});

test('a recovery restores no personal data that was erased after the restore point, and reports erased data that the database contains again', async () => {
  const [before, after] = [firstWithNotes(newId()), firstWithNotes(newId())];
  await copies.write(before);
  await copies.write(after);
  await copies.poll();
  const { details } = await rowsOf(before.payment.id);
  for (const { payment } of [before, after]) await copies.erase(payment.id);
  // The restored database has the personal data of one payment again, and lacks the other payment.
  const [own] = details;
  invariant(own !== undefined, 'the payment has no personal data');
  const { chain_id, part, salt, details: data, email_hash, sequence } = own;
  const insert = 'INSERT INTO details VALUES ($1, $2, $3, $4, $5, $6)';
  await database.run(sql(insert, chain_id, part, salt, JSON.stringify(data), email_hash, sequence));
  await restoreTo(after.payment.id, 0);

  expect(await recover()).toMatchObject({ ...NOTHING_LEFT, appended: 1, erased: [before.payment.id] });
  expect((await rowsOf(after.payment.id)).details).toEqual([]);
  expect(await copies.erase(before.payment.id)).toBe(true);
  expect(await recover()).toMatchObject({ ...NOTHING_LEFT, erased: [] });
});

test('a transition counts as recovered even if the response to its write was lost', async () => {
  const first = firstWithNotes(newId());
  await copies.write(first);
  await copies.poll();
  await restoreTo(first.payment.id, 0);
  let isLost = false;
  const run: Runner['run'] = async (statement) => {
    const rows = await database.run(statement);
    if (statement.name !== 'chain-append' || isLost) return rows;
    isLost = true;
    throw ERRORS.ambiguous();
  };
  expect(await recover(copies, { database: { run, transaction: (work) => database.transaction(work) } })).toMatchObject(
    { recovered: 1, appended: 1 },
  );
  expect(isLost).toBe(true);
});

interface Race {
  /** A rival continues the chain in PostgreSQL before the recovery's call with this number. */
  readonly rivalAt?: number;
}

let histories = 0;

async function recoverWith(faults: readonly PlannedFault[], { rivalAt }: Race): Promise<HistoryRun> {
  histories += 1;
  const own = new Copies(database);
  const first = firstWithNotes(paymentIdFor(`recovery-history-${histories}`));
  const { id } = first.payment;
  const refund = refundAfter(first);
  await own.write(first, refund);
  await own.carrier().carry(id);
  const expected = await rowsOf(id);
  const ledger = ledgerOf(own);
  await restoreTo(id, 1);
  const rival = refundAfter({ ...first, occurredAtMs: first.occurredAtMs + 1 });
  const plan = new FaultPlan(faults);
  // The rival's write fails if the transition was already appended.
  if (rivalAt !== undefined) plan.holdAt(rivalAt, () => own.write(rival).catch(() => undefined));
  const actor = new Actor('operator', plan);
  const client = own.tables.clientWith((command, apply) => actor.call(command, SDK_ERRORS, apply));
  const ended = await actor.run(() => recover(own, { client, database: databaseOf(actor, database) }));
  const calls = plan.calm();
  const { stopped, ...found } = await recover(own);
  const isOwn = hashesOf(await rowsOf(id)) === hashesOf(expected);
  const violations = [
    ...(isOwn || (rivalAt !== undefined && stopped.length === 1)
      ? []
      : ['the chain was neither recovered nor reported']),
    ...(!isOwn && 'result' in ended && ended.result.appended > 0 ? ['a rival’s row counts as recovered'] : []),
    ...(isOwn && !isDeepStrictEqual(await rowsOf(id), expected) ? ['a row differs'] : []),
    ...(JSON.stringify(ledgerOf(own)) === JSON.stringify(ledger) ? [] : ['the Ledger was changed']),
    ...(found.unreadable.length + found.erased.length === 0 ? [] : ['the chain was reported as unreadable or erased']),
  ];
  return { calls, violations };
}

function hashesOf({ transitions }: Awaited<ReturnType<typeof rowsOf>>): string {
  return transitions.map(({ hash }) => Buffer.from(hash as Uint8Array).toString('hex')).join();
}

test('a recovery recovers or reports the chain, despite a fault and a concurrent write at any call', async () => {
  const races: readonly Race[] = sliceOf([{}, ...beforeEachCall(6, [{}])], 3);
  const { findings, histories: run } = await surveyFaults(recoverWith, { faults: 1, races, oneOf: 32 });
  expect(findings).toEqual([]);
  expect(run).toBeGreaterThan(races.length);
});
