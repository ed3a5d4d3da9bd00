/** Tests the guarantee "one change". */
import { beforeEach, describe, expect, test } from '@jest/globals';
import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import { isUnderWay } from '../../lambdas/payments/domain/change.ts';
import { netDebitMinor } from '../../lambdas/payments/domain/posting.ts';
import type { ChangePayment, ChangePaymentOutcome } from '../../lambdas/payments/use/change-payment.ts';
import type { ChangeOrder } from '../../lambdas/payments/use/processor.ts';
import { resolveInquiries } from '../../lambdas/resolving/use/resolve.ts';
import { fc } from '../support/properties.ts';
import { whole } from '../support/slice.ts';
import { World } from '../world/world.ts';
import { callback, change, paymentRequest } from './payment-fixtures.ts';

let harness: World;
beforeEach(() => {
  harness = new World();
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
    ['the whole amount', undefined, 1000],
    ['a part of the amount', 400, 400],
  ])('captures its amount once, posts it, and is replayed (%s)', async (_what, amountMinor, captured) => {
    await harness.pay(held);
    const capture = change(held, 'k', { kind: 'capture', ...(amountMinor === undefined ? {} : { amountMinor }) });
    const first = await harness.change(capture);
    expect([statusOf(first), bodyOf(first)]).toMatchObject([200, { status: 'succeeded', amount_captured: captured }]);
    expect(await harness.change(capture)).toMatchObject({ kind: 'replay' });
    expect(await harness.typesOf(held)).toEqual([
      'payment.created',
      'payment.authorized',
      'capture.pending',
      'payment.completed',
    ]);
    expect(harness.capturedAtProcessor(held)).toBe(captured);
  });

  test('goes into review if the processor captured a different amount than requested', async () => {
    await harness.pay(held);
    const processor: typeof harness.processor = {
      ...harness.processor,
      change: async ({ chargeId }) => ({
        kind: 'applied',
        facts: [{ kind: 'succeeded', chargeId, capturedMinor: 1500 }],
      }),
    };
    const outcome = await harness.change(change(held, 'k', { kind: 'capture' }), { processor });
    expect([statusOf(outcome), bodyOf(outcome)]).toMatchObject([
      202,
      { status: 'needs_review', failure: { code: 'wrong_amount' } },
    ]);
  });

  test('is refused above the authorized amount, and its key stays usable', async () => {
    await harness.pay(held);
    const much = change(held, 'k', { kind: 'capture', amountMinor: 1001 });
    expect(await harness.change(much)).toEqual({ kind: 'refused', refusal: { kind: 'exceeds', leftMinor: 1000 } });
    expect(statusOf(await harness.change(change(held, 'k', { kind: 'capture' })))).toBe(200);
  });

  test('is refused for a payment that is not authorized', async () => {
    await harness.pay(taken);
    expect(await harness.change(change(taken, 'k', { kind: 'capture' }))).toEqual({
      kind: 'refused',
      refusal: { kind: 'wrong_status', status: 'succeeded' },
    });
  });

  test('excludes a concurrent cancellation: exactly one of the two succeeds', async () => {
    await harness.pay(held);
    const outcomes = await Promise.all([
      harness.change(change(held, 'capture', { kind: 'capture' })),
      harness.change(change(held, 'cancel', { kind: 'cancel' })),
    ]);
    expect(outcomes.map(statusOf).filter((status) => status === 200)).toHaveLength(1);
    const { payment } = (await harness.chain(held)).state;
    expect(['succeeded', 'canceled']).toContain(payment.status);
    expect(harness.capturedAtProcessor(held)).toBe(payment.status === 'succeeded' ? 1000 : 0);
  });
});

describe('a cancellation', () => {
  test('releases the hold, frees the reference, and is replayed', async () => {
    const named = { ...held, reference: 'order-1' };
    await harness.pay(named);
    const cancel = change(named, 'k', { kind: 'cancel' });
    expect(bodyOf(await harness.change(cancel))).toMatchObject({
      status: 'canceled',
      cancellation_reason: 'requested',
    });
    expect(await harness.change(cancel)).toMatchObject({ kind: 'replay' });
    expect(await harness.pay(paymentRequest('again', { reference: 'order-1' }))).toMatchObject({ kind: 'first' });
  });
});

describe('a refund', () => {
  beforeEach(async () => {
    await harness.pay(taken);
  });

  test('takes effect once, and the payment shows the refund', async () => {
    const first = await harness.change(refund('k', 300));
    expect([statusOf(first), bodyOf(first)]).toMatchObject([201, { amount: 300, status: 'succeeded' }]);
    expect(await harness.change(refund('k', 300))).toMatchObject({ kind: 'replay' });
    expect((await harness.chain(taken)).state.payment.amountRefundedMinor).toBe(300);
    expect(harness.refundedAtProcessor(taken)).toBe(300);
  });

  test('covers the remaining amount by default, and further refunds are refused', async () => {
    await harness.change(refund('a', 300));
    expect(bodyOf(await harness.change(refund('b')))).toMatchObject({ amount: 700 });
    expect(await harness.change(refund('c', 1))).toEqual({
      kind: 'refused',
      refusal: { kind: 'exceeds', leftMinor: 0 },
    });
  });

  test('succeeds for one of two concurrent requests for 70 of 100; the other request is refused with the remaining amount', async () => {
    const outcomes = await Promise.all([harness.change(refund('a', 700)), harness.change(refund('b', 700))]);
    expect(new Set(outcomes.map(statusOf))).toEqual(new Set([201, 'refused']));
    expect(outcomes).toContainEqual({ kind: 'refused', refusal: { kind: 'exceeds', leftMinor: 300 } });
    expect(harness.refundedAtProcessor(taken)).toBe(700);
  });

  test('is refused if its key was used with a different body', async () => {
    await harness.change(refund('k', 300));
    expect(await harness.change(refund('k', 301))).toEqual({ kind: 'payload_mismatch' });
  });

  test('fails if the processor refuses it, and releases its reserved amount', async () => {
    await harness.processor.inside.failNextChange(1, 'tok_declined');
    const refused = await harness.change(refund('k', 700));
    expect([statusOf(refused), bodyOf(refused)]).toMatchObject([402, { code: 'refund_failed' }]);
    expect(await harness.typesOf(taken)).toEqual([
      'payment.created',
      'payment.completed',
      'refund.pending',
      'refund.failed',
    ]);
    expect(statusOf(await harness.change(refund('b', 1000)))).toBe(201);
  });

  test('is found by a look-up if the processor does not respond', async () => {
    await harness.processor.inside.failNextChange(1, 'tok_timeout_charged');
    expect(statusOf(await harness.change(refund('k', 300)))).toBe(201);
    expect(harness.refundedAtProcessor(taken)).toBe(300);
  });

  test('returns 202 if its outcome is not known in time, and is settled later without the client', async () => {
    await harness.processor.inside.failNextChange(9, 'tok_timeout_charged');
    const { processor } = harness;
    const isCut = () => processor.sends(refund('k').operationId) > 0;
    const cut = {
      findChange: () => Promise.reject(new RetryableError('processor_unreachable', 'no')),
      showCharge: (...call: Parameters<typeof processor.showCharge>) =>
        isCut() ? cut.findChange() : processor.showCharge(...call),
    };
    const unknown = await harness.change(refund('k', 300), { processor: { ...processor, ...cut } });
    expect([statusOf(unknown), bodyOf(unknown)]).toMatchObject([202, { status: 'pending' }]);
    expect(await harness.resolveInquiries()).toMatchObject({ finished: 1 });
    expect((await harness.chain(taken)).state.payment.amountRefundedMinor).toBe(300);
    expect(await harness.change(refund('k', 300))).toMatchObject({ kind: 'replay', answer: { status: 202 } });
  });

  test('that was declared not attempted but takes effect later is posted and raises an alarm', async () => {
    const silent = {
      ...harness.processor,
      change: () => Promise.reject(new AmbiguousError('processor_timeout', 'no response')),
    };
    const { operationId, paymentId } = refund('k', 300);
    await harness.change(refund('k', 300), { processor: silent });
    harness.clock.advance(50 * 60_000);
    await resolveInquiries({ ...harness.tools, processor: silent });
    // The request was sent, so the message must not say that nothing was sent.
    expect((await harness.chain(taken)).state.refunds.get(operationId)?.failure).toEqual({
      code: 'not_attempted',
      message: 'The processor has no such refund, and Payonce will not request it again.',
    });
    // The processor delayed the refund and executes it now, under Payonce's key and refund id.
    const chargeId = harness.chargeOf(taken);
    const late = { operationId, paymentId, chargeId, currency: 'EUR', change: { kind: 'refund', amountMinor: 300 } };
    await harness.processor.change(late as ChangeOrder, { timeoutMs: 1 });
    const alarms: string[] = [];
    const outcome = await harness.deliver(callback('evt_late', chargeId), { alarm: (what) => alarms.push(what) });
    expect(outcome).toMatchObject({ transitions: ['refund.completed'], contradictions: [expect.any(String)] });
    expect(alarms).toEqual(['contradiction']);
    expect((await harness.chain(taken)).state.payment.amountRefundedMinor).toBe(300);
    expect(harness.refundedAtProcessor(taken)).toBe(300);
  });

  test('is posted once if its callback arrives before its owner commits; the owner appends nothing, and returns the response', async () => {
    const early = {
      change: async (...call: Parameters<typeof harness.processor.change>) => {
        const outcome = await harness.processor.change(...call);
        await harness.deliver(callback('evt_early', harness.chargeOf(taken)));
        return outcome;
      },
    };
    const outcome = await harness.change(refund('k', 300), { processor: { ...harness.processor, ...early } });
    expect(statusOf(outcome)).toBe(201);
    expect((await harness.typesOf(taken)).filter((type) => type === 'refund.completed')).toHaveLength(1);
  });

  test('never changes the 202 of its key: after the retention, the key is expired, even if the record was deleted', async () => {
    await harness.processor.inside.failNextChange(1, 'tok_async'); // Simulates a bank transfer, which takes weeks.
    expect(statusOf(await harness.change(refund('k', 300)))).toBe(202);
    const { operationId } = refund('k');
    harness.clock.advance(9 * 24 * 60 * 60_000);
    expect(await harness.change(refund('k', 300))).toMatchObject({ kind: 'key_expired' });
    harness.store.deleteRecord(operationId);
    expect(await harness.change(refund('k', 300))).toMatchObject({ kind: 'key_expired' });
    await harness.processor.inside.endRefund(operationId, 'succeeded');
    expect(await harness.change(refund('k', 300))).toMatchObject({ kind: 'key_expired' });
    let finished = 0;
    for (let minute = 0; minute < 15; minute += 1) {
      harness.clock.advance(60_000);
      finished += (await harness.resolveInquiries()).finished;
    }
    expect(finished).toBe(1);
    expect((await harness.chain(taken)).state.payment.amountRefundedMinor).toBe(300);
  });

  test('is resumed only by the same request if its record is lost', async () => {
    await harness.dieAfterChange(refund('k', 300));
    harness.store.deleteRecord(refund('k').operationId);
    const reasoned = change(taken, 'k', { kind: 'refund', amountMinor: 300, reason: 'another' });
    for (const other of [refund('k'), refund('k', 301), reasoned]) {
      expect(await harness.change(other)).toEqual({ kind: 'payload_mismatch' });
    }
    expect(statusOf(await harness.change(refund('k', 300)))).toBe(201);
    expect(harness.refundedAtProcessor(taken)).toBe(300);
  });

  test('accepts a retry with a different reason, but not a different amount, after the loss of its record and its reason', async () => {
    const reasoned = (reason: string, amountMinor = 300) => change(taken, 'k', { kind: 'refund', amountMinor, reason });
    await harness.dieAfterChange(reasoned('Returned by Ada'));
    harness.store.deleteRecord(refund('k').operationId);
    expect(await harness.change(reasoned('Returned by Eve'))).toEqual({ kind: 'payload_mismatch' });
    await harness.store.erase(taken.paymentId);
    expect(await harness.change(reasoned('Returned by Ada', 301))).toEqual({ kind: 'payload_mismatch' });
    expect(statusOf(await harness.change(reasoned('Returned by Eve')))).toBe(201);
    expect(harness.refundedAtProcessor(taken)).toBe(300);
  });

  test('is not executed again for its key, even if its record is lost after the response', async () => {
    await harness.change(refund('k', 300));
    harness.store.deleteRecord(refund('k').operationId);
    expect(await harness.change(refund('k', 300))).toMatchObject({ kind: 'key_expired' });
  });

  test('is only looked up, never sent, if its record is lost and sixteen minutes have passed', async () => {
    await harness.dieBeforeChange(refund('k', 300));
    harness.store.deleteRecord(refund('k').operationId);
    harness.clock.advance(16 * 60_000);
    expect(statusOf(await harness.change(refund('k', 300)))).toBe(202);
    expect(harness.refundedAtProcessor(taken)).toBe(0);
  });

  test('does not store the processor’s refusal if the refund’s record is lost', async () => {
    await harness.processor.inside.failNextChange(9, 'tok_declined');
    const deleting = {
      change: async (...call: Parameters<typeof harness.processor.change>) => {
        const outcome = await harness.processor.change(...call);
        harness.store.deleteRecord(refund('k').operationId);
        return outcome;
      },
    };
    const processor = { ...harness.processor, ...deleting };
    await expect(harness.change(refund('k', 700), { processor })).rejects.toMatchObject({ code: 'contention' });
    expect((await harness.typesOf(taken)).at(-1)).toBe('refund.pending');
  });

  test('is answered without a request to the processor if a callback has recorded its outcome', async () => {
    await harness.dieAfterChange(refund('k', 300));
    await harness.deliver(callback('evt_known', harness.chargeOf(taken)));
    harness.clock.advance(26_000);
    const unasked = () => Promise.reject(new Error('the processor must not be called'));
    const processor = { ...harness.processor, change: unasked, findChange: unasked };
    expect(statusOf(await harness.change(refund('k', 300), { processor }))).toBe(201);
  });

  test('does not begin while the breaker is open, or in a deployment that does not call the payment’s processor', async () => {
    const unready = new RetryableError('circuit_open', 'the processor must not be called');
    const closed = { ...harness.processor, ready: () => Promise.reject(unready) };
    await expect(harness.change(refund('k', 300), { processor: closed })).rejects.toBe(unready);
    const moved = { ...harness.processor, endpoint: 'https://elsewhere.example', account: 'other' };
    const elsewhere = harness.change(refund('k', 300), { processor: moved });
    await expect(elsewhere).rejects.toMatchObject({ code: 'processor_elsewhere' });
    expect((await harness.typesOf(taken)).at(-1)).toBe('payment.completed');
  });

  test('stays pending if it may have been sent and the deployment does not call the payment’s processor', async () => {
    await harness.dieAfterChange(refund('k', 300));
    harness.clock.advance(16 * 60_000);
    const moved = { ...harness.processor, endpoint: 'https://elsewhere.example', account: 'other' };
    const outcome = await harness.change(refund('k', 300), { processor: moved });
    expect([statusOf(outcome), bodyOf(outcome)]).toMatchObject([202, { status: 'pending' }]);
  });

  test('fails if it was never sent, the send window has closed, and the deployment does not call the payment’s processor', async () => {
    await harness.processor.inside.failNextChange(1, 'tok_unauthorized');
    await expect(harness.change(refund('k', 300))).rejects.toBeInstanceOf(RetryableError);
    const moved = { ...harness.processor, endpoint: 'https://elsewhere.example', account: 'other' };
    const early = harness.change(refund('k', 300), { processor: moved });
    await expect(early).rejects.toMatchObject({ code: 'processor_elsewhere' });
    harness.clock.advance(16 * 60_000);
    expect(statusOf(await harness.change(refund('k', 300), { processor: moved }))).toBe(409);
  });

  test('has one effect if a callback also reports it', async () => {
    await harness.change(refund('k', 300));
    expect(await harness.deliver(callback('evt_1', harness.chargeOf(taken)))).toMatchObject({ transitions: [] });
  });

  test('is finished by a retry, or by the resolver alone, if its owner crashed', async () => {
    for (const [key, finish] of [
      ['a', () => harness.change(refund('a', 100))],
      ['b', () => harness.resolveClaims()],
    ] as const) {
      await harness.dieAfterChange(refund(key, 100));
      harness.clock.advance(26_000);
      await finish();
      expect(await harness.change(refund(key, 100))).toMatchObject({ answer: { status: 201 } });
    }
    expect(harness.refundedAtProcessor(taken)).toBe(200);
  });

  test('leaves its key usable and no amount reserved if the processor rejects it temporarily', async () => {
    await harness.processor.inside.failNextChange(1, 'tok_rate_limited');
    await expect(harness.change(refund('k', 700))).rejects.toBeInstanceOf(RetryableError);
    expect(statusOf(await harness.change(refund('k', 700)))).toBe(201);

    await harness.processor.inside.failNextChange(1, 'tok_unauthorized');
    await expect(harness.change(refund('left', 300))).rejects.toBeInstanceOf(RetryableError);
    expect(await harness.resolveClaims()).toMatchObject({ finished: 0, failed: 0 });
    harness.clock.advance(16 * 60_000);
    expect(await harness.resolveClaims()).toMatchObject({ finished: 1 });
    expect(await harness.change(refund('left', 300))).toMatchObject({ answer: { status: 409 } });
    expect(statusOf(await harness.change(refund('new', 300)))).toBe(201);
  });

  test('is not found for another tenant’s payment', async () => {
    const foreign: ChangePayment = { ...refund('k', 1), tenantId: 'ten_other' as ChangePayment['tenantId'] };
    expect(await harness.change(foreign)).toEqual({ kind: 'not_found' });
    expect(await harness.change({ ...refund('k', 1), mode: 'live' })).toEqual({ kind: 'not_found' });
  });
});

describe('any sequence of changes and callbacks, two at a time,', () => {
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

  test('keeps refunds ≤ captured ≤ authorized, at the processor and in the ledger', async () => {
    await fc.assert(
      fc.asyncProperty(fc.boolean(), fc.array(fc.tuple(step, step), { maxLength: 6 }), async (manual, pairs) => {
        harness = new World();
        const request = paymentRequest('any', { capture: manual ? 'manual' : 'automatic' });
        await harness.pay(request);
        let events = 0;
        const take = async (each: Step): Promise<unknown> => {
          const charge = harness.chargeOf(request);
          events += 1;
          switch (each.do) {
            case 'callback':
              return harness.deliver(callback(`evt_${events}`, charge));
            case 'refund_at_processor':
              return harness.refundByHand(request, 100);
            case 'cancel':
              return harness.change(change(request, `cancel-${each.key}`, { kind: 'cancel' }));
            case 'capture':
            case 'refund': {
              const command = { kind: each.do, amountMinor: each.amountMinor };
              return harness.change(change(request, `${each.do}-${each.key}-${each.amountMinor}`, command));
            }
          }
        };
        for (const pair of pairs) await Promise.all(pair.map(take));
        await harness.deliver(callback('evt_end', harness.chargeOf(request)));

        const { state, transitions } = await harness.chain(request);
        const postings = transitions.flatMap((transition) => transition.postings);
        const captured = harness.capturedAtProcessor(request);
        const refunded = harness.refundedAtProcessor(request);
        expect(refunded).toBeLessThanOrEqual(captured);
        expect(captured).toBeLessThanOrEqual(1000);
        expect(state.payment).toMatchObject({ amountCapturedMinor: captured, amountRefundedMinor: refunded });
        expect(netDebitMinor('processor_clearing', 'EUR', postings)).toBe(captured - refunded);
        const open = [...state.refunds.values(), ...state.holdChanges.values()].filter((each) =>
          isUnderWay(each, state),
        );
        expect(open).toEqual([]);
      }),
      { numRuns: whole(300, { slice: 50 }) },
    );
  });
});
