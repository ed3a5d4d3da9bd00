import { beforeEach, describe, expect, test } from '@jest/globals';
import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import { chargeOperation, returnOperation } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { netDebitMinor } from '../../lambdas/payments/domain/posting.ts';
import type { CreatePayment } from '../../lambdas/payments/use/create-payment.ts';
import { resolveClaims, resolveInquiries } from '../../lambdas/resolving/use/resolve.ts';
import { returnCharges } from '../../lambdas/resolving/use/return-charges.ts';
import { createMemoryProcessor } from '../payments/memory-processor.ts';
import { callback } from '../support/callback-desk.ts';
import { ChangeDesk, change } from '../support/change-desk.ts';
import { openRecord, paymentRequest } from '../support/payment-fixtures.ts';

let desk: ChangeDesk;
beforeEach(() => {
  desk = new ChangeDesk();
});

describe('a stray charge', () => {
  /** A payment that has failed and whose charge succeeded later. */
  async function lateSuccess(key: string) {
    const request = paymentRequest(key, { source: 'tok_async' });
    await desk.pay(request);
    const charge = desk.chargeOf(request);
    desk.processor.inside.change(charge, { status: 'declined' });
    await desk.deliver(callback(`${key}_1`, charge));
    desk.processor.inside.succeed(charge);
    await desk.deliver(callback(`${key}_2`, charge));
    return { request, charge };
  }

  test('is refunded once, automatically, and the books balance', async () => {
    const { request, charge } = await lateSuccess('late');
    expect(await desk.returnCharges()).toMatchObject({ finished: 1 });
    expect(await desk.returnCharges()).toEqual({ finished: 0, waiting: 0, undecidable: 0, failed: 0 });
    await desk.deliver(callback('late_3', charge));
    expect(desk.refundedAtProcessor(request)).toBe(1000);
    const { transitions, state } = await desk.chain(request);
    const postings = transitions.flatMap((transition) => transition.postings);
    expect(netDebitMinor('processor_clearing', 'EUR', postings)).toBe(0);
    expect(netDebitMinor('late_receipts', 'EUR', postings)).toBe(0);
    expect(state.payment).toMatchObject({ status: 'failed', amountRefundedMinor: 0 });
  });

  test.each([
    ['tok_timeout_charged', 'after it took effect'],
    ['tok_timeout_not_charged', 'before it took effect'],
    ['tok_flaky', 'with an error'],
  ])('is refunded once when the processor breaks off %s (%s)', async (source) => {
    const { request } = await lateSuccess(source);
    desk.processor.failNextChange(1, source);
    await desk.returnCharges();
    expect(await desk.returnCharges()).toMatchObject({ failed: 0 });
    expect(desk.refundedAtProcessor(request)).toBe(1000);
    expect(await desk.store.chargesToReturn(9)).toEqual([]);
    expect((await desk.typesOf(request)).filter((type) => type === 'refund.completed')).toHaveLength(1);
  });

  test('is not returned until the processor says so: a refund that fails is left to an operator, and is not sent again', async () => {
    const { request, charge } = await lateSuccess('slow');
    desk.processor.failNextChange(1, 'tok_async');
    expect(await desk.returnCharges()).toMatchObject({ finished: 0, waiting: 1 });
    const [refund] = desk.processor.charges(request.paymentId)[0]?.refunds ?? [];
    desk.processor.inside.setRefund(String(refund?.refundId), 'failed');
    expect(await desk.returnCharges()).toMatchObject({ undecidable: 1 });
    expect(await desk.returnCharges()).toMatchObject({ undecidable: 1 });
    expect(desk.processor.charges(request.paymentId)[0]?.refunds).toHaveLength(1);
    desk.processor.inside.refund(charge, 1000);
    expect(await desk.returnCharges()).toMatchObject({ finished: 1 });
    expect(await desk.store.chargesToReturn(9)).toEqual([]);
  });

  /** A payment that has failed and whose hold was authorized later. */
  async function lateHold() {
    const request = paymentRequest('late-hold', { source: 'tok_async', capture: 'manual' });
    await desk.pay(request);
    const charge = desk.chargeOf(request);
    desk.processor.inside.change(charge, { status: 'declined' });
    await desk.deliver(callback('h_1', charge));
    desk.processor.inside.change(charge, { status: 'authorized' });
    await desk.deliver(callback('h_2', charge));
    return { request, charge };
  }

  test('that is only authorized is voided', async () => {
    const { request } = await lateHold();
    expect(await desk.returnCharges()).toMatchObject({ finished: 1 });
    expect(desk.processor.charges(request.paymentId)[0]?.status).toBe('voided');
  });

  test('that is captured before its void is refunded, also when the callback is late', async () => {
    const { request, charge } = await lateHold();
    desk.processor.inside.succeed(charge);
    expect(await desk.returnCharges()).toMatchObject({ finished: 0, waiting: 1 });
    await desk.deliver(callback('h_3', charge));
    expect(await desk.returnCharges()).toMatchObject({ finished: 1 });
    expect(await desk.store.chargesToReturn(9)).toEqual([]);
    expect(desk.capturedAtProcessor(request)).toBe(1000);
    expect(desk.refundedAtProcessor(request)).toBe(1000);
    expect((await desk.typesOf(request)).filter((type) => type === 'payment.late_success')).toHaveLength(2);
  });

  test('raises the same alarm when the run finds its capture as when a callback does', async () => {
    const { charge } = await lateHold();
    desk.processor.inside.succeed(charge);
    const alarms: string[] = [];
    await returnCharges({ ...desk.changeTools, alarm: (what) => void alarms.push(what) });
    expect(alarms).toEqual(['late_success']);
    expect(await desk.deliver(callback('h_3', charge))).toMatchObject({ transitions: [] });
  });

  test('stays queued when its hold is closed after a callback queued it as a refund', async () => {
    const { request, charge } = await lateHold();
    const [hold] = await desk.store.chargesToReturn(9);
    desk.processor.inside.succeed(charge);
    await desk.deliver(callback('h_3', charge));
    if (hold !== undefined) await desk.store.closeReturn(hold);
    expect(await desk.returnCharges()).toMatchObject({ finished: 1 });
    expect(desk.refundedAtProcessor(request)).toBe(1000);
  });

  test('is refunded under another key than that of its refused void', async () => {
    const { request, charge } = await lateHold();
    desk.processor.failNextChange(1, 'tok_declined');
    expect(await desk.returnCharges()).toMatchObject({ undecidable: 1 });
    desk.processor.inside.succeed(charge);
    await desk.deliver(callback('h_3', charge));
    const voidOperation = returnOperation(systemDigest, request.paymentId, charge, 'void');
    expect(desk.processor.sends(voidOperation)).toBe(1);
    expect(await desk.returnCharges()).toMatchObject({ finished: 1 });
    expect(desk.processor.sends(voidOperation)).toBe(1);
    expect(desk.refundedAtProcessor(request)).toBe(1000);
  });
});

describe('the resolver', () => {
  test('finishes a payment whose owner crashed, with the answer that its caller gets', async () => {
    const request = paymentRequest('dead');
    const dying = {
      ...desk.processor,
      charge: async (...call: Parameters<typeof desk.processor.charge>) => {
        await desk.processor.charge(...call);
        throw new Error('the process is gone');
      },
    };
    await expect(desk.pay(request, { processor: dying })).rejects.toThrow('gone');
    expect(await desk.resolveClaims()).toEqual({ finished: 0, waiting: 0, undecidable: 0, failed: 0 });
    desk.clock.advance(26_000);
    expect(await desk.resolveClaims()).toMatchObject({ finished: 1 });
    expect(await desk.pay(request)).toMatchObject({ kind: 'replay', answer: { status: 201 } });
    expect(desk.processor.charges(request.paymentId)).toHaveLength(1);
  });

  describe('with a released claim whose processor is no longer called', () => {
    const refusing = () => Promise.reject(new RetryableError('processor_unauthorized', '401'));
    const moved = () => ({ ...desk.processor, account: 'acct_new' });

    test('leaves it to its caller during the send window, and then ends the payment as never attempted', async () => {
      const request = paymentRequest('released');
      await expect(desk.pay(request, { processor: { ...desk.processor, charge: refusing } })).rejects.toThrow('401');
      desk.clock.advance(14 * 60_000);
      expect(await resolveClaims({ ...desk.changeTools, processor: moved() })).toMatchObject({ waiting: 1 });
      await expect(desk.pay(request, { processor: moved() })).rejects.toThrow('does not call');
      desk.clock.advance(2 * 60_000);
      expect(await resolveClaims({ ...desk.changeTools, processor: moved() })).toMatchObject({ finished: 1 });
      expect((await desk.chain(request)).state.payment).toMatchObject({
        status: 'failed',
        failure: { code: 'not_attempted' },
      });
    });

    test('frees the reservation of its refund', async () => {
      const request = paymentRequest('reserved');
      await desk.pay(request);
      const refund = change(request, 'r', { kind: 'refund' });
      await expect(desk.change(refund, { processor: { ...desk.processor, change: refusing } })).rejects.toThrow('401');
      desk.clock.advance(14 * 60_000);
      await expect(desk.change(refund, { processor: moved() })).rejects.toThrow('does not call');
      desk.clock.advance(2 * 60_000);
      expect(await resolveClaims({ ...desk.changeTools, processor: moved() })).toMatchObject({ finished: 1 });
      expect((await desk.chain(request)).state.refunds.get(refund.operationId)).toMatchObject({
        status: 'failed',
        failure: { code: 'not_attempted' },
      });
      expect(await desk.change(change(request, 'r2', { kind: 'refund' }))).toMatchObject({ answer: { status: 201 } });
    });
  });

  test('reports a claim that cannot be finished, and does not count it as finished', async () => {
    const request = paymentRequest('stuck');
    await desk.pay(request);
    const stuck = { ...openRecord(request.paymentId), operationId: chargeOperation(request.paymentId) };
    desk.store.deleteRecord(stuck.operationId);
    const work = { ...desk.changeTools.work, staleClaims: async () => [stuck] };
    expect(await resolveClaims({ ...desk.changeTools, work })).toMatchObject({ finished: 0, undecidable: 1 });
    expect(desk.reported).toMatchObject([{ code: 'claim_stuck' }]);
  });

  test.each([
    ['tok_timeout_charged', 'payment.completed'],
    ['tok_timeout_not_charged', 'payment.completed'],
  ])('determines the outcome of %s, and the stored 202 stays', async (source, ending) => {
    const request = paymentRequest(source);
    const blind = {
      ...desk.processor,
      charge: () => Promise.reject(new AmbiguousError('processor_timeout', 'no')),
      findCharge: () => Promise.reject(new RetryableError('processor_unreachable', 'no')),
    };
    if (source === 'tok_timeout_charged') await desk.processor.charge(orderOf(request), { timeoutMs: 1 });
    expect(await desk.pay(request, { processor: blind })).toMatchObject({ answer: { status: 202 } });
    expect(await desk.resolveInquiries()).toMatchObject({ finished: 1 });
    expect((await desk.typesOf(request)).at(-1)).toBe(ending);
    expect(await desk.pay(request)).toMatchObject({ kind: 'replay', answer: { status: 202 } });
    expect(await desk.store.inquiries(9)).toEqual([]);
    expect(desk.processor.charges(request.paymentId)).toHaveLength(1);
  });

  test('does not charge an old checkout: proven absent, it fails', async () => {
    const request = paymentRequest('long-ago');
    const silent = { ...desk.processor, charge: () => Promise.reject(new AmbiguousError('processor_timeout', 'no')) };
    await desk.pay(request, { processor: silent });
    desk.clock.advance(16 * 60_000);
    expect(await desk.resolveInquiries()).toMatchObject({ waiting: 1 });
    desk.clock.advance(40 * 60_000);
    expect(await desk.resolveInquiries()).toMatchObject({ finished: 1 });
    expect((await desk.chain(request)).state.payment).toMatchObject({
      status: 'failed',
      failure: { code: 'not_attempted' },
    });
    expect(desk.processor.charges(request.paymentId)).toEqual([]);
  });

  test('does not give up a payment that a processor has accepted but cannot look up', async () => {
    const abilities = { lookup: { kind: 'none' } as const, keyRetentionMs: 86_400_000 };
    const processor = createMemoryProcessor({ clock: desk.clock, abilities });
    const request = paymentRequest('accepted', { source: 'tok_async' });
    await desk.pay(request, { processor });
    for (const minutes of [1, 16, 60]) {
      desk.clock.advance(minutes * 60_000);
      await resolveInquiries({ ...desk.changeTools, processor });
    }
    const charge = String(processor.charges(request.paymentId)[0]?.chargeId);
    processor.inside.succeed(charge);
    await desk.deliver(callback('e', charge), { books: processor });
    expect((await desk.chain(request)).state.payment.status).toBe('succeeded');
  });

  test('looks up a payment that takes days at growing intervals, and ends when a callback settles it', async () => {
    const request = paymentRequest('days', { source: 'tok_async' });
    await desk.pay(request);
    expect(await desk.resolveInquiries()).toMatchObject({ waiting: 1 });
    desk.processor.inside.succeed(desk.chargeOf(request));
    await desk.deliver(callback('evt_1', desk.chargeOf(request)));
    expect(await desk.resolveInquiries()).toMatchObject({ finished: 1 });
  });

  describe('when a payer must approve and the callback is lost', () => {
    const QUARTER = 15;
    async function lookFor(minutes: number): Promise<void> {
      for (let minute = 0; minute < minutes; minute += 1) {
        desk.clock.advance(60_000);
        await desk.resolveClaims();
        await desk.resolveInquiries();
      }
    }

    test('finds the approval within 15 minutes, and then stops looking', async () => {
      const request = paymentRequest('approved', { source: 'tok_action' });
      expect(await desk.pay(request)).toMatchObject({ answer: { status: 202 } });
      await lookFor(QUARTER);
      expect((await desk.chain(request)).state.payment.status).toBe('requires_action');
      desk.processor.inside.succeed(desk.chargeOf(request));
      await lookFor(2 * QUARTER);
      expect((await desk.chain(request)).state.payment.status).toBe('succeeded');
      expect(await desk.store.inquiries(9)).toEqual([]);
      expect(desk.processor.sends(chargeOperation(request.paymentId))).toBe(1);
    });

    test('finds the expiry at the processor', async () => {
      const request = paymentRequest('ran-out', { source: 'tok_action' });
      await desk.pay(request);
      desk.processor.inside.change(desk.chargeOf(request), { status: 'voided', cancelReason: 'abandoned' });
      await lookFor(QUARTER);
      expect((await desk.chain(request)).state.payment).toMatchObject({
        status: 'canceled',
        cancelReason: 'abandoned',
      });
      await lookFor(QUARTER);
      expect(await desk.store.inquiries(9)).toEqual([]);
    });

    test('finds an approval before a cancellation, which was therefore refused', async () => {
      const request = paymentRequest('too-late', { source: 'tok_action' });
      await desk.pay(request);
      desk.processor.inside.succeed(desk.chargeOf(request));
      await desk.change(change(request, 'v', { kind: 'cancel' }));
      await lookFor(QUARTER);
      expect((await desk.chain(request)).state.payment.status).toBe('succeeded');
    });
  });

  test('is not blocked by a processor that is unavailable', async () => {
    const request = paymentRequest('unreachable', { source: 'tok_async' });
    await desk.pay(request);
    desk.processor.switchCircuit('open');
    expect(await desk.resolveInquiries()).toMatchObject({ waiting: 1, failed: 0 });
    desk.processor.switchCircuit('closed');
    desk.processor.inside.succeed(desk.chargeOf(request));
    expect(await desk.resolveInquiries()).toMatchObject({ finished: 1 });
  });
});

const orderOf = (request: CreatePayment) => ({
  operationId: chargeOperation(request.paymentId),
  paymentId: request.paymentId,
  amountMinor: request.amountMinor,
  currency: request.currency,
  source: 'tok_ok',
  capture: request.capture,
});
