/** Tests `payonce tables recover` after a restore of the DynamoDB tables, but not of PostgreSQL. */
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { type PostgresStores, postgresStores } from '../../lambdas/authority/postgres-stores.ts';
import { readCopiesSince, recopyChains } from '../../lambdas/authority/recopy-chains.ts';
import { LOST_EVENTS_JOB } from '../../lambdas/events/contract.ts';
import { moveCarriedUntil, readCarriedUntil } from '../../lambdas/jobs/use/carried-until.ts';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import type { PaymentId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { OWN_DETAILS } from '../../lambdas/once/store/details-rows.ts';
import { orderOperation, paymentOfOrder } from '../../lambdas/orders/ids.ts';
import { orderPartition } from '../../lambdas/orders/store/order-items.ts';
import type { Transition } from '../../lambdas/payments/domain/transition.ts';
import { positionAt } from '../../lambdas/payments/use/transition-reader.ts';
import { orderRequest } from '../orders/order-fixtures.ts';
import { firstOf } from '../orders/order-store-suite.ts';
import { firstWithNotes, refundAfter } from '../payments/carried-chain.ts';
import { Copies, effectOf } from '../payments/copies.ts';
import { openRecord, outcomeTransition, paymentIdFor, pendingTransition } from '../payments/payment-fixtures.ts';
import { sql } from '../postgres/postgres-fixture.ts';
import { createDatabase, openTestDatabase, type StoreDatabase } from '../postgres/store-database.ts';
import { Stores } from '../world/stores.ts';
import { TABLES } from '../world/tables.ts';

let database: StoreDatabase;
let copies: Copies;
let postgres: PostgresStores;
let commissions: string[];

beforeAll(async () => {
  database = openTestDatabase(await createDatabase());
});
afterAll(() => database.close());
beforeEach(async () => {
  for (const table of ['transition', 'details', 'outbox', 'idempotency'])
    await database.owner.run(sql(`DELETE FROM ${table}`));
  copies = new Copies(database);
  commissions = [];
  postgres = postgresStores({ ...copies.tools(), client: copies.tables.client, tables: TABLES, observer: copies });
});

function recover(resumed = async (_id: string, _sinceMs: number): Promise<void> => undefined) {
  const { client } = copies.tables;
  return recopyChains(
    {
      client,
      tables: TABLES,
      pacing: copies.tools().pacing,
      postgres,
      commission: async ({ first }) => commissions.push(first.payment.id) === 1,
      resumed,
    },
    2,
    () => undefined,
  );
}

async function copiedPayment(key: string): Promise<{ readonly id: PaymentId; readonly refund: Transition }> {
  const id = paymentIdFor(key);
  const first = firstWithNotes(id);
  const refund = refundAfter(first);
  await copies.write(first, refund);
  await postgres.carrier.carry(id);
  return { id, refund };
}

test('a recovery copies missing transitions and details, resumes stopped chains, and is safe to repeat', async () => {
  const { id } = await copiedPayment('lost');
  const whole = await copiedPayment('whole');
  const { id: stopped, refund } = await copiedPayment('stopped');
  const before = [copies.ledger(id), copies.details(id)];
  // The tables are restored to the time after the first transition.
  for (const each of [id, stopped]) await copies.loseCopies(each, 2);
  for (const part of ['ref_1', 'dec_1']) await copies.loseDetails(id, part);
  await copies.write(refundAfter(refund));
  expect(await postgres.carrier.carry(stopped)).toBe('stopped');

  expect(await recover()).toEqual({
    read: 3,
    missing: { transition: 3, details: 0, commission: 1 },
    differing: [],
    unreadable: [],
  });
  expect([copies.ledger(id), copies.details(id)]).toEqual(before);
  expect([copies.copied(whole.id), copies.copied(stopped)]).toEqual([
    [1, 2],
    [1, 2, 3],
  ]);
  expect(commissions.toSorted()).toEqual([id, stopped, whole.id].toSorted());
  expect(await recover()).toMatchObject({ read: 3, missing: { transition: 0, commission: 0 } });
});

test('a recovery moves the marks of jobs back to the time of a stopped chain before it resumes the chain, even after a crash', async () => {
  const { id, refund } = await copiedPayment('behind');
  await copies.loseCopies(id, 2);
  await copies.write(refundAfter(refund));
  expect(await postgres.carrier.carry(id)).toBe('stopped');
  const { jobMarks: marks } = new Stores(copies.clock, copies.tables);
  const nowMs = refund.occurredAtMs + 5 * 60 * 60_000;
  await marks.moveMark(LOST_EVENTS_JOB, undefined, positionAt(nowMs));
  await moveCarriedUntil(marks, [nowMs], nowMs);

  const died = new RetryableError('died', 'the command died');
  await expect(recover(() => Promise.reject(died))).rejects.toBe(died);
  // All transitions are in the Ledger, but the chain is still stopped, so a pass over the outbox does not remove the
  // chain's entries.
  expect(copies.copied(id)).toEqual([1, 2, 3]);
  expect(await postgres.carrier.carry(id)).toBe('stopped');
  expect(await copies.outbox(id)).toHaveLength(2);

  const moved: unknown[] = [];
  const resumed = async (chain: string, sinceMs: number): Promise<void> => {
    expect(copies.copied(id)).toEqual([1, 2, 3]);
    moved.push(chain, await readCopiesSince(marks, sinceMs, nowMs));
  };
  expect(await recover(resumed)).toMatchObject({ missing: { transition: 0 }, differing: [] });
  expect(moved).toEqual([id, true]);
  expect(await marks.readMark(LOST_EVENTS_JOB)).toBe(positionAt(refund.occurredAtMs));
  expect(await readCarriedUntil(marks)).toMatchObject({ untilMs: refund.occurredAtMs });
  expect(await copies.outbox(id)).toEqual([]);
  await recover(resumed);
  expect(moved).toHaveLength(2);
});

test('a recovery copies all transitions of a long, stopped chain before it resumes the chain', async () => {
  const { id, refund } = await copiedPayment('long');
  await copies.loseCopies(id, 2);
  let last = refund;
  for (let sequence = 3; sequence <= 25; sequence += 1) {
    last = refundAfter(last);
    await copies.write(last);
  }
  expect(await postgres.carrier.carry(id)).toBe('stopped');
  const resumed: number[] = [];
  expect(await recover(async () => void resumed.push(copies.copied(id).length))).toMatchObject({ differing: [] });
  expect(resumed).toEqual([25]);
  expect(await copies.outbox(id)).toEqual([]);
});

test('a recovery copies a payment again if the Ledger lacks its first transition, or all its transitions', async () => {
  const [torn, gone] = [await copiedPayment('torn'), await copiedPayment('gone')];
  await copies.loseCopies(torn.id, 1);
  await copies.loseCopies(gone.id, 1, 2);
  expect(await recover()).toMatchObject({ missing: { transition: 3 }, differing: [], unreadable: [] });
  expect([copies.copied(torn.id), copies.copied(gone.id)]).toEqual([
    [1, 2],
    [1, 2],
  ]);
});

test('a recovery copies the transition and the personal data of an order again', async () => {
  const { orderId } = orderRequest('recopied');
  const record = openRecord(paymentOfOrder(systemDigest, orderId), { operationId: orderOperation(orderId) });
  await postgres.orders().claimOrder({ record, first: firstOf(orderId) });
  await database.run(sql('DELETE FROM outbox'));
  expect(await recover()).toMatchObject({ read: 1, missing: { transition: 1, commission: 0 } });
  expect(copies.tables.items(TABLES.ledger, orderPartition(orderId))).toHaveLength(1);
  const details = copies.details(orderId as never);
  expect(details).toHaveLength(1);
  await copies.loseDetails(orderId as never, OWN_DETAILS);
  expect(await recover()).toMatchObject({ missing: { transition: 0, details: 1 } });
  expect(copies.details(orderId as never)).toEqual(details);
});

test('a recovery copies personal data again if only the Registry was restored', async () => {
  const { id } = await copiedPayment('registry');
  const before = copies.details(id);
  const parts = before.map(({ sk }) => sk as string);
  expect(parts.toSorted()).toEqual(['DETAILS', 'dec_1', 'ref_1']);
  for (const part of parts) await copies.loseDetails(id, part);
  expect(await recover()).toEqual({
    read: 1,
    missing: { transition: 0, details: parts.length, commission: 1 },
    differing: [],
    unreadable: [],
  });
  expect(copies.details(id)).toEqual(before);
  expect(await recover()).toMatchObject({ missing: { details: 0 } });
});

test('a recovery copies no personal data that is erased before its copy is written', async () => {
  const { id } = await copiedPayment('erased-since');
  await copies.loseDetails(id, OWN_DETAILS);
  let isErased = false;
  const client = copies.tables.clientWith(async (command, apply) => {
    if (command === 'TransactWriteCommand' && !isErased) isErased = await copies.erase(id);
    return apply();
  });
  expect(await copies.carrier(client).restoreCopies(id)).toBe(1);
  expect([isErased, copies.details(id)]).toEqual([true, []]);
});

test('a recovery deletes restored copies of personal data that was erased after the restore point', async () => {
  const { id } = await copiedPayment('erased');
  const restored = copies.details(id);
  await copies.erase(id);
  await copies.putDetails(...restored);
  await recover();
  expect(copies.details(id)).toEqual([]);
});

test.each([
  ['a transition that differs from PostgreSQL', true],
  ['a transition that PostgreSQL lacks', false],
])(
  'a recovery reports a payment if the Ledger has %s, and changes neither the Ledger nor PostgreSQL',
  async (_what, isForked) => {
    const id = paymentIdFor(`forked-${isForked}`);
    const pending = pendingTransition(id);
    await copies.write(pending);
    await postgres.carrier.carry(id);
    const rival = outcomeTransition(pending, { kind: 'succeeded', chargeId: 'ch_2' });
    await new Stores(copies.clock, copies.tables).recordEffect(effectOf([rival]));
    if (isForked) await copies.write(outcomeTransition(pending, { kind: 'succeeded', chargeId: 'ch_1' }));
    expect(await recover()).toEqual({
      read: 1,
      missing: { transition: 0, details: 0, commission: 0 },
      differing: [id],
      unreadable: [],
    });
    expect(copies.ledger(id)[1]?.['hash']).toEqual(rival.hash);
  },
);
