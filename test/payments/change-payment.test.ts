import { beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import { isUnderWay } from '../../lambdas/payments/domain/change.ts';
import { netDebitMinor } from '../../lambdas/payments/domain/posting.ts';
import type { ChangePayment, ChangePaymentOutcome } from '../../lambdas/payments/use/change-payment.ts';
import type { ChangeOrder } from '../../lambdas/payments/use/processor.ts';
import { resolveInquiries } from '../../lambdas/resolving/use/resolve.ts';
import { callback } from '../support/callback-desk.ts';
import { ChangeDesk, change } from '../support/change-desk.ts';
import { paymentRequest } from '../support/payment-fixtures.ts';

let desk: ChangeDesk;
beforeEach(() => {
  desk = new ChangeDesk();
});

const held = paymentRequest('held', { capture: 'manual' });
const taken = paymentRequest('taken');

const statusOf = (outcome: ChangePaymentOutcome) =>
  outcome.kind === 'first' || outcome.kind === 'replay' ? outcome.answer.status : outcome.kind;
const bodyOf = (outcome: ChangePaymentOutcome) =>
  outcome.kind === 'first' || outcome.kind === 'replay'
    ? (JSON.parse(outcome.answer.body) as Record<string, unknown>)
    : {};
const refund = (key: string, amountMinor?: number) =>
  change(taken, key, { kind: 'refund', ...(amountMinor === undefined ? {} : { amountMinor }) });

describe('a capture', () => {
  test.each([
    ['of all', undefined, 1000],
    ['of a part', 400, 400],
  ])('%s takes it once, posts it, and is replayed', async (_what, amountMinor, captured) => {
    await desk.pay(held);
    const capture = change(held, 'k', { kind: 'capture', ...(amountMinor === undefined ? {} : { amountMinor }) });
    const first = await desk.change(capture);
    expect([statusOf(first), bodyOf(first)]).toMatchObject([200, { status: 'succeeded', amount_captured: captured }]);
    expect(await desk.change(capture)).toMatchObject({ kind: 'replay' });
    expect(await desk.typesOf(held)).toEqual([
      'payment.created',
      'payment.authorized',
      'capture.pending',
      'payment.completed',
    ]);
    expect(desk.capturedAtProcessor(held)).toBe(captured);
  });

  test('beyond the authorized amount is refused, and the key may be used again', async () => {
    await desk.pay(held);
    const much = change(held, 'k', { kind: 'capture', amountMinor: 1001 });
    expect(await desk.change(much)).toEqual({ kind: 'refused', refusal: { kind: 'exceeds', leftMinor: 1000 } });
    expect(statusOf(await desk.change(change(held, 'k', { kind: 'capture' })))).toBe(200);
  });

  test('of a payment that is not held is refused', async () => {
    await desk.pay(taken);
    expect(await desk.change(change(taken, 'k', { kind: 'capture' }))).toEqual({
      kind: 'refused',
      refusal: { kind: 'wrong_status', status: 'succeeded' },
    });
  });

  test('races a cancellation: one wins', async () => {
    await desk.pay(held);
    const outcomes = await Promise.all([
      desk.change(change(held, 'capture', { kind: 'capture' })),
      desk.change(change(held, 'cancel', { kind: 'cancel' })),
    ]);
    expect(outcomes.map(statusOf).filter((status) => status === 200)).toHaveLength(1);
    const { payment } = (await desk.chain(held)).state;
    expect(['succeeded', 'canceled']).toContain(payment.status);
    expect(desk.capturedAtProcessor(held)).toBe(payment.status === 'succeeded' ? 1000 : 0);
  });
});

describe('a cancellation', () => {
  test('lets the money go, frees the reference, and is replayed', async () => {
    const named = { ...held, reference: 'order-1' };
    await desk.pay(named);
    const cancel = change(named, 'k', { kind: 'cancel' });
    expect(bodyOf(await desk.change(cancel))).toMatchObject({ status: 'canceled', cancellation_reason: 'requested' });
    expect(await desk.change(cancel)).toMatchObject({ kind: 'replay' });
    expect(await desk.pay(paymentRequest('again', { reference: 'order-1' }))).toMatchObject({ kind: 'first' });
  });
});

describe('a refund', () => {
  beforeEach(async () => {
    await desk.pay(taken);
  });

  test('refunds once, and the payment shows it', async () => {
    const first = await desk.change(refund('k', 300));
    expect([statusOf(first), bodyOf(first)]).toMatchObject([201, { amount: 300, status: 'succeeded' }]);
    expect(await desk.change(refund('k', 300))).toMatchObject({ kind: 'replay' });
    expect((await desk.chain(taken)).state.payment.amountRefundedMinor).toBe(300);
    expect(desk.refundedAtProcessor(taken)).toBe(300);
  });

  test('of what is left, then of nothing more', async () => {
    await desk.change(refund('a', 300));
    expect(bodyOf(await desk.change(refund('b')))).toMatchObject({ amount: 700 });
    expect(await desk.change(refund('c', 1))).toEqual({ kind: 'refused', refusal: { kind: 'exceeds', leftMinor: 0 } });
  });

  test('of 70 out of 100, twice at once: one proceeds, the other is told what is left', async () => {
    const outcomes = await Promise.all([desk.change(refund('a', 700)), desk.change(refund('b', 700))]);
    expect(new Set(outcomes.map(statusOf))).toEqual(new Set([201, 'refused']));
    expect(outcomes).toContainEqual({ kind: 'refused', refusal: { kind: 'exceeds', leftMinor: 300 } });
    expect(desk.refundedAtProcessor(taken)).toBe(700);
  });

  test('with another body under the same key is refused, and the stored answer stays', async () => {
    await desk.change(refund('k', 300));
    expect(await desk.change(refund('k', 301))).toEqual({ kind: 'payload_mismatch' });
  });

  test('that the processor refuses is failed, and frees what it reserved', async () => {
    desk.processor.inside.refund(desk.chargeOf(taken), 900);
    const refused = await desk.change(refund('k', 700));
    expect([statusOf(refused), bodyOf(refused)]).toMatchObject([402, { code: 'refund_failed' }]);
    expect(await desk.typesOf(taken)).toEqual([
      'payment.created',
      'payment.completed',
      'refund.pending',
      'refund.failed',
    ]);
    expect(statusOf(await desk.change(refund('b', 100)))).toBe(201);
  });

  test('that the processor has not answered is asked about, and found', async () => {
    desk.processor.failNextChange(1, 'tok_timeout_charged');
    expect(statusOf(await desk.change(refund('k', 300)))).toBe(201);
    expect(desk.refundedAtProcessor(taken)).toBe(300);
  });

  test('whose outcome is not known in time is 202, and is found out later without the client', async () => {
    desk.processor.failNextChange(9, 'tok_timeout_charged');
    const cut = { findChange: () => Promise.reject(new RetryableError('processor_unreachable', 'no')) };
    const unknown = await desk.change(refund('k', 300), { processor: { ...desk.processor, ...cut } });
    expect([statusOf(unknown), bodyOf(unknown)]).toMatchObject([202, { status: 'pending' }]);
    expect(await desk.resolveInquiries()).toMatchObject({ finished: 1 });
    expect((await desk.chain(taken)).state.payment.amountRefundedMinor).toBe(300);
    expect(await desk.change(refund('k', 300))).toMatchObject({ kind: 'replay', answer: { status: 202 } });
  });

  test('that was declared not attempted, and took effect after all, is posted, and an alarm reports it', async () => {
    const silent = {
      ...desk.processor,
      change: () => Promise.reject(new AmbiguousError('processor_timeout', 'no answer')),
    };
    const { operationId, paymentId } = refund('k', 300);
    await desk.change(refund('k', 300), { processor: silent });
    desk.clock.advance(50 * 60_000);
    await resolveInquiries({ ...desk.changeTools, processor: silent });
    expect((await desk.chain(taken)).state.refunds.get(operationId)?.failure?.code).toBe('not_attempted');
    // The processor delayed the refund and executes it now, under Payonce's key and refund id.
    const chargeId = desk.chargeOf(taken);
    const late = { operationId, paymentId, chargeId, currency: 'EUR', change: { kind: 'refund', amountMinor: 300 } };
    await desk.processor.change(late as ChangeOrder, { timeoutMs: 1 });
    const alarms: string[] = [];
    const heard = await desk.deliver(callback('evt_late', chargeId), { alarm: (what) => alarms.push(what) });
    expect(heard).toMatchObject({ transitions: ['refund.completed'], contradictions: [expect.any(String)] });
    expect(alarms).toEqual(['contradiction']);
    expect((await desk.chain(taken)).state.payment.amountRefundedMinor).toBe(300);
    expect(desk.refundedAtProcessor(taken)).toBe(300);
  });

  test('whose callback was first: the owner only stores the answer', async () => {
    const early = {
      change: async (...call: Parameters<typeof desk.processor.change>) => {
        const outcome = await desk.processor.change(...call);
        await desk.deliver(callback('evt_early', desk.chargeOf(taken)));
        return outcome;
      },
    };
    const outcome = await desk.change(refund('k', 300), { processor: { ...desk.processor, ...early } });
    expect(statusOf(outcome)).toBe(201);
    expect((await desk.typesOf(taken)).filter((type) => type === 'refund.completed')).toHaveLength(1);
  });

  test('that was answered 202 is never answered otherwise under its key, its record deleted or not', async () => {
    desk.processor.failNextChange(1, 'tok_async'); // A transfer between banks, which takes weeks.
    expect(statusOf(await desk.change(refund('k', 300)))).toBe(202);
    const { operationId } = refund('k');
    desk.clock.advance(9 * 24 * 60 * 60_000);
    expect(await desk.change(refund('k', 300))).toMatchObject({ kind: 'key_expired' });
    desk.store.deleteRecord(operationId);
    expect(await desk.change(refund('k', 300))).toMatchObject({ kind: 'key_expired' });
    desk.processor.inside.setRefund(operationId, 'succeeded');
    expect(await desk.change(refund('k', 300))).toMatchObject({ kind: 'key_expired' });
    let finished = 0;
    for (let minute = 0; minute < 15; minute += 1) {
      desk.clock.advance(60_000);
      finished += (await desk.resolveInquiries()).finished;
    }
    expect(finished).toBe(1);
    expect((await desk.chain(taken)).state.payment.amountRefundedMinor).toBe(300);
  });

  test('whose record is lost is taken up by the request that asked for it, and by no other', async () => {
    await desk.dieAfterChange(refund('k', 300));
    desk.store.deleteRecord(refund('k').operationId);
    const reasoned = change(taken, 'k', { kind: 'refund', amountMinor: 300, reason: 'another' });
    for (const other of [refund('k'), refund('k', 301), reasoned]) {
      expect(await desk.change(other)).toEqual({ kind: 'payload_mismatch' });
    }
    expect(statusOf(await desk.change(refund('k', 300)))).toBe(201);
    expect(desk.refundedAtProcessor(taken)).toBe(300);
  });

  test('that a callback reports too has one effect', async () => {
    await desk.change(refund('k', 300));
    expect(await desk.deliver(callback('evt_1', desk.chargeOf(taken)))).toMatchObject({ transitions: [] });
  });

  test('whose owner crashed is finished by a retry, or by the resolver alone', async () => {
    for (const [key, finish] of [
      ['a', () => desk.change(refund('a', 100))],
      ['b', () => desk.resolveClaims()],
    ] as const) {
      await desk.dieAfterChange(refund(key, 100));
      desk.clock.advance(26_000);
      await finish();
      expect(await desk.change(refund(key, 100))).toMatchObject({ answer: { status: 201 } });
    }
    expect(desk.refundedAtProcessor(taken)).toBe(200);
  });

  test('when the processor says "not now" leaves the key usable, and keeps no reservation', async () => {
    desk.processor.failNextChange(1, 'tok_rate_limited');
    await expect(desk.change(refund('k', 700))).rejects.toBeInstanceOf(RetryableError);
    expect(statusOf(await desk.change(refund('k', 700)))).toBe(201);

    desk.processor.failNextChange(1, 'tok_unauthorized');
    await expect(desk.change(refund('left', 300))).rejects.toBeInstanceOf(RetryableError);
    expect(await desk.resolveClaims()).toMatchObject({ waiting: 1 });
    desk.clock.advance(16 * 60_000);
    expect(await desk.resolveClaims()).toMatchObject({ finished: 1 });
    expect(await desk.change(refund('left', 300))).toMatchObject({ answer: { status: 409 } });
    expect(statusOf(await desk.change(refund('new', 300)))).toBe(201);
  });

  test('of another tenant’s payment finds nothing', async () => {
    const foreign: ChangePayment = { ...refund('k', 1), tenantId: 'ten_other' as ChangePayment['tenantId'] };
    expect(await desk.change(foreign)).toEqual({ kind: 'not_found' });
  });
});

describe('any sequence of changes and callbacks, raced in pairs', () => {
  type Step =
    | { readonly do: 'capture' | 'refund'; readonly amountMinor: number; readonly key: number }
    | { readonly do: 'cancel'; readonly key: number }
    | { readonly do: 'callback' | 'refund_at_processor' };
  const amountMinor = fc.constantFrom(1, 300, 700, 1000);
  const key = fc.nat(3);
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.record({ do: fc.constantFrom('capture' as const, 'refund' as const), amountMinor, key }),
    fc.record({ do: fc.constant('cancel' as const), key }),
    fc.record({ do: fc.constantFrom('callback' as const, 'refund_at_processor' as const) }),
  );

  test('refunds ≤ captured ≤ authorized, at the processor and in the ledger', async () => {
    await fc.assert(
      fc.asyncProperty(fc.boolean(), fc.array(fc.tuple(step, step), { maxLength: 6 }), async (manual, pairs) => {
        desk = new ChangeDesk();
        const request = paymentRequest('any', { capture: manual ? 'manual' : 'automatic' });
        await desk.pay(request);
        let events = 0;
        const take = async (each: Step): Promise<unknown> => {
          const charge = desk.chargeOf(request);
          events += 1;
          switch (each.do) {
            case 'callback':
              return desk.deliver(callback(`evt_${events}`, charge));
            case 'refund_at_processor':
              return desk.refundByHand(request, 100);
            case 'cancel':
              return desk.change(change(request, `cancel-${each.key}`, { kind: 'cancel' }));
            case 'capture':
            case 'refund': {
              const command = { kind: each.do, amountMinor: each.amountMinor };
              return desk.change(change(request, `${each.do}-${each.key}-${each.amountMinor}`, command));
            }
          }
        };
        for (const pair of pairs) await Promise.all(pair.map(take));
        await desk.deliver(callback('evt_end', desk.chargeOf(request)));

        const { state, transitions } = await desk.chain(request);
        const postings = transitions.flatMap((transition) => transition.postings);
        const captured = desk.capturedAtProcessor(request);
        const refunded = desk.refundedAtProcessor(request);
        expect(refunded).toBeLessThanOrEqual(captured);
        expect(captured).toBeLessThanOrEqual(1000);
        expect(state.payment).toMatchObject({ amountCapturedMinor: captured, amountRefundedMinor: refunded });
        expect(netDebitMinor('processor_clearing', 'EUR', postings)).toBe(captured - refunded);
        const open = [...state.refunds.values(), ...state.holdChanges.values()].filter((each) =>
          isUnderWay(each, state),
        );
        expect(open).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });
});
