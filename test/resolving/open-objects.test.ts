/**
 * An object that is open at the processor, according to a read or a callback, stays in a queue until it has a result,
 * whatever the state of its payment. Each case ends the object days later without a callback, and compares the books.
 * Tests the guarantee "known outcomes".
 */
import { beforeEach, describe, expect, test } from '@jest/globals';
import { chargeOperation } from '../../lambdas/payments/ids.ts';
import type { ChangePayment } from '../../lambdas/payments/use/change-payment.ts';
import type { CreatePayment } from '../../lambdas/payments/use/create-payment.ts';
import { resolveInquiries } from '../../lambdas/resolving/use/resolve.ts';
import { change, paymentRequest } from '../payments/payment-fixtures.ts';
import { ALL_DUE } from '../support/due.ts';
import { sliceOf, whole } from '../support/slice.ts';
import { COURSES, DAY_HOURS, KINDS, OpenObjectsWorld, opened, SHOWN, unanswered } from './open-objects-world.ts';

const MINUTE_MS = 60_000;
/** Time between two runs of the jobs while nothing changes for days, in half hours. */
const QUIET_HALVES = whole(1, { slice: 8 });

let world: OpenObjectsWorld;

beforeEach(() => {
  world = new OpenObjectsWorld();
});

/** The object ends at the processor after nine days. */
async function endsWithoutCallback(
  payment: CreatePayment,
  end: () => Promise<void>,
  alarmsBefore: readonly string[] = [],
): Promise<void> {
  await world.live(9 * DAY_HOURS, { halves: QUIET_HALVES });
  expect(world.alarms).toEqual(expect.arrayContaining([...alarmsBefore]));
  await end();
  await world.live(2 * DAY_HOURS);
  const { there, booked } = await world.held(payment);
  expect(booked).toBe(there);
  expect(await world.store.inquiries()).toEqual([]);
  expect(await world.store.chargesToReturn(ALL_DUE)).toEqual([]);
  expect(world.reported).toEqual([]);
}

describe('a refund that is pending at the processor but final in the chain', () => {
  let payment: CreatePayment;
  let refund: ChangePayment;
  const refundId = () => String(world.processor.charges(payment.paymentId)[0]?.refunds[0]?.refundId);

  beforeEach(async () => {
    payment = paymentRequest('refunded');
    await world.pay(payment);
    refund = change(payment, 'refund', { kind: 'refund', amountMinor: 400 });
  });

  test('is tracked after an operator decided that it failed', async () => {
    await world.processor.inside.failNextChange(1, 'tok_async');
    await world.change(refund);
    await world.live(2);
    await world.decideUnread(payment, refund);
    await endsWithoutCallback(payment, () => world.processor.inside.endRefund(refundId(), 'succeeded'), [
      'contradiction',
    ]);
  });

  test('is tracked if its request arrives after Payonce declared it not attempted', async () => {
    const { chargeId, end } = await opened('a refund that Payonce recorded as failed', world, payment);
    const { refunds } = (await world.chain(payment)).state;
    expect([...refunds.values()]).toEqual([expect.objectContaining({ status: 'failed' })]);
    await world.sendCallback(chargeId);
    await endsWithoutCallback(payment, end, ['contradiction']);
  });

  test('is tracked even if only the response to the refund request reported it', async () => {
    await world.processor.inside.failNextChange(1, 'tok_async');
    const store = world.storeWithRival(async () => {
      world.clock.advance(50 * MINUTE_MS);
      await world.decideUnread(payment, refund);
    });
    await world.change(refund, { store });
    for (const entry of await world.store.inquiries())
      if (entry.waitsFor === 'books') await world.store.closeInquiry(entry);
    await endsWithoutCallback(payment, () => world.processor.inside.endRefund(refundId(), 'succeeded'), [
      'contradiction',
    ]);
  });

  test('is tracked if its owner crashed after the send, and an operator decided before the takeover of its claim', async () => {
    await world.processor.inside.failNextChange(1, 'tok_async');
    await world.dieAfterChange(refund);
    world.clock.advance(50 * MINUTE_MS);
    await world.decideUnread(payment, refund);
    for (const entry of await world.store.inquiries()) await world.store.closeInquiry(entry);
    await endsWithoutCallback(payment, () => world.processor.inside.endRefund(refundId(), 'succeeded'), [
      'contradiction',
    ]);
  });
});

describe('a pending charge made by another attempt of the payment', () => {
  test('is tracked if its owner crashed after the send, and another charge of the operation has completed the payment', async () => {
    const payment = paymentRequest('owner-dies', { source: 'tok_async' });
    await world.claimThenDie(payment, true);
    const first = world.chargeOf(payment);
    const { paymentId } = payment;
    const about = { paymentId, operationId: chargeOperation(paymentId), amountMinor: 1000 };
    const { chargeId: second } = await world.processor.inside.charge(about);
    await world.sendCallback(second);
    expect((await world.chain(payment)).state.payment).toMatchObject({ status: 'succeeded', chargeId: second });
    await endsWithoutCallback(payment, () => world.processor.inside.approve(first));
    expect(world.refundedAtProcessor(payment)).toBe(1000);
  });

  test('is tracked if its owner received no response, and another charge has completed the payment', async () => {
    const payment = paymentRequest('no-answer', { source: 'tok_async' });
    const { processor } = world;
    const { paymentId } = payment;
    const charge: typeof processor.charge = async (...asked) => processor.charge(...asked).then(unanswered);
    const store = world.storeWithRival(async () => {
      const about = { paymentId, operationId: chargeOperation(paymentId), amountMinor: 1000 };
      await world.sendCallback((await processor.inside.charge(about)).chargeId);
    });
    await world.pay(payment, { store, processor: { ...processor, charge, findCharge: unanswered } });
    expect((await world.chain(payment)).state.payment.status).toBe('succeeded');
    const first = String(processor.charges(paymentId).find(({ status }) => status === 'pending')?.chargeId);
    await endsWithoutCallback(payment, () => processor.inside.approve(first));
    expect(world.refundedAtProcessor(payment)).toBe(1000);
  });
});

/**
 * This number has no common factor with the number of ways or the number of states, so each slice covers all of them.
 */
const PARTS = 7;
const WAYS = Object.keys(SHOWN) as readonly (keyof typeof SHOWN)[];
const MATRIX = Object.entries(KINDS).flatMap(([kind, { courses }]) =>
  courses.flatMap((course) => WAYS.map((way) => [kind, way, course] as const)),
);

test('a second read of a queued object does not change its queue entry', async () => {
  const payment = paymentRequest('again');
  await world.pay(payment);
  const { chargeId } = await world.second(payment, 'tok_async');
  const queued = async () => (await world.store.inquiries()).map(({ claimedAtMs }) => claimedAtMs);
  await SHOWN['a read of the charge'](world, payment, chargeId);
  const before = await queued();
  world.clock.advance(MINUTE_MS);
  await SHOWN['a read of the charge'](world, payment, chargeId);
  expect(await queued()).toEqual(before);
});

describe('a dispute that is open in the chain', () => {
  let payment: CreatePayment;
  let chargeId: string;

  beforeEach(async () => {
    payment = paymentRequest('vanished');
    await world.pay(payment);
    chargeId = world.chargeOf(payment);
    await world.processor.inside.dispute(chargeId, 300);
    await world.sendCallback(chargeId);
  });

  test('stays queued while the processor shows the charge without the dispute', async () => {
    await world.processor.inside.correct(chargeId, { disputes: [] });
    await world.live(3);
    expect(await world.queued()).toEqual([chargeId]);
  });

  test('stays queued and raises an alarm while the processor does not know the charge', async () => {
    const books = [{ ...world.processor, readCharge: async () => undefined }];
    world.clock.advance(2 * DAY_HOURS * 60 * MINUTE_MS);
    await resolveInquiries({ ...world.tools, books });
    expect(await world.queued()).toEqual([chargeId]);
    expect(world.alarms).toEqual(['undecidable']);
    expect(world.reported).toEqual([]);
  });
});

describe('an object that is open at the processor', () => {
  test.each(sliceOf(MATRIX, PARTS))(
    'is tracked: %s reported by %s, while the payment is %s',
    async (kind, way, course) => {
      const payment = paymentRequest('open');
      await COURSES[course](world, payment);
      const { chargeId, end } = await opened(kind, world, payment);
      await SHOWN[way](world, payment, chargeId);
      await world.live(3);
      expect(world.reported).toEqual([]);
      expect(await world.queued()).toContain(chargeId);
      await end();
      await world.live(2 * DAY_HOURS);
      expect(await world.queued()).not.toContain(chargeId);
      if (course === 'in review') await world.decide(payment, { outcome: 'succeeded', takenMinor: 999 });
      await world.live(3);
      const { there, booked } = await world.held(payment);
      expect(booked).toBe(there);
    },
  );
});
