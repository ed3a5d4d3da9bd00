/** Tests the guarantee "one callback effect". */
import { beforeEach, describe, expect, test } from '@jest/globals';
import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import { storedOperationId } from '../../lambdas/kernel/ids.ts';
import { assertBalanced } from '../../lambdas/payments/domain/posting.ts';
import { chargeOperation } from '../../lambdas/payments/ids.ts';
import type { Effect } from '../../lambdas/payments/use/effect-store.ts';
import type { PaymentChain } from '../../lambdas/payments/use/payment-chain.ts';
import { callback, paymentRequest } from '../payments/payment-fixtures.ts';
import { ALL_DUE } from '../support/due.ts';
import { permutations } from '../support/permutations.ts';
import { fc } from '../support/properties.ts';
import { sliceOf, whole } from '../support/slice.ts';
import { World } from '../world/world.ts';

const HOUR_MS = 60 * 60_000;

let harness: World;
beforeEach(() => {
  harness = new World();
});

/** None of these parts may depend on the order of events. */
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
  test('settles a pending payment once', async () => {
    const request = paymentRequest('async', { source: 'tok_async' });
    expect(await harness.pay(request)).toMatchObject({ kind: 'first', answer: { status: 202 } });
    const charge = harness.chargeOf(request);
    await harness.processor.inside.approve(charge);
    expect(await harness.deliver(callback('evt_1', charge))).toEqual({
      kind: 'recorded',
      paymentId: request.paymentId,
      transitions: ['payment.completed'],
      contradictions: [],
    });
    expect(await harness.deliver(callback('evt_1', charge))).toEqual({ kind: 'redelivered' });
    expect(await harness.deliver(callback('evt_2', charge))).toMatchObject({ kind: 'recorded', transitions: [] });
    expect(await harness.typesOf(request)).toEqual(['payment.created', 'payment.processing', 'payment.completed']);
  });

  test('is recorded even if a callback of another account has the same event id', async () => {
    const request = paymentRequest('accounts', { source: 'tok_async' });
    await harness.pay(request);
    const charge = harness.chargeOf(request);
    await harness.processor.inside.approve(charge);
    const books = { ...harness.processor, account: 'another' };
    expect(await harness.deliver(callback('evt_1', 'ch_none'), { books })).toMatchObject({ kind: 'orphaned' });
    expect(await harness.deliver(callback('evt_1', charge))).toMatchObject({ transitions: ['payment.completed'] });
  });

  test('has one effect when it is delivered twice concurrently, and both deliveries are acknowledged', async () => {
    const request = paymentRequest('twice', { source: 'tok_async' });
    await harness.pay(request);
    const charge = harness.chargeOf(request);
    await harness.processor.inside.approve(charge);
    const outcomes = await Promise.all([
      harness.deliver(callback('evt_1', charge)),
      harness.deliver(callback('evt_1', charge)),
      harness.deliver(callback('evt_2', charge)),
    ]);
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual(['recorded', 'recorded', 'redelivered']);
    const { transitions } = await harness.chain(request);
    expect(transitions.filter(({ postings }) => postings.length > 0)).toHaveLength(1);
  });

  test('records the outcome if it arrives before the response to the charge; the owner then only stores its response', async () => {
    const request = paymentRequest('early');
    const processor = {
      ...harness.processor,
      charge: async (...call: Parameters<typeof harness.processor.charge>) => {
        const outcome = await harness.processor.charge(...call);
        await harness.deliver(callback('evt_1', harness.chargeOf(request)));
        return outcome;
      },
    };
    expect(await harness.pay(request, { processor })).toMatchObject({ kind: 'first', answer: { status: 201 } });
    expect(await harness.typesOf(request)).toEqual(['payment.created', 'payment.completed']);
  });

  test('makes the owner return a decline if it reports the decline before the processor responds', async () => {
    const request = paymentRequest('early-no', { source: 'tok_declined' });
    const processor = {
      ...harness.processor,
      charge: async (...call: Parameters<typeof harness.processor.charge>) => {
        const outcome = await harness.processor.charge(...call);
        await harness.deliver(callback('evt_1', harness.chargeOf(request)));
        return outcome;
      },
    };
    expect(await harness.pay(request, { processor })).toMatchObject({ answer: { status: 402 } });
    expect(await harness.typesOf(request)).toEqual(['payment.created', 'payment.failed']);
  });

  test('settles the payment of a crashed owner; a retry of the request then completes the claim and gets the response', async () => {
    const request = paymentRequest('dead-owner');
    await harness.claimThenDie(request, true);
    await harness.deliver(callback('evt_1', harness.chargeOf(request)));
    harness.clock.advance(26_000);
    expect(await harness.pay(request)).toMatchObject({ kind: 'first', answer: { status: 201 } });
    expect(harness.processor.sends(chargeOperation(request.paymentId))).toBe(1);
  });

  test('records a new refund together with earlier facts that Payonce does not have yet', async () => {
    const request = paymentRequest('refund-first', { source: 'tok_async' });
    await harness.pay(request);
    const charge = harness.chargeOf(request);
    await harness.processor.inside.approve(charge);
    await harness.processor.inside.refund(charge, 300);
    expect(await harness.deliver(callback('evt_refund', charge))).toMatchObject({
      transitions: ['payment.completed', 'refund.completed'],
    });
    expect((await harness.chain(request)).state.payment).toMatchObject({
      status: 'succeeded',
      amountRefundedMinor: 300,
    });
  });

  test('records two refunds of the same amount exactly once each', async () => {
    const request = paymentRequest('equal-refunds');
    await harness.pay(request);
    const charge = harness.chargeOf(request);
    await harness.processor.inside.refund(charge, 300);
    await harness.deliver(callback('evt_1', charge));
    await harness.processor.inside.refund(charge, 300);
    await harness.deliver(callback('evt_2', charge));
    await harness.deliver(callback('evt_3', charge));
    expect((await harness.typesOf(request)).filter((type) => type === 'refund.completed')).toHaveLength(2);
    expect((await harness.chain(request)).state.payment.amountRefundedMinor).toBe(600);
  });

  test('corrects the totals when a refund fails days after its acceptance', async () => {
    const request = paymentRequest('failed-refund');
    await harness.pay(request);
    const charge = harness.chargeOf(request);
    const refund = await harness.processor.inside.refund(charge, 300);
    await harness.deliver(callback('evt_1', charge));
    harness.clock.advance(72 * HOUR_MS);
    await harness.processor.inside.endRefund(refund, 'failed');
    expect(await harness.deliver(callback('evt_2', charge))).toMatchObject({ transitions: ['refund.failed'] });
    expect((await harness.chain(request)).state.payment.amountRefundedMinor).toBe(0);
  });

  test('clears the disputes account when a lost dispute is appealed and won', async () => {
    const request = paymentRequest('appeal');
    await harness.pay(request);
    const charge = harness.chargeOf(request);
    const { inside } = harness.processor;
    const id = await inside.dispute(charge, 1000);
    const open = { id, object: 'dispute', charge, amount: 1000, status: 'open' } as const;
    const turns = [
      async () => {},
      () => inside.closeDispute(id, 'lost'),
      () => inside.correct(charge, { disputes: [open] }),
      () => inside.closeDispute(id, 'won'),
    ];
    for (const [turn, happens] of turns.entries()) {
      await happens();
      await harness.deliver(callback(`evt_${turn}`, charge));
    }
    expect(endOf(await harness.chain(request)).sums['disputes']).toBe(0);
  });

  test('if a won dispute is lost later, posts the loss exactly once, and reports a contradiction', async () => {
    const request = paymentRequest('reopened');
    await harness.pay(request);
    const charge = harness.chargeOf(request);
    const { inside } = harness.processor;
    const id = await inside.dispute(charge, 1000);
    await harness.deliver(callback('evt_opened', charge));
    await inside.closeDispute(id, 'won');
    await harness.deliver(callback('evt_won', charge));
    harness.clock.advance(25 * HOUR_MS);
    await harness.resolveInquiries();
    expect(await harness.store.inquiries()).toEqual([]);
    const shown = { id, object: 'dispute', charge, amount: 1000 } as const;
    await inside.correct(charge, { disputes: [{ ...shown, status: 'open' }] });
    expect(await harness.deliver(callback('evt_reopened', charge))).toMatchObject({ transitions: [] });
    // The reopened dispute is queued as an inquiry, so that its end is found without a callback.
    expect(await harness.store.inquiries()).toMatchObject([{ operationId: charge }]);
    await inside.correct(charge, { disputes: [{ ...shown, status: 'lost' }] });
    expect(await harness.deliver(callback('evt_lost', charge))).toMatchObject({
      transitions: ['dispute.closed'],
      contradictions: ['a dispute once won is now lost'],
    });
    expect(await harness.deliver(callback('evt_again', charge))).toMatchObject({ transitions: [], contradictions: [] });
    expect(endOf(await harness.chain(request)).sums['disputes']).toBe(1000);
  });

  test('does not record an older state after a rival has recorded a newer one', async () => {
    const request = paymentRequest('stale-read');
    await harness.pay(request);
    const charge = harness.chargeOf(request);
    await harness.processor.inside.correct(charge, { fee: 30 });
    let raced = false;
    const books = {
      ...harness.processor,
      readCharge: async (...call: Parameters<typeof harness.processor.readCharge>) => {
        const old = await harness.processor.readCharge(...call);
        if (!raced) {
          raced = true;
          await harness.processor.inside.correct(charge, { fee: 59 });
          await harness.deliver(callback('evt_2', charge));
        }
        return old;
      },
    };
    await harness.deliver({ ...callback('evt_1', charge), paymentId: request.paymentId }, { books });
    expect((await harness.chain(request)).state.payment.feeMinor).toBe(59);
  });

  test.each([
    ['released', (charge: string) => harness.processor.inside.void(charge), 'canceled'],
    [
      'captured with a different amount',
      (charge: string) => harness.processor.inside.correct(charge, { status: 'succeeded', amount_captured: 1_500 }),
      'needs_review',
    ],
  ])(
    'about a charge that was %s takes precedence over an older response, which the owner receives later',
    async (_what, happens, status) => {
      const request = paymentRequest(`overruled-${status}`, { capture: 'manual' });
      const processor = {
        ...harness.processor,
        charge: async (...call: Parameters<typeof harness.processor.charge>) => {
          const outcome = await harness.processor.charge(...call);
          await happens(harness.chargeOf(request));
          await harness.deliver(callback('evt_1', harness.chargeOf(request)));
          return outcome;
        },
      };
      await harness.pay(request, { processor });
      expect((await harness.chain(request)).state.payment.status).toBe(status);
      expect(await harness.store.chargesToReturn(ALL_DUE)).toEqual([]);
    },
  );

  test('raises an alarm exactly once even if the response to the write of the callback is lost', async () => {
    const request = paymentRequest('alarm', { source: 'tok_async' });
    await harness.pay(request);
    const charge = harness.chargeOf(request);
    await harness.processor.inside.decline(charge);
    await harness.deliver(callback('evt_1', charge));
    await harness.processor.inside.approve(charge);
    const alarms: string[] = [];
    const effects = {
      ...harness.tools.effects,
      readEffect: harness.store.readEffect.bind(harness.store),
      queueOrNote: harness.store.queueOrNote.bind(harness.store),
      listTransitions: harness.store.listTransitions.bind(harness.store),
      recordEffect: async (effect: Effect) => {
        await harness.store.recordEffect(effect);
        throw new AmbiguousError('store_ambiguous', 'the response is lost');
      },
    };
    const alarm = (what: string) => void alarms.push(what);
    await expect(harness.deliver(callback('evt_2', charge), { effects, alarm })).rejects.toBeInstanceOf(AmbiguousError);
    expect(await harness.deliver(callback('evt_2', charge), { alarm })).toEqual({ kind: 'redelivered' });
    expect(alarms).toEqual(['late_success']);
  });

  test.each([
    ['declined', 'a captured charge cannot be refused'],
    ['voided', 'a captured charge cannot be voided'],
  ] as const)(
    'is reported as a contradiction, and posts nothing, if it reports that a captured charge is now %s',
    async (status, why) => {
      const request = paymentRequest('contradiction');
      await harness.pay(request);
      const charge = harness.chargeOf(request);
      await harness.processor.inside.correct(charge, { status });
      expect(await harness.deliver(callback('evt_1', charge))).toMatchObject({
        transitions: [],
        contradictions: [why],
      });
    },
  );

  test('is rejected while the processor’s books cannot be read, and recorded on redelivery', async () => {
    const request = paymentRequest('unread', { source: 'tok_async' });
    await harness.pay(request);
    const charge = harness.chargeOf(request);
    await harness.processor.inside.approve(charge);
    await harness.processor.inside.goDown();
    await expect(harness.deliver(callback('evt_1', charge))).rejects.toBeInstanceOf(RetryableError);
    await harness.processor.inside.recover();
    expect(await harness.deliver(callback('evt_1', charge))).toMatchObject({ transitions: ['payment.completed'] });
  });

  test('with more transitions than fit into one transaction is split, and the last transaction contains its record', async () => {
    const request = paymentRequest('many', { source: 'tok_async', amountMinor: 1_000 });
    await harness.pay(request);
    const charge = harness.chargeOf(request);
    await harness.processor.inside.approve(charge);
    const { refunds, parts } = whole(
      { refunds: 150, parts: [40, 40, 40, 31] },
      { slice: { refunds: 90, parts: [40, 40, 11] } },
    );
    for (let count = 0; count < refunds; count += 1) await harness.processor.inside.refund(charge, 1);
    const largest: number[] = [];
    const effects = {
      readEffect: harness.store.readEffect.bind(harness.store),
      queueOrNote: harness.store.queueOrNote.bind(harness.store),
      listTransitions: harness.store.listTransitions.bind(harness.store),
      recordEffect: (effect: Effect) => {
        largest.push(effect.transitions.length);
        return harness.store.recordEffect(effect);
      },
    };
    expect(await harness.deliver(callback('evt_1', charge), { effects })).toMatchObject({ kind: 'recorded' });
    expect(largest).toEqual(parts);
    expect((await harness.chain(request)).state.payment.amountRefundedMinor).toBe(refunds);
    expect(await harness.deliver(callback('evt_1', charge))).toEqual({ kind: 'redelivered' });
  });

  test('whose process crashes after the first transaction leaves the remaining transactions to the resolver', async () => {
    const request = paymentRequest('part', { amountMinor: 1_000 });
    await harness.pay(request);
    const charge = harness.chargeOf(request);
    const refunds = whole(120, { slice: 60 });
    for (let count = 0; count < refunds; count += 1) await harness.processor.inside.refund(charge, 1);
    let parts = 0;
    const effects = {
      readEffect: harness.store.readEffect.bind(harness.store),
      queueOrNote: harness.store.queueOrNote.bind(harness.store),
      listTransitions: harness.store.listTransitions.bind(harness.store),
      recordEffect: (effect: Effect) => {
        parts += 1;
        return parts > 1 ? Promise.reject(new Error('the process crashed')) : harness.store.recordEffect(effect);
      },
    };
    await expect(harness.deliver(callback('evt_1', charge), { effects })).rejects.toThrow('the process crashed');
    expect((await harness.chain(request)).state.payment.amountRefundedMinor).toBe(40);
    await harness.resolveFor(1);
    expect((await harness.chain(request)).state.payment.amountRefundedMinor).toBe(refunds);
  });

  test('has no second effect after its record has expired', async () => {
    const request = paymentRequest('expired', { source: 'tok_async' });
    await harness.pay(request);
    const charge = harness.chargeOf(request);
    await harness.processor.inside.approve(charge);
    await harness.deliver(callback('evt_1', charge));
    for (const operationId of harness.store.effectIds()) harness.store.deleteRecord(operationId);
    expect(await harness.deliver(callback('evt_1', charge))).toMatchObject({ kind: 'recorded', transitions: [] });
  });
});

describe('a stray charge', () => {
  test.each(['declined', 'voided'] as const)(
    'that succeeds after it was %s is recorded, and queued for refund only once',
    async (end) => {
      const request = paymentRequest(`late-${end}`, { source: 'tok_async' });
      await harness.pay(request);
      const charge = harness.chargeOf(request);
      await harness.processor.inside.correct(charge, { status: end });
      await harness.deliver(callback('evt_1', charge));
      await harness.processor.inside.correct(charge, { status: 'succeeded', amount_captured: 1000 });
      await harness.deliver(callback('evt_2', charge));
      await harness.deliver(callback('evt_3', charge));
      expect((await harness.typesOf(request)).slice(-2)).toEqual([
        end === 'declined' ? 'payment.failed' : 'payment.canceled',
        'payment.late_success',
      ]);
      expect(await harness.store.chargesToReturn(ALL_DUE)).toEqual([
        {
          paymentId: request.paymentId,
          chargeId: charge,
          by: 'refund',
          foundAtMs: harness.clock.nowMs(),
        },
      ]);
    },
  );

  test('is queued for refund if the payment already has its own charge', async () => {
    const request = paymentRequest('other');
    await harness.pay(request);
    const other = await harness.processor.inside.charge({
      operationId: storedOperationId('other-owner'),
      paymentId: request.paymentId,
      amountMinor: 700,
    });
    await harness.deliver(callback('evt_1', other.chargeId));
    expect((await harness.chain(request)).state.payment.status).toBe('succeeded');
    expect(await harness.store.chargesToReturn(ALL_DUE)).toMatchObject([{ chargeId: other.chargeId, by: 'refund' }]);
  });
});

describe('callbacks out of order', () => {
  /** Each change causes one event. */
  const STORY: readonly ((charge: string) => Promise<unknown>)[] = [
    (charge) =>
      harness.processor.inside.correct(charge, { status: 'requires_action', action_url: 'https://a.example' }),
    (charge) => harness.processor.inside.approve(charge),
    (charge) => harness.processor.inside.refund(charge, 300),
    (charge) => harness.processor.inside.refund(charge, 300),
    (charge) => harness.processor.inside.dispute(charge, 400),
  ];

  test.each([1, 2, 3, 4, 5])(
    'reach the same state in every permutation of %d events, each delivered twice',
    async (count) => {
      const ends = new Set<string>();
      const all = permutations(Array.from({ length: count }, (_, index) => index));
      const orders = sliceOf(all, count > 3 ? 11 : 1);
      for (const doubling of ['at once', 'at the end'] as const) {
        for (const order of orders) {
          harness = new World();
          const request = paymentRequest('permuted', { source: 'tok_async' });
          await harness.pay(request);
          const charge = harness.chargeOf(request);
          for (const happens of STORY.slice(0, count)) await happens(charge);
          const deliver = (index: number) => harness.deliver(callback(`evt_${index}`, charge));
          for (const index of order) {
            if (doubling === 'at once') await Promise.all([deliver(index), deliver(index)]);
            else await deliver(index);
          }
          if (doubling === 'at the end') for (const index of order) await deliver(index);
          const chain = await harness.chain(request);
          for (const { postings } of chain.transitions) assertBalanced(postings);
          ends.add(JSON.stringify(endOf(chain)));
        }
      }
      expect(ends.size).toBe(1);
    },
  );

  test('lead to the processor’s final state even if the charge changes between deliveries', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ event: fc.nat(STORY.length - 1), after: fc.nat(STORY.length - 1) }), { maxLength: 12 }),
        async (deliveries) => {
          harness = new World();
          const request = paymentRequest('concurrent', { source: 'tok_async' });
          await harness.pay(request);
          const charge = harness.chargeOf(request);
          for (const [step, happens] of STORY.entries()) {
            await happens(charge);
            const due = deliveries.filter(({ event, after }) => Math.max(event, after) === step);
            await Promise.all(due.map(({ event }) => harness.deliver(callback(`evt_${event}`, charge))));
          }
          await harness.deliver(callback('evt_last', charge));
          expect(endOf(await harness.chain(request))).toMatchObject({
            status: 'succeeded',
            amountRefundedMinor: 600,
            sums: { processor_clearing: 0, merchant_payable: -1000, refunds: 600, disputes: 400 },
          });
        },
      ),
      { numRuns: whole(300, { slice: 20 }) },
    );
  });
});
