import { beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import { chargeOperation, storedOperationId } from '../../lambdas/kernel/ids.ts';
import { assertBalanced } from '../../lambdas/payments/domain/posting.ts';
import type { Effect } from '../../lambdas/payments/use/effect-store.ts';
import type { PaymentChain } from '../../lambdas/payments/use/payment-chain.ts';
import { CallbackDesk, callback } from '../support/callback-desk.ts';
import { paymentRequest } from '../support/payment-fixtures.ts';

const HOUR_MS = 60 * 60_000;

let desk: CallbackDesk;
beforeEach(() => {
  desk = new CallbackDesk();
});

/** The result for a payment, regardless of the order of events: states, totals and the sum of each account. */
function endOf({ state, transitions }: PaymentChain) {
  const { status, amountCapturedMinor, amountRefundedMinor } = state.payment;
  const sums: Record<string, number> = {};
  for (const { account, direction, amountMinor } of transitions.flatMap(({ postings }) => postings)) {
    sums[account] = (sums[account] ?? 0) + (direction === 'debit' ? amountMinor : -amountMinor);
  }
  const statuses = [...state.refunds.values(), ...state.disputes.values(), ...state.strayCharges.values()].map(
    (subject) => JSON.stringify(subject),
  );
  return { status, amountCapturedMinor, amountRefundedMinor, sums, statuses: statuses.sort() };
}

describe('a callback', () => {
  test('settles a pending payment, once', async () => {
    const request = paymentRequest('async', { source: 'tok_async' });
    expect(await desk.pay(request)).toMatchObject({ kind: 'first', answer: { status: 202 } });
    const charge = desk.chargeOf(request);
    desk.processor.inside.succeed(charge);
    expect(await desk.deliver(callback('evt_1', charge))).toEqual({
      kind: 'taken_in',
      paymentId: request.paymentId,
      transitions: ['payment.completed'],
      contradictions: [],
    });
    expect(await desk.deliver(callback('evt_1', charge))).toEqual({ kind: 'redelivered' });
    expect(await desk.deliver(callback('evt_2', charge))).toMatchObject({ kind: 'taken_in', transitions: [] });
    expect(await desk.typesOf(request)).toEqual(['payment.created', 'payment.processing', 'payment.completed']);
  });

  test('that arrives twice at once has one effect, and both are acknowledged', async () => {
    const request = paymentRequest('twice', { source: 'tok_async' });
    await desk.pay(request);
    const charge = desk.chargeOf(request);
    desk.processor.inside.succeed(charge);
    const outcomes = await Promise.all([
      desk.deliver(callback('evt_1', charge)),
      desk.deliver(callback('evt_1', charge)),
      desk.deliver(callback('evt_2', charge)),
    ]);
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual(['redelivered', 'taken_in', 'taken_in']);
    const { transitions } = await desk.chain(request);
    expect(transitions.filter(({ postings }) => postings.length > 0)).toHaveLength(1);
  });

  test('that is early appends the outcome on the pending payment; the owner only stores the answer', async () => {
    const request = paymentRequest('early');
    const processor = {
      ...desk.processor,
      charge: async (...call: Parameters<typeof desk.processor.charge>) => {
        const outcome = await desk.processor.charge(...call);
        await desk.deliver(callback('evt_1', desk.chargeOf(request)));
        return outcome;
      },
    };
    expect(await desk.pay(request, { processor })).toMatchObject({ kind: 'first', answer: { status: 201 } });
    expect(await desk.typesOf(request)).toEqual(['payment.created', 'payment.completed']);
  });

  test('that is early and reports a decline: the owner answers with the decline', async () => {
    const request = paymentRequest('early-no', { source: 'tok_declined' });
    const processor = {
      ...desk.processor,
      charge: async (...call: Parameters<typeof desk.processor.charge>) => {
        const outcome = await desk.processor.charge(...call);
        await desk.deliver(callback('evt_1', desk.chargeOf(request)));
        return outcome;
      },
    };
    expect(await desk.pay(request, { processor })).toMatchObject({ answer: { status: 402 } });
    expect(await desk.typesOf(request)).toEqual(['payment.created', 'payment.failed']);
  });

  test('settles the claim of a dead owner, and a retry gets the answer', async () => {
    const request = paymentRequest('dead-owner');
    const dying = {
      ...desk.processor,
      charge: async (...call: Parameters<typeof desk.processor.charge>) => {
        await desk.processor.charge(...call);
        throw new Error('the process is gone');
      },
    };
    await expect(desk.pay(request, { processor: dying })).rejects.toThrow('gone');
    await desk.deliver(callback('evt_1', desk.chargeOf(request)));
    desk.clock.advance(26_000);
    expect(await desk.pay(request)).toMatchObject({ kind: 'first', answer: { status: 201 } });
    expect(desk.processor.sends(chargeOperation(request.paymentId))).toBe(1);
  });

  test('of an unknown refund also records the missing earlier facts', async () => {
    const request = paymentRequest('refund-first', { source: 'tok_async' });
    await desk.pay(request);
    const charge = desk.chargeOf(request);
    desk.processor.inside.succeed(charge);
    desk.processor.inside.refund(charge, 300);
    expect(await desk.deliver(callback('evt_refund', charge))).toMatchObject({
      transitions: ['payment.completed', 'refund.completed'],
    });
    expect((await desk.chain(request)).state.payment).toMatchObject({ status: 'succeeded', amountRefundedMinor: 300 });
  });

  test('of two equal refunds under two events: two effects', async () => {
    const request = paymentRequest('equal-refunds');
    await desk.pay(request);
    const charge = desk.chargeOf(request);
    desk.processor.inside.refund(charge, 300);
    await desk.deliver(callback('evt_1', charge));
    desk.processor.inside.refund(charge, 300);
    await desk.deliver(callback('evt_2', charge));
    await desk.deliver(callback('evt_3', charge));
    expect((await desk.typesOf(request)).filter((type) => type === 'refund.completed')).toHaveLength(2);
    expect((await desk.chain(request)).state.payment.amountRefundedMinor).toBe(600);
  });

  test('of a refund that failed days after it was accepted corrects the totals', async () => {
    const request = paymentRequest('failed-refund');
    await desk.pay(request);
    const charge = desk.chargeOf(request);
    const refund = desk.processor.inside.refund(charge, 300);
    await desk.deliver(callback('evt_1', charge));
    desk.clock.advance(72 * HOUR_MS);
    desk.processor.inside.setRefund(refund, 'failed');
    expect(await desk.deliver(callback('evt_2', charge))).toMatchObject({ transitions: ['refund.failed'] });
    expect((await desk.chain(request)).state.payment.amountRefundedMinor).toBe(0);
  });

  test('of a dispute that was lost, appealed and won returns its money to the books', async () => {
    const request = paymentRequest('appeal');
    await desk.pay(request);
    const dispute = desk.processor.inside.dispute(desk.chargeOf(request), 1000);
    for (const [turn, status] of (['open', 'lost', 'open', 'won'] as const).entries()) {
      desk.processor.inside.setDispute(dispute, status);
      await desk.deliver(callback(`evt_${turn}`, desk.chargeOf(request)));
    }
    expect(endOf(await desk.chain(request)).sums['disputes']).toBe(0);
  });

  test('that read the charge before a rival and writes after it does not record the older state', async () => {
    const request = paymentRequest('stale-read');
    await desk.pay(request);
    const charge = desk.chargeOf(request);
    desk.processor.inside.change(charge, { feeMinor: 30 });
    let raced = false;
    const books = {
      ...desk.processor,
      readCharge: async (...call: Parameters<typeof desk.processor.readCharge>) => {
        const old = await desk.processor.readCharge(...call);
        if (!raced) {
          raced = true;
          desk.processor.inside.change(charge, { feeMinor: 59 });
          await desk.deliver(callback('evt_2', charge));
        }
        return old;
      },
    };
    await desk.deliver({ ...callback('evt_1', charge), paymentId: request.paymentId }, { books });
    expect((await desk.chain(request)).state.payment.feeMinor).toBe(59);
  });

  test.each([
    ['released', (charge: string) => desk.processor.inside.change(charge, { status: 'voided' }), 'canceled'],
    ['captured with another amount', (charge: string) => desk.processor.inside.succeed(charge, 1_500), 'needs_review'],
  ])('that settles a payment as %s takes precedence over its owner’s older answer', async (_what, happens, status) => {
    const request = paymentRequest(`overruled-${status}`, { capture: 'manual' });
    const processor = {
      ...desk.processor,
      charge: async (...call: Parameters<typeof desk.processor.charge>) => {
        const outcome = await desk.processor.charge(...call);
        happens(desk.chargeOf(request));
        await desk.deliver(callback('evt_1', desk.chargeOf(request)));
        return outcome;
      },
    };
    await desk.pay(request, { processor });
    expect((await desk.chain(request)).state.payment.status).toBe(status);
    expect(await desk.store.chargesToReturn(9)).toEqual([]);
  });

  test('whose charge declines a confirmed capture is a contradiction', async () => {
    const request = paymentRequest('revoked');
    await desk.pay(request);
    const charge = desk.chargeOf(request);
    desk.processor.inside.change(charge, { status: 'declined' });
    expect(await desk.deliver(callback('evt_1', charge))).toMatchObject({
      transitions: [],
      contradictions: ['a captured charge cannot be refused'],
    });
  });

  test('raises its alarm even if the answer to its write is lost', async () => {
    const request = paymentRequest('alarm', { source: 'tok_async' });
    await desk.pay(request);
    const charge = desk.chargeOf(request);
    desk.processor.inside.change(charge, { status: 'declined' });
    await desk.deliver(callback('evt_1', charge));
    desk.processor.inside.succeed(charge);
    const alarms: string[] = [];
    const effects = {
      ...desk.tools.effects,
      readEffect: desk.store.readEffect.bind(desk.store),
      listTransitions: desk.store.listTransitions.bind(desk.store),
      recordEffect: async (effect: Effect) => {
        await desk.store.recordEffect(effect);
        throw new AmbiguousError('store_ambiguous', 'the answer is lost');
      },
    };
    const alarm = (what: string) => void alarms.push(what);
    await expect(desk.deliver(callback('evt_2', charge), { effects, alarm })).rejects.toBeInstanceOf(AmbiguousError);
    expect(await desk.deliver(callback('evt_2', charge), { alarm })).toEqual({ kind: 'redelivered' });
    expect(alarms).toEqual(['late_success']);
  });

  test('with a contradiction is recorded, and nothing is posted', async () => {
    const request = paymentRequest('contradiction');
    await desk.pay(request);
    const charge = desk.chargeOf(request);
    desk.processor.inside.change(charge, { status: 'voided' });
    expect(await desk.deliver(callback('evt_1', charge))).toMatchObject({
      transitions: [],
      contradictions: ['a captured charge cannot be voided'],
    });
  });

  test('is rejected while the processor cannot be read, and recorded when it is redelivered', async () => {
    const request = paymentRequest('unread', { source: 'tok_async' });
    await desk.pay(request);
    const charge = desk.chargeOf(request);
    desk.processor.inside.succeed(charge);
    desk.processor.switchCircuit('open');
    await expect(desk.deliver(callback('evt_1', charge))).rejects.toBeInstanceOf(RetryableError);
    desk.processor.switchCircuit('closed');
    expect(await desk.deliver(callback('evt_1', charge))).toMatchObject({ transitions: ['payment.completed'] });
  });

  test('with more transitions than a transaction holds is recorded in parts, with its record in the last one', async () => {
    const request = paymentRequest('many', { source: 'tok_async', amountMinor: 1_000 });
    await desk.pay(request);
    const charge = desk.chargeOf(request);
    desk.processor.inside.succeed(charge);
    for (let count = 0; count < 150; count += 1) desk.processor.inside.refund(charge, 1);
    const largest: number[] = [];
    const effects = {
      readEffect: desk.store.readEffect.bind(desk.store),
      listTransitions: desk.store.listTransitions.bind(desk.store),
      recordEffect: (effect: Effect) => {
        largest.push(effect.transitions.length);
        return desk.store.recordEffect(effect);
      },
    };
    expect(await desk.deliver(callback('evt_1', charge), { effects })).toMatchObject({ kind: 'taken_in' });
    expect(largest).toEqual([40, 40, 40, 31]);
    expect((await desk.chain(request)).state.payment.amountRefundedMinor).toBe(150);
    expect(await desk.deliver(callback('evt_1', charge))).toEqual({ kind: 'redelivered' });
  });

  test('has no second effect after its record has expired', async () => {
    const request = paymentRequest('expired', { source: 'tok_async' });
    await desk.pay(request);
    const charge = desk.chargeOf(request);
    desk.processor.inside.succeed(charge);
    await desk.deliver(callback('evt_1', charge));
    for (const operationId of desk.store.effectIds()) desk.store.deleteRecord(operationId);
    expect(await desk.deliver(callback('evt_1', charge))).toMatchObject({ kind: 'taken_in', transitions: [] });
  });
});

describe('a stray charge', () => {
  test.each(['declined', 'voided'] as const)('after %s is recorded, and queued for return, once', async (end) => {
    const request = paymentRequest(`late-${end}`, { source: 'tok_async' });
    await desk.pay(request);
    const charge = desk.chargeOf(request);
    desk.processor.inside.change(charge, { status: end });
    await desk.deliver(callback('evt_1', charge));
    desk.processor.inside.succeed(charge);
    await desk.deliver(callback('evt_2', charge));
    await desk.deliver(callback('evt_3', charge));
    expect((await desk.typesOf(request)).slice(-2)).toEqual([
      end === 'declined' ? 'payment.failed' : 'payment.canceled',
      'payment.late_success',
    ]);
    expect(await desk.store.chargesToReturn(9)).toEqual([
      {
        paymentId: request.paymentId,
        chargeId: charge,
        by: 'refund',
        amountMinor: 1000,
        currency: 'EUR',
        foundAtMs: desk.clock.nowMs(),
      },
    ]);
  });

  test('beside the payment’s own charge is returned too', async () => {
    const request = paymentRequest('beside');
    await desk.pay(request);
    const beside = desk.processor.inside.add(
      {
        operationId: storedOperationId('somebody-else'),
        paymentId: request.paymentId,
        amountMinor: 700,
        currency: 'EUR',
        source: 'tok_ok',
        capture: 'automatic',
      },
      'succeeded',
    );
    await desk.deliver(callback('evt_1', beside.chargeId));
    expect((await desk.chain(request)).state.payment.status).toBe('succeeded');
    expect(await desk.store.chargesToReturn(9)).toMatchObject([{ chargeId: beside.chargeId, amountMinor: 700 }]);
  });
});

describe('callbacks out of order', () => {
  /** The changes at the processor in their order. Each has its event. */
  const STORY: readonly ((charge: string) => void)[] = [
    (charge) => desk.processor.inside.change(charge, { status: 'requires_action', actionUrl: 'https://a.example' }),
    (charge) => desk.processor.inside.succeed(charge),
    (charge) => void desk.processor.inside.refund(charge, 300),
    (charge) => void desk.processor.inside.refund(charge, 300),
    (charge) => void desk.processor.inside.dispute(charge, 400),
  ];

  function permutations(items: readonly number[]): readonly (readonly number[])[] {
    if (items.length <= 1) return [items];
    return items.flatMap((first) =>
      permutations(items.filter((item) => item !== first)).map((others) => [first, ...others]),
    );
  }

  test.each([1, 2, 3, 4, 5])(
    'every permutation of %d events, each delivered twice, ends in the same state',
    async (count) => {
      const ends = new Set<string>();
      const orders = permutations(Array.from({ length: count }, (_, index) => index));
      for (const doubling of ['at once', 'at the end'] as const) {
        for (const order of orders) {
          desk = new CallbackDesk();
          const request = paymentRequest('permuted', { source: 'tok_async' });
          await desk.pay(request);
          const charge = desk.chargeOf(request);
          for (const happens of STORY.slice(0, count)) happens(charge);
          const deliver = (index: number) => desk.deliver(callback(`evt_${index}`, charge));
          for (const index of order) {
            if (doubling === 'at once') await Promise.all([deliver(index), deliver(index)]);
            else await deliver(index);
          }
          if (doubling === 'at the end') for (const index of order) await deliver(index);
          const chain = await desk.chain(request);
          for (const { postings } of chain.transitions) assertBalanced(postings);
          ends.add(JSON.stringify(endOf(chain)));
        }
      }
      expect(ends.size).toBe(1);
    },
  );

  test('end in the processor’s final state while the charge continues to change', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ event: fc.nat(STORY.length - 1), after: fc.nat(STORY.length - 1) }), { maxLength: 12 }),
        async (deliveries) => {
          desk = new CallbackDesk();
          const request = paymentRequest('meanwhile', { source: 'tok_async' });
          await desk.pay(request);
          const charge = desk.chargeOf(request);
          for (const [step, happens] of STORY.entries()) {
            happens(charge);
            const due = deliveries.filter(({ event, after }) => Math.max(event, after) === step);
            await Promise.all(due.map(({ event }) => desk.deliver(callback(`evt_${event}`, charge))));
          }
          await desk.deliver(callback('evt_last', charge));
          expect(endOf(await desk.chain(request))).toMatchObject({
            status: 'succeeded',
            amountRefundedMinor: 600,
            sums: { processor_clearing: 0, merchant_payable: -1000, refunds: 600, disputes: 400 },
          });
        },
      ),
      { numRuns: 300 },
    );
  });
});
