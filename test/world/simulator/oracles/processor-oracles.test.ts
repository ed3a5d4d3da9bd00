import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { fingerprintOf } from '../../../../lambdas/kernel/fingerprint.ts';
import { storedOperationId } from '../../../../lambdas/kernel/ids.ts';
import { decidePayment } from '../../../../lambdas/operators/use/decide-payment.ts';
import { inquiryKey } from '../../../../lambdas/payments/store/queue-items.ts';
import { callback, paymentRequest } from '../../../payments/payment-fixtures.ts';
import { BY_OPERATOR, OPERATOR } from '../../../support/causes.ts';
import { TABLES } from '../../tables.ts';
import { World } from '../../world.ts';
import { watched } from './watched.ts';
import { appendTo, refundOf } from './written.ts';

const BOOKS = 'I9 processor and books';

let harness: World;
let world: ReturnType<typeof watched>;
beforeEach(() => {
  harness = new World();
  world = watched(harness);
});

test('disputes beyond the maximum number for a payment need an alarm', async () => {
  const request = paymentRequest('disputed');
  await harness.pay(request);
  const charge = harness.chargeOf(request);
  for (let count = 0; count < 51; count += 1) await harness.processor.inside.dispute(charge, 1);
  await harness.deliver(callback('disputed', charge));
  expect((await harness.chain(request)).state.disputes.size).toBe(50);
  const { nowMs } = world.world;
  world.callbacks.push({ processor: 'sandbox', chargeId: charge, firstAtMs: nowMs, takenAtMs: nowMs });
  expect(world.atTheEnd()).toContain(BOOKS);
  const alarm = { metric: 'contradiction', count: 1, dimensions: {}, about: request.paymentId, atMs: nowMs };
  world.alarms.push(alarm);
  expect(world.atTheEnd()).not.toContain(BOOKS);
});

describe('a further charge that names the payment', () => {
  test('must be recorded after its callback is delivered', async () => {
    const request = paymentRequest('further');
    await harness.pay(request);
    const { chargeId } = await harness.processor.inside.charge({ paymentId: request.paymentId, amountMinor: 500 });
    const nowMs = harness.clock.nowMs();
    expect(world.atTheEnd()).not.toContain(BOOKS);
    world.callbacks.push({ processor: 'sandbox', chargeId, firstAtMs: nowMs, takenAtMs: nowMs });
    expect(world.atTheEnd()).toContain(BOOKS);
    await harness.deliver(callback('further', chargeId));
    expect(world.atTheEnd()).not.toContain(BOOKS);
  });

  test('must be recorded if it existed when an operator decided about the payment', async () => {
    const request = paymentRequest('decided', { source: 'tok_async' });
    await harness.pay(request);
    const own = harness.chargeOf(request);
    await harness.processor.inside.correct(own, { status: 'succeeded', amount_captured: 999 });
    await harness.deliver(callback('review', own));
    await harness.processor.inside.charge({ paymentId: request.paymentId, amountMinor: 500 });
    expect(world.atTheEnd()).not.toContain(BOOKS);
    harness.clock.advance(1_000);
    await decidePayment(harness.tools, {
      cause: BY_OPERATOR,
      operationId: storedOperationId('dec_a'),
      fingerprint: fingerprintOf(harness.tools.digest, { body: {}, query: {} }),
      payment: request.paymentId,
      reason: 'Seen on the statement',
      by: OPERATOR,
      asked: { kind: 'decision', outcome: 'succeeded', takenMinor: 999 },
    });
    expect(world.atTheEnd()).toContain(BOOKS);
    await harness.resolveFor(2);
    expect(world.atTheEnd()).not.toContain(BOOKS);
  });
});

describe('a refund whose metadata was removed at the processor', () => {
  const MINE = `ref_${'a'.repeat(58)}`;
  const LEFT = 'nothing is left once quiet';
  const alarm = (metric: string, about: string): void =>
    void world.alarms.push({ metric, about, atMs: harness.clock.nowMs(), count: 1, dimensions: {} });

  async function paid() {
    const request = paymentRequest('nameless');
    await harness.pay(request);
    return { request, charge: harness.chargeOf(request) };
  }

  test.each([
    ['an alarm and a mark', 300, true, true, []],
    ['no alarm', 300, true, false, [LEFT]],
    ['no mark', 300, false, true, [LEFT]],
    ['no matching refund at the processor', 400, true, true, [LEFT]],
  ] as const)(
    'may stay pending for an operator only with an entry that is marked as undecidable, and an alarm: %s',
    async (_what, foundMinor, isMarked, isAlarmed, left) => {
      const { request, charge } = await paid();
      const { paymentId } = request;
      await appendTo(harness, request, {
        type: 'refund.pending',
        subject: refundOf(MINE, charge, { amountMinor: 300 }),
      });
      await harness.processor.inside.refund(charge, foundMinor, 'pending');
      const inquiry = { operationId: storedOperationId(MINE), paymentId, claimedAtMs: harness.clock.nowMs() };
      const marked = { ...inquiryKey(inquiry), ...inquiry, ...(isMarked ? { undecidable: true } : {}) };
      await harness.store.database.client.send(new PutCommand({ TableName: TABLES.registry, Item: marked }));
      if (isAlarmed) alarm('undecidable', paymentId);
      alarm('oldest_unknown_outcome', paymentId);
      expect(world.atTheEnd().filter((name) => name === LEFT)).toEqual(left);
    },
  );

  test.each([
    ['an alarm and a mark', true, true, []],
    ['no alarm', true, false, [LEFT]],
    ['no mark', false, true, [LEFT]],
  ] as const)(
    'may stay pending on a charge in another currency only with an entry that is marked as undecidable, and an alarm: %s',
    async (_what, isMarked, isAlarmed, left) => {
      const { request, charge } = await paid();
      const { paymentId } = request;
      await appendTo(harness, request, {
        type: 'refund.pending',
        subject: refundOf(MINE, charge, { amountMinor: 300 }),
      });
      await harness.processor.inside.correct(charge, { currency: 'USD' });
      const inquiry = { operationId: storedOperationId(MINE), paymentId, claimedAtMs: harness.clock.nowMs() };
      const marked = { ...inquiryKey(inquiry), ...inquiry, ...(isMarked ? { undecidable: true } : {}) };
      await harness.store.database.client.send(new PutCommand({ TableName: TABLES.registry, Item: marked }));
      if (isAlarmed) alarm('undecidable', paymentId);
      expect(world.atTheEnd().filter((name) => name === LEFT)).toEqual(left);
    },
  );

  test('must not be posted a second time', async () => {
    const { request, charge } = await paid();
    const nameless = await harness.processor.inside.refund(charge, 300);
    const twice = () => world.all().filter(({ what }) => what.includes('has 1 refunds, but 2 were posted'));
    for (const refundId of [MINE, nameless]) {
      expect(twice()).toEqual([]);
      const subject = refundOf(refundId, charge, { amountMinor: 300, status: 'succeeded' });
      await appendTo(harness, request, { type: 'refund.completed', subject });
    }
    expect(twice()).toHaveLength(1);
  });

  test.each([
    [true, ['F05 absence is proven']],
    [false, []],
  ] as const)(
    'must not be recorded as not attempted if the processor has accepted it (accepted: %s)',
    async (isAccepted, violated) => {
      const { request, charge } = await paid();
      const failure = { code: 'not_attempted', message: 'Nothing was sent to the processor.' };
      const subject = refundOf(MINE, charge, isAccepted ? { accepted: true } : {});
      await appendTo(harness, request, { type: 'refund.pending', subject });
      const failed = refundOf(MINE, charge, { status: 'failed', failure });
      await appendTo(harness, request, { type: 'refund.failed', subject: failed });
      expect(world.atTheEnd().filter((name) => name.startsWith('F05'))).toEqual(violated);
    },
  );

  test.each([
    ['failed', true, []],
    ['failed', false, [BOOKS]],
    ['succeeded', true, [BOOKS]],
  ] as const)(
    'may differ from the books only after a failure at the processor and an alarm (status: %s, alarm: %s)',
    async (status, isAlarmed, violated) => {
      const { request, charge } = await paid();
      const done = refundOf(MINE, charge, { amountMinor: 300, status: 'succeeded' });
      const { newest } = await harness.chain(request);
      const postings = [
        { account: 'refunds', direction: 'debit', amountMinor: 300, currency: 'EUR' },
        { account: 'processor_clearing', direction: 'credit', amountMinor: 300, currency: 'EUR' },
      ] as const;
      const payment = { ...newest.payment, amountRefundedMinor: 300 };
      await appendTo(harness, request, { type: 'refund.completed', subject: done, payment, postings });
      await harness.processor.inside.endRefund(await harness.processor.inside.refund(charge, 300, 'pending'), status);
      // If the refund did not fail, cause the difference by a second refund.
      if (status === 'succeeded') await harness.processor.inside.refund(charge, 200);
      await harness.processor.readCharge(charge, { timeoutMs: 5_000 });
      if (isAlarmed) alarm('contradiction', request.paymentId);
      expect(world.atTheEnd().filter((name) => name === BOOKS)).toEqual(violated);
    },
  );
});
