import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  type ChargeFact,
  create,
  decide,
  freesReference,
  isUnresolved,
  type Payment,
  type TransitionType,
} from '../../lambdas/core/payment.ts';
import { assertBalanced } from '../../lambdas/core/posting.ts';
import { paymentIdFor, pendingTransition } from '../support/payment-fixtures.ts';

const created = pendingTransition(paymentIdFor('core')).payment;
const FAILURE = { code: 'card_declined', message: 'no' };

/** given a payment and its newest transition's type, when a fact becomes known, then … */
function when(fact: ChargeFact, given: Payment = created, lastType: TransitionType = 'payment.created') {
  const decision = decide(fact, given, lastType);
  if (decision.kind === 'nothing') return 'nothing';
  const { type, payment, postings } = decision.draft;
  return {
    type,
    status: payment.status,
    postings: postings.map(({ account, direction, amountMinor }) => `${direction} ${account} ${amountMinor}`),
  };
}

describe('a payment whose charge is under way', () => {
  test('begins processing, with nothing captured and nothing posted', () => {
    const { type, payment, postings } = create(created);
    expect([type, payment.status, payment.amountCapturedMinor, postings]).toEqual([
      'payment.created',
      'processing',
      0,
      [],
    ]);
    expect(isUnresolved(payment)).toBe(true);
  });

  test('succeeds, and the processor owes us what we owe the merchant', () => {
    expect(when({ kind: 'succeeded', chargeId: 'ch_1' })).toEqual({
      type: 'payment.completed',
      status: 'succeeded',
      postings: ['debit processor_clearing 1000', 'credit merchant_payable 1000'],
    });
  });

  test('is authorized without a posting: no money has moved', () => {
    expect(when({ kind: 'authorized', chargeId: 'ch_1' })).toEqual({
      type: 'payment.authorized',
      status: 'requires_capture',
      postings: [],
    });
  });

  test.each(['declined', 'rejected'] as const)('%s by the processor, it fails', (kind) => {
    expect(when({ kind, failure: FAILURE })).toEqual({ type: 'payment.failed', status: 'failed', postings: [] });
  });

  test('never attempted, it fails', () => {
    expect(when({ kind: 'not_attempted' })).toMatchObject({ type: 'payment.failed', status: 'failed' });
  });

  test('undecidable, it waits for a person', () => {
    expect(when({ kind: 'undecidable' })).toMatchObject({ type: 'payment.review_required', status: 'needs_review' });
  });

  test('unknown, it says so once and stays open', () => {
    expect(when({ kind: 'unknown' })).toMatchObject({ type: 'payment.processing', status: 'processing' });
    expect(when({ kind: 'unknown' }, created, 'payment.processing')).toBe('nothing');
  });
});

describe('a payment that has ended', () => {
  const ended = (status: Payment['status']): Payment => ({ ...created, status, chargeId: 'ch_1' });

  test.each(['succeeded', 'requires_capture'] as const)('%s: nothing heard later takes it back', (status) => {
    for (const fact of [
      { kind: 'succeeded', chargeId: 'ch_1' },
      { kind: 'declined', failure: FAILURE },
      { kind: 'not_attempted' },
      { kind: 'unknown' },
      { kind: 'undecidable' },
    ] as const) {
      expect(when(fact, ended(status), 'payment.completed')).toBe('nothing');
    }
  });

  test('failed, and money turns up: recorded as owed back, and handed to a person', () => {
    const failed: Payment = { ...created, status: 'failed', failure: FAILURE };
    expect(when({ kind: 'succeeded', chargeId: 'ch_9' }, failed, 'payment.failed')).toEqual({
      type: 'payment.review_required',
      status: 'needs_review',
      postings: ['debit processor_clearing 1000', 'credit late_receipts 1000'],
    });
  });

  test('late money is recorded once', () => {
    const reviewed: Payment = { ...created, status: 'needs_review', chargeId: 'ch_9' };
    expect(when({ kind: 'succeeded', chargeId: 'ch_9' }, reviewed, 'payment.review_required')).toBe('nothing');
  });

  test.each([
    ['failed', true],
    ['canceled', true],
    ['succeeded', false],
    ['processing', false],
    ['needs_review', false],
  ] as const)('%s: its reference is free: %s', (status, free) => {
    expect(freesReference(ended(status))).toBe(free);
  });
});

describe('any sequence of facts', () => {
  const facts: fc.Arbitrary<ChargeFact> = fc.oneof(
    fc.constantFrom<ChargeFact>({ kind: 'unknown' }, { kind: 'not_attempted' }, { kind: 'undecidable' }),
    fc.record({ kind: fc.constantFrom('succeeded' as const, 'authorized' as const), chargeId: fc.constant('ch_1') }),
    fc.record({ kind: fc.constantFrom('declined' as const, 'rejected' as const), failure: fc.constant(FAILURE) }),
  );

  test('posts balanced sets, one for the one charge, and never moves a payment backwards', () => {
    fc.assert(
      fc.property(fc.array(facts, { maxLength: 8 }), (sequence) => {
        let payment = created;
        let lastType: TransitionType = 'payment.created';
        let sets = 0;
        for (const fact of sequence) {
          const decision = decide(fact, payment, lastType);
          if (decision.kind === 'nothing') continue;
          assertBalanced(decision.draft.postings);
          if (decision.draft.postings.length > 0) sets += 1;
          if (payment.status === 'succeeded') throw new Error('succeeded was left');
          if (payment.status === 'failed') expect(decision.draft.payment.status).toBe('needs_review');
          payment = decision.draft.payment;
          lastType = decision.draft.type;
        }
        expect(sets).toBeLessThanOrEqual(1);
      }),
    );
  });
});
