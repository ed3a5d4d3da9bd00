/** Tests the guarantee "returned money". */
import { beforeEach, describe, expect, test } from '@jest/globals';
import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import type { ChangeCommand } from '../../lambdas/payments/domain/change.ts';
import { netDebitMinor } from '../../lambdas/payments/domain/posting.ts';
import type { ChangePayment } from '../../lambdas/payments/use/change-payment.ts';
import type { CreatePayment } from '../../lambdas/payments/use/create-payment.ts';
import { World } from '../world/world.ts';
import { change, paymentRequest } from './payment-fixtures.ts';

const BEYOND_LEASE_MS = 26_000;

let harness: World;
beforeEach(() => {
  harness = new World();
});

async function paid(key: string): Promise<{ request: CreatePayment; charge: string }> {
  const request = paymentRequest(key);
  await harness.pay(request);
  return { request, charge: harness.chargeOf(request) };
}

async function expectBooksToAgree(request: CreatePayment): Promise<void> {
  const { transitions } = await harness.chain(request);
  const postings = transitions.flatMap((transition) => transition.postings);
  const disputes = harness.processor.charges(request.paymentId).flatMap((charge) => charge.disputes);
  const disputedMinor = disputes.reduce((sum, { amountMinor }) => sum + amountMinor, 0);
  const heldMinor = harness.capturedAtProcessor(request) - harness.refundedAtProcessor(request) - disputedMinor;
  expect(netDebitMinor('processor_clearing', 'EUR', postings)).toBe(heldMinor);
}

describe('the read of the processor’s books before each send', () => {
  const answerTo = async (asked: ChangePayment, changes: Parameters<World['change']>[1] = {}) => {
    const outcome = await harness.change(asked, changes);
    if (outcome.kind !== 'first') throw new Error(`expected a response, got ${outcome.kind}`);
    return JSON.parse(outcome.answer.body) as object;
  };

  test('prevents a refund of disputed money even if the dispute callback is lost', async () => {
    const { request, charge } = await paid('first');
    await harness.processor.inside.dispute(charge, 300);
    const all = change(request, 'all', { kind: 'refund', amountMinor: 1000 });
    expect(await answerTo(all)).toMatchObject({ status: 409, code: 'refund_not_attempted' });
    expect(harness.processor.sends(all.operationId)).toBe(0);
    expect(await answerTo(change(request, 'rest', { kind: 'refund', amountMinor: 700 }))).toMatchObject({
      status: 'succeeded',
    });
    await expectBooksToAgree(request);
  });

  test('prevents a retry from sending a crashed owner’s refund if the money is disputed, even without the dispute callback', async () => {
    const { request, charge } = await paid('retried');
    const refund = change(request, 'refund', { kind: 'refund', amountMinor: 1000 });
    await harness.dieBeforeChange(refund);
    await harness.processor.inside.dispute(charge, 300);
    harness.clock.advance(BEYOND_LEASE_MS);
    expect(await answerTo(refund)).toMatchObject({ status: 'pending' });
    expect(harness.processor.sends(refund.operationId)).toBe(0);
    await expectBooksToAgree(request);
  });

  test('prevents a refund and raises an alarm if the books no longer show the captured money', async () => {
    const { request, charge } = await paid('contradicted');
    await harness.processor.inside.correct(charge, { status: 'declined', amount_captured: 0 });
    const refund = change(request, 'refund', { kind: 'refund', amountMinor: 1000 });
    const raised: string[] = [];
    const alarm = (what: string): void => void raised.push(what);
    expect(await answerTo(refund, { alarm })).toMatchObject({ status: 409 });
    expect(harness.processor.sends(refund.operationId)).toBe(0);
    expect(raised).toEqual(['contradiction']);
  });

  test.each<[ChangeCommand, string]>([
    [{ kind: 'refund', amountMinor: 1000 }, 'succeeded'],
    [{ kind: 'capture' }, 'requires_capture'],
    [{ kind: 'cancel' }, 'requires_capture'],
  ])('prevents %j if the currency of the charge differs from the currency of the payment', async (command, status) => {
    const request = paymentRequest('currency', { capture: command.kind === 'refund' ? 'automatic' : 'manual' });
    await harness.pay(request);
    await harness.processor.inside.correct(harness.chargeOf(request), { currency: 'USD' });
    const asked = change(request, 'asked', command);
    await answerTo(asked);
    expect(harness.processor.sends(asked.operationId)).toBe(0);
    const { payment } = (await harness.chain(request)).state;
    expect(payment).toMatchObject({ status, amountRefundedMinor: 0 });
  });

  test('prevents a refund while the books cannot be read, and leaves its key usable', async () => {
    const { request } = await paid('unread');
    const refund = change(request, 'refund', { kind: 'refund', amountMinor: 1000 });
    const showCharge = () => Promise.reject(new AmbiguousError('processor_timeout', 'no response'));
    const processor = { ...harness.processor, showCharge };
    await expect(harness.change(refund, { processor })).rejects.toThrow(RetryableError);
    expect(harness.processor.sends(refund.operationId)).toBe(0);
    expect(await harness.change(refund)).toMatchObject({ answer: { status: 201 } });
    expect(harness.refundedAtProcessor(request)).toBe(1000);
  });

  test.each(['before the read', 'between the read and the send'])(
    'lets a capture succeed if another user of the processor’s account captures the charge %s',
    async (when) => {
      const request = paymentRequest('captured', { capture: 'manual' });
      await harness.pay(request);
      const charge = harness.chargeOf(request);
      const capture = change(request, 'capture', { kind: 'capture' });
      const isBefore = when === 'before the read';
      if (isBefore) await harness.processor.inside.capture(charge, 600);
      const processor: typeof harness.processor = {
        ...harness.processor,
        change: async (...asked) => {
          await harness.processor.inside.capture(charge, 600);
          return harness.processor.change(...asked);
        },
      };
      expect(await answerTo(capture, { processor })).toMatchObject({ status: 'succeeded', amount_captured: 600 });
      expect(harness.processor.sends(capture.operationId)).toBe(isBefore ? 0 : 1);
      await expectBooksToAgree(request);
    },
  );

  test('prevents a cancellation if another user of the processor’s account has captured the charge: the payment succeeds', async () => {
    const request = paymentRequest('kept', { capture: 'manual' });
    await harness.pay(request);
    await harness.processor.inside.capture(harness.chargeOf(request));
    const cancel = change(request, 'cancel', { kind: 'cancel' });
    expect(await answerTo(cancel)).toMatchObject({ code: 'cancellation_failed', payment: { status: 'succeeded' } });
    expect(harness.processor.sends(cancel.operationId)).toBe(0);
    await expectBooksToAgree(request);
  });
});
