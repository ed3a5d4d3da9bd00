import { beforeEach, describe, expect, test } from '@jest/globals';
import { fingerprintOf } from '../../lambdas/kernel/fingerprint.ts';
import { type OperationId, storedOperationId } from '../../lambdas/kernel/ids.ts';
import { decidePayment } from '../../lambdas/operators/use/decide-payment.ts';
import { moneyOf } from '../../lambdas/payments/domain/charge-money.ts';
import type { CreatePayment } from '../../lambdas/payments/use/create-payment.ts';
import { resolveInquiries } from '../../lambdas/resolving/use/resolve.ts';
import { returnCharges } from '../../lambdas/resolving/use/return-charges.ts';
import { callback, change, paymentRequest } from '../payments/payment-fixtures.ts';
import { BY_OPERATOR, OPERATOR } from '../support/causes.ts';
import { ALL_DUE } from '../support/due.ts';
import { whole } from '../support/slice.ts';
import { World } from '../world/world.ts';

const MINUTE_MS = 60_000;
const DAY_MINUTES = 24 * 60;
/** Minutes between two runs of the jobs while a refund is looked up. */
const BUSY_MINUTES = whole(1, { slice: 5 });
/** Minutes between two runs of the jobs during a day without events. When deployed, they run once a minute. */
const QUIET_MINUTES = whole(1, { slice: 30 });

let world: World;
let alarms: string[];
let mine: CreatePayment;
let charge: string;

beforeEach(async () => {
  world = new World();
  alarms = [];
  mine = paymentRequest('mine');
  await world.pay(mine);
  charge = world.chargeOf(mine);
});

const alarm = (what: string): void => void alarms.push(what);

async function live(minutes: number, every = 1): Promise<void> {
  const tools = { ...world.tools, alarm };
  for (let minute = 0; minute < minutes; minute += every) {
    await resolveInquiries(tools);
    await returnCharges(tools);
    world.clock.advance(every * MINUTE_MS);
  }
}

/** Another user of the account could remove the metadata, too. @returns the refund's processor id */
async function removeMetadata(of: string): Promise<string> {
  const { refunds } = await world.processor.inside.read(of);
  await world.processor.inside.correct(of, { refunds: refunds.map((refund) => ({ ...refund, metadata: {} })) });
  return refunds[0]?.id ?? '';
}

const deliver = (event: string, of: string) => world.deliver(callback(event, of), { alarm });
const stateOf = async (request: CreatePayment) => (await world.chain(request)).state;

async function decideFailed(operationId: OperationId): Promise<void> {
  await decidePayment(world.tools, {
    cause: BY_OPERATOR,
    operationId: storedOperationId('dec_refund'),
    fingerprint: fingerprintOf(world.tools.digest, { body: {}, query: {} }),
    payment: mine.paymentId,
    reason: 'Seen on the processor’s page',
    by: OPERATOR,
    asked: { kind: 'decision', outcome: 'failed', change: operationId },
  });
}

describe('a refund whose owner crashed', () => {
  const refund = () => change(mine, 'r', { kind: 'refund', amountMinor: 300 });

  test('is posted once, although its metadata was removed and a callback first reports it under the processor’s id', async () => {
    await world.dieAfterChange(refund());
    await removeMetadata(charge);
    await deliver('evt_1', charge);
    await world.resolveFor(60);
    const { payment, refunds } = await stateOf(mine);
    expect(payment.amountRefundedMinor).toBe(300);
    expect(refunds.size).toBe(1);
    expect(alarms).toEqual([]);
  });

  test.each([
    ['that was never sent', () => world.dieBeforeChange(refund()), 1],
    ['whose metadata was removed', () => world.dieAfterChange(refund()).then(() => removeMetadata(charge)), 2],
  ])(
    '%s is not confused with a refund of the same amount by another user of the account',
    async (_which, crash, made) => {
      await crash();
      await world.processor.inside.refund(charge, 300);
      await deliver('evt_1', charge);
      world.clock.advance(60 * MINUTE_MS);
      await world.resolveFor(120);
      expect(world.refundedAtProcessor(mine)).toBe(made * 300);
      const { payment, refunds } = await stateOf(mine);
      expect(payment.amountRefundedMinor).toBe(made * 300);
      const booked = [...refunds.values()].filter(({ status }) => status === 'succeeded');
      expect(booked).toHaveLength(made);
      expect([...refunds.values()].filter(({ status }) => status === 'pending')).toEqual([]);
    },
  );
});

describe('an accepted refund whose metadata is removed while it is pending', () => {
  const refund = () => change(mine, 'r', { kind: 'refund', amountMinor: 300 });

  async function accepted(): Promise<string> {
    await world.processor.inside.failNextChange(1, 'tok_async');
    expect(await world.change(refund(), { alarm })).toMatchObject({ answer: { status: 202 } });
    return removeMetadata(charge);
  }

  test('is left to an operator instead of being declared “not attempted”', async () => {
    const refundId = await accepted();
    await live(90, BUSY_MINUTES);
    expect((await stateOf(mine)).refunds.get(refund().operationId)).toMatchObject({ status: 'pending' });
    expect(alarms).toEqual(['undecidable']);
    await world.processor.inside.endRefund(refundId, 'succeeded');
    await deliver('evt_done', charge);
    await decideFailed(refund().operationId);
    const { payment, refunds } = await stateOf(mine);
    expect(payment).toMatchObject({ amountRefundedMinor: 300 });
    expect([...refunds.values()].map(({ status }) => status)).toEqual(['failed', 'succeeded']);
    await live(DAY_MINUTES, QUIET_MINUTES);
    expect(await world.store.inquiries()).toEqual([]);
    expect(world.refundedAtProcessor(mine)).toBe(300);
  });

  test('keeps its money reserved, so that the payer is not refunded twice', async () => {
    await accepted();
    await live(90, BUSY_MINUTES);
    const again = change(mine, 'again', { kind: 'refund', amountMinor: 800 });
    expect(await world.change(again, { alarm })).toMatchObject({ kind: 'refused' });
  });
});

test.each([
  ['a refund by another user', 300],
  ['no other refund', 0],
])('an unsent refund is declared “not attempted” if there is %s at the processor', async (_what, foreignMinor) => {
  const refund = change(mine, 'r', { kind: 'refund', amountMinor: 300 });
  await world.dieBeforeChange(refund);
  if (foreignMinor > 0) {
    await world.processor.inside.refund(charge, foreignMinor);
    await deliver('evt_foreign', charge);
  }
  world.clock.advance(60 * MINUTE_MS);
  await world.resolveFor(60);
  expect((await stateOf(mine)).refunds.get(refund.operationId)).toMatchObject({
    status: 'failed',
    failure: { code: 'not_attempted' },
  });
});

test('a successful refund whose metadata is removed is not posted twice, and an alarm is raised', async () => {
  await world.change(change(mine, 'r', { kind: 'refund', amountMinor: 300 }));
  await removeMetadata(charge);
  await deliver('evt_edit', charge);
  expect((await stateOf(mine)).payment).toMatchObject({ amountRefundedMinor: 300 });
  expect(alarms).toEqual(['contradiction']);
  // Another refund of the same amount is a separate refund.
  await world.processor.inside.refund(charge, 300);
  await deliver('evt_more', charge);
  expect((await stateOf(mine)).payment).toMatchObject({ amountRefundedMinor: 600 });
});

test('a refund known only from a look-up stays pending and raises an alarm after its metadata is removed', async () => {
  await world.processor.inside.failNextChange(1, 'tok_async');
  const refund = change(mine, 'r', { kind: 'refund', amountMinor: 300 });
  await world.dieAfterChange(refund);
  await world.resolveFor(10);
  await removeMetadata(charge);
  await live(90, BUSY_MINUTES);
  expect((await stateOf(mine)).refunds.get(refund.operationId)).toMatchObject({ status: 'pending' });
  expect(alarms).toEqual(['undecidable']);
});

describe('a pending refund of a stray charge, after the metadata of the refund was removed,', () => {
  let stray: string;
  let refundId: string;

  beforeEach(async () => {
    const given = { paymentId: mine.paymentId, operationId: 'by-hand', amountMinor: 1000 };
    stray = (await world.processor.inside.charge(given)).chargeId;
    await world.processor.inside.failNextChange(1, 'tok_async');
    await deliver('evt_stray', stray);
    await live(20);
    refundId = await removeMetadata(stray);
    await deliver('evt_edit', stray);
    expect(alarms.splice(0)).toEqual(['late_success']);
  });

  test.each(['failed', 'succeeded'] as const)('waits for an operator’s decision after it has %s', async (status) => {
    await world.processor.inside.endRefund(refundId, status);
    await deliver('evt_ended', stray);
    await live(DAY_MINUTES, QUIET_MINUTES);
    expect(alarms).toEqual(['undecidable']);
    const pending = [...(await stateOf(mine)).refunds.values()].filter((refund) => refund.status === 'pending');
    expect(pending).toHaveLength(1);
    await decideFailed(storedOperationId(pending[0]?.refundId ?? ''));
    await live(DAY_MINUTES, QUIET_MINUTES);
    expect(moneyOf(stray, await stateOf(mine))).toMatchObject({ refundedMinor: 1000, pendingMinor: 0 });
    expect(await world.store.chargesToReturn(ALL_DUE)).toEqual([]);
    const kept = world.processor.inside.all.find(({ chargeId }) => chargeId === stray);
    expect(kept?.refunds.filter((each) => each.status === 'succeeded')).toHaveLength(1);
  });
});
