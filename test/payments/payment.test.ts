import { describe, expect, test } from '@jest/globals';
import { decide } from '../../lambdas/payments/domain/decide.ts';
import type { Fact } from '../../lambdas/payments/domain/facts.ts';
import { create, freesReference, isUnresolved, type Payment } from '../../lambdas/payments/domain/payment.ts';
import { type PaymentState, stateAfter } from '../../lambdas/payments/domain/payment-state.ts';
import { type Posting, transfer } from '../../lambdas/payments/domain/posting.ts';
import { paymentIdFor, pendingTransition, stateFrom } from './payment-fixtures.ts';

const created = pendingTransition(paymentIdFor('core')).payment;
const FAILURE = { code: 'card_declined', message: 'no' };
const MINE = 'ch_1';
const CREATED_AT_MS = 1_772_366_400_000;

const given = (...facts: readonly Fact[]) => stateFrom(created, ...facts);

function when(fact: Fact, state: PaymentState = given()) {
  const decision = decide(fact, state);
  if (decision.kind !== 'append') return decision.kind;
  const { type, payment, postings } = decision.draft;
  return {
    type,
    status: payment.status,
    postings: postings.map(({ account, direction, amountMinor }) => `${direction} ${account} ${amountMinor}`),
  };
}

const SUCCEEDED: Fact = { kind: 'succeeded', chargeId: MINE };
const AUTHORIZED: Fact = { kind: 'authorized', chargeId: MINE };
const DECLINED: Fact = { kind: 'declined', failure: FAILURE };
const RECEIPT = ['debit processor_clearing 1000', 'credit merchant_payable 1000'];

describe('a payment whose charge is in progress', () => {
  test('starts as processing, with nothing captured and nothing posted', () => {
    const { type, payment, postings } = create(created);
    expect([type, payment.status, payment.amountCapturedMinor, postings]).toEqual([
      'payment.created',
      'processing',
      0,
      [],
    ]);
    expect(isUnresolved(payment)).toBe(true);
  });

  test('posts the same amount to clearing and payable when it succeeds', () => {
    expect(when(SUCCEEDED)).toEqual({ type: 'payment.completed', status: 'succeeded', postings: RECEIPT });
  });

  test('succeeds with a fee, which the processor deducts', () => {
    expect(when({ ...SUCCEEDED, feeMinor: 59 })).toMatchObject({
      postings: [...RECEIPT, 'debit fees 59', 'credit processor_clearing 59'],
    });
  });

  test('is authorized without a posting, because no money has moved', () => {
    expect(when(AUTHORIZED)).toEqual({ type: 'payment.authorized', status: 'requires_capture', postings: [] });
  });

  test('records a pending charge once, and again when its id becomes known', () => {
    const pending: Fact = { kind: 'pending', chargeId: MINE };
    expect(when(pending)).toMatchObject({ type: 'payment.processing', status: 'processing' });
    expect(when(pending, given({ kind: 'unknown' }))).toMatchObject({ type: 'payment.processing' });
    expect(when(pending, given(pending))).toBe('nothing');
    expect(when({ kind: 'unknown' }, given(pending))).toBe('nothing');
  });

  test('waits for the payer, and shows the action URL until the payment is settled', () => {
    const asked: Fact = { kind: 'action_required', chargeId: MINE, actionUrl: 'https://processor.example/a' };
    expect(given(asked).payment).toMatchObject({ status: 'requires_action', actionUrl: 'https://processor.example/a' });
    expect(given(asked, SUCCEEDED).payment.actionUrl).toBeUndefined();
    expect(when({ kind: 'not_attempted' }, given(asked))).toMatchObject({ type: 'payment.review_required' });
  });

  test.each(['declined', 'rejected'] as const)('fails if the processor has %s it', (kind) => {
    expect(when({ kind, failure: FAILURE })).toEqual({ type: 'payment.failed', status: 'failed', postings: [] });
  });

  test('fails if it was never attempted', () => {
    expect(when({ kind: 'not_attempted' })).toMatchObject({ type: 'payment.failed', status: 'failed' });
  });

  test('is canceled with the reason if the processor voided it', () => {
    const state = given({ kind: 'voided', chargeId: MINE, reason: 'expired' });
    expect(state.payment).toMatchObject({ status: 'canceled', cancelReason: 'expired' });
  });

  test('does not go into review as undecidable after the processor accepted the charge, and records the later success', () => {
    const accepted = given({ kind: 'pending', chargeId: MINE });
    expect(when({ kind: 'undecidable' }, accepted)).toBe('nothing');
    expect(when(SUCCEEDED, accepted)).toMatchObject({ type: 'payment.completed', postings: RECEIPT });
  });

  test('goes into review if its outcome cannot be determined, and is settled by later evidence', () => {
    const reviewed = given({ kind: 'undecidable' });
    expect(reviewed.payment.status).toBe('needs_review');
    expect(when(DECLINED, reviewed)).toMatchObject({ type: 'payment.failed', status: 'failed' });
  });

  test.each([
    ['less than requested', { capturedMinor: 999 }],
    ['more than requested', { capturedMinor: 1001 }],
    ['another currency', { currency: 'USD' }],
  ])('goes into review if it is captured with %s, and nothing is posted', (_what, changes) => {
    const odd: Fact = { kind: 'succeeded', chargeId: MINE, ...changes };
    expect(when(odd)).toEqual({ type: 'payment.review_required', status: 'needs_review', postings: [] });
    expect(when(odd, given(odd))).toBe('nothing');
    expect(when(SUCCEEDED, given(odd))).toBe('nothing');
    expect(when(odd, given({ kind: 'undecidable' }))).toMatchObject({ type: 'payment.failed', status: 'failed' });
  });
});

describe('an authorized payment', () => {
  const authorized = stateAfter([
    create({ ...created, capture: 'manual' }),
    {
      type: 'payment.authorized',
      payment: { ...created, capture: 'manual', status: 'requires_capture', chargeId: MINE },
    },
  ]);

  test('posts the captured part of a partial capture', () => {
    expect(when({ kind: 'succeeded', chargeId: MINE, capturedMinor: 400 }, authorized)).toEqual({
      type: 'payment.completed',
      status: 'succeeded',
      postings: ['debit processor_clearing 400', 'credit merchant_payable 400'],
    });
  });

  test('goes into review if more than the authorized amount is captured', () => {
    expect(when({ kind: 'succeeded', chargeId: MINE, capturedMinor: 1001 }, authorized)).toMatchObject({
      status: 'needs_review',
      postings: [],
    });
  });

  test('stays authorized after a later refusal, which belongs to another attempt', () => {
    expect(when(DECLINED, authorized)).toBe('nothing');
  });
});

describe('a payment in a final status', () => {
  test.each([
    SUCCEEDED,
    AUTHORIZED,
    DECLINED,
    { kind: 'pending', chargeId: MINE },
    { kind: 'not_attempted' },
    { kind: 'unknown' },
    { kind: 'undecidable' },
  ] as const)('does not change on the fact $kind if it has succeeded', (fact) => {
    expect(when(fact, given(SUCCEEDED))).toBe('nothing');
  });

  test('cannot be voided or captured with a different amount if it has succeeded', () => {
    expect(when({ kind: 'voided', chargeId: MINE, reason: 'requested' }, given(SUCCEEDED))).toBe('review');
    expect(when({ kind: 'succeeded', chargeId: MINE, capturedMinor: 1 }, given(SUCCEEDED))).toBe('review');
  });

  test.each([
    ['failed', DECLINED, 'failed', 'payment.late_success'],
    ['canceled', { kind: 'voided', chargeId: MINE, reason: 'requested' }, 'canceled', 'payment.late_success'],
    ['in review', { kind: 'undecidable' }, 'failed', 'payment.failed'],
  ] as const)(
    'owes the money of a late success to the payer exactly once if it was previously %s',
    (_how, ending, status, type) => {
      const ended = given(ending);
      expect(when(SUCCEEDED, ended)).toEqual({
        type,
        status,
        postings: ['debit processor_clearing 1000', 'credit late_receipts 1000'],
      });
      expect(when(SUCCEEDED, given(ending, SUCCEEDED))).toBe('nothing');
    },
  );

  test('records a late authorization as a hold to void, and posts money only after a capture', () => {
    const held = given(DECLINED, AUTHORIZED);
    expect(held.strayCharges.get(MINE)).toMatchObject({ status: 'authorized' });
    expect(when(AUTHORIZED, held)).toBe('nothing');
    expect(when(SUCCEEDED, held)).toMatchObject({ type: 'payment.late_success' });
  });

  test.each([
    ['failed', true],
    ['canceled', true],
    ['succeeded', false],
    ['processing', false],
    ['needs_review', false],
  ] as const)('frees its reference in the status %s: %s', (status, free) => {
    const ended: Payment = { ...created, status };
    expect(freesReference(ended)).toBe(free);
  });
});

describe('a second charge with the payment’s id', () => {
  const foreign = (status: 'authorized' | 'captured' | 'none'): Fact => ({
    kind: 'foreign_charge',
    chargeId: 'ch_9',
    status,
    amountMinor: 700,
    currency: 'EUR',
  });

  test('is recorded as money to refund, and does not change the status of the payment', () => {
    expect(when(foreign('captured'))).toEqual({
      type: 'payment.late_success',
      status: 'processing',
      postings: ['debit processor_clearing 700', 'credit late_receipts 700'],
    });
    expect(when(foreign('captured'), given(foreign('captured')))).toBe('nothing');
    expect(when(SUCCEEDED, given(foreign('captured')))).toMatchObject({ type: 'payment.completed' });
  });

  test('never becomes the charge of the payment itself, because its refund may be in progress', () => {
    expect(when({ kind: 'succeeded', chargeId: 'ch_9' }, given(foreign('captured')))).toBe('review');
    expect(when({ kind: 'authorized', chargeId: 'ch_9' }, given(foreign('authorized')))).toBe('review');
    expect(when({ kind: 'declined', chargeId: 'ch_9', failure: FAILURE }, given(foreign('authorized')))).toBe('review');
  });

  test('is posted and refunded in its own currency', () => {
    const dollars: Fact = { ...foreign('captured'), currency: 'USD' } as Fact;
    const refund: Fact = {
      kind: 'refund',
      createdAtMs: CREATED_AT_MS,
      refundId: 're_1',
      chargeId: 'ch_9',
      amountMinor: 700,
      status: 'succeeded',
    };
    for (const [fact, state] of [
      [dollars, given()],
      [refund, given(dollars)],
    ] as const) {
      const decision = decide(fact, state);
      const currencies = decision.kind === 'append' ? decision.draft.postings.map(({ currency }) => currency) : [];
      expect(currencies).toEqual(['USD', 'USD']);
    }
  });

  test('is treated as the payment’s own charge if the charge ids match, even if its metadata changed', () => {
    const own: Fact = { ...foreign('captured'), chargeId: MINE, amountMinor: 1000 } as Fact;
    expect(when(own, given(SUCCEEDED))).toBe('nothing');
    expect(when(own, given({ kind: 'pending', chargeId: MINE }))).toMatchObject({ type: 'payment.completed' });
  });

  test('does not cause a second pending transition', () => {
    const pending: Fact = { kind: 'pending', chargeId: MINE };
    expect(when(pending, given(pending, foreign('captured')))).toBe('nothing');
  });

  test('is ignored if it holds no money, and its decline does not fail the payment', () => {
    expect(when(foreign('none'))).toBe('nothing');
    expect(when({ ...DECLINED, chargeId: 'ch_9' }, given({ kind: 'pending', chargeId: MINE }))).toBe('nothing');
  });

  test('is recorded as money to refund, even if a retry made it after the processor had forgotten the key', () => {
    expect(when({ kind: 'succeeded', chargeId: 'ch_9' }, given(SUCCEEDED))).toMatchObject({
      type: 'payment.late_success',
      status: 'succeeded',
    });
  });

  test('is refunded from the late receipts, and does not count as a refund of the payment', () => {
    const refund: Fact = {
      kind: 'refund',
      createdAtMs: CREATED_AT_MS,
      refundId: 're_1',
      chargeId: 'ch_9',
      amountMinor: 700,
      status: 'succeeded',
    };
    const state = given(foreign('captured'), SUCCEEDED);
    expect(when(refund, state)).toMatchObject({
      postings: ['debit late_receipts 700', 'credit processor_clearing 700'],
    });
    expect(given(foreign('captured'), SUCCEEDED, refund).payment.amountRefundedMinor).toBe(0);
  });
});

describe('a fee', () => {
  test('is posted separately if it is reported later, and a change posts only the difference', () => {
    const fee = (feeMinor: number): Fact => ({ kind: 'fee', chargeId: MINE, feeMinor });
    expect(when(fee(59), given(SUCCEEDED))).toMatchObject({
      type: 'payment.fee_reported',
      postings: ['debit fees 59', 'credit processor_clearing 59'],
    });
    expect(when(fee(59), given({ ...SUCCEEDED, feeMinor: 59 }))).toBe('nothing');
    expect(when(fee(50), given(SUCCEEDED, fee(59)))).toMatchObject({
      postings: ['credit fees 9', 'debit processor_clearing 9'],
    });
  });

  const inDollars = (amountMinor: number) => ({ otherFees: [{ amountMinor, currency: 'USD' }] });
  const legs = (state: PaymentState, fact: Fact): readonly Posting[] => {
    const decision = decide(fact, state);
    return decision.kind === 'append' ? decision.draft.postings : [];
  };

  test('is posted in its own currency, together with the money or later, and a change posts only the difference', () => {
    const succeeded: Fact = { ...SUCCEEDED, feeMinor: 5, ...inDollars(64) };
    expect(legs(given(), succeeded).slice(2)).toEqual([
      ...transfer('fees', 'processor_clearing', 5, 'EUR'),
      ...transfer('fees', 'processor_clearing', 64, 'USD'),
    ]);
    expect(when({ kind: 'fee', chargeId: MINE, feeMinor: 5, ...inDollars(64) }, given(succeeded))).toBe('nothing');
    const later: Fact = { kind: 'fee', chargeId: MINE, ...inDollars(1_564) };
    const known = given(SUCCEEDED, { kind: 'fee', chargeId: MINE, ...inDollars(64) });
    expect(legs(known, later)).toEqual(transfer('fees', 'processor_clearing', 1_500, 'USD'));
    expect(legs(known, { kind: 'fee', chargeId: MINE, feeMinor: 59, ...inDollars(0) })).toEqual([
      ...transfer('fees', 'processor_clearing', 59, 'EUR'),
      ...transfer('processor_clearing', 'fees', 64, 'USD').toReversed(),
    ]);
  });
});

test('a payment goes into review if its charge succeeded with nothing captured', () => {
  const manual = stateAfter([create({ ...created, capture: 'manual' })]);
  expect(when({ ...SUCCEEDED, capturedMinor: 0 }, manual)).toMatchObject({ status: 'needs_review' });
  expect(when({ ...SUCCEEDED, capturedMinor: 1 }, manual)).toMatchObject({ status: 'succeeded' });
});

describe('a refund', () => {
  const refund = (status: 'pending' | 'succeeded' | 'failed', changes: object = {}): Fact => ({
    kind: 'refund',
    createdAtMs: CREATED_AT_MS,
    refundId: 're_1',
    chargeId: MINE,
    amountMinor: 300,
    status,
    ...changes,
  });

  test('is posted after it succeeds, and the payment shows the refund', () => {
    expect(when(refund('pending'), given(SUCCEEDED))).toMatchObject({ type: 'refund.pending', postings: [] });
    expect(when(refund('succeeded'), given(SUCCEEDED, refund('pending')))).toEqual({
      type: 'refund.completed',
      status: 'succeeded',
      postings: ['debit refunds 300', 'credit processor_clearing 300'],
    });
    expect(given(SUCCEEDED, refund('succeeded')).payment.amountRefundedMinor).toBe(300);
  });

  test('is reversed in a separate transition if it fails days later', () => {
    const state = given(SUCCEEDED, refund('succeeded'), refund('failed'));
    expect(state.payment.amountRefundedMinor).toBe(0);
    expect(when(refund('failed'), given(SUCCEEDED, refund('succeeded')))).toMatchObject({
      type: 'refund.failed',
      postings: ['credit refunds 300', 'debit processor_clearing 300'],
    });
    expect(when(refund('succeeded'), state)).toBe('review');
  });

  test('is recorded as a second refund if its id is new, even with the same amount', () => {
    const second = refund('succeeded', { refundId: 're_2' });
    expect(given(SUCCEEDED, refund('succeeded'), second).payment.amountRefundedMinor).toBe(600);
  });

  test.each([
    ['exceeds the charged amount', { amountMinor: 1001 }],
    ['belongs to a charge without money', { chargeId: 'ch_9' }],
  ])('is a contradiction if it %s', (_what, changes) => {
    expect(when(refund('succeeded', changes), given(SUCCEEDED))).toBe('review');
  });

  test('is a contradiction if it exceeds the amount that remains after earlier refunds', () => {
    const state = given(SUCCEEDED, refund('succeeded', { refundId: 're_0', amountMinor: 600 }));
    expect(when(refund('succeeded', { amountMinor: 401 }), state)).toBe('review');
    expect(when(refund('succeeded', { amountMinor: 400 }), state)).toMatchObject({ type: 'refund.completed' });
  });

  test.each(['not_attempted', 'decided_by_operator'])(
    'is posted as a contradiction if the processor reports its success after Payonce has recorded its failure (%s)',
    (code) => {
      const givenUp = refund('failed', { failure: { code, message: 'no' } });
      const state = given(SUCCEEDED, refund('pending'), givenUp);
      expect(decide(refund('succeeded'), state)).toMatchObject({
        contradicts: 'a refund succeeded that Payonce had recorded as failed',
        draft: { type: 'refund.completed', payment: { amountRefundedMinor: 300 } },
      });
      const done = given(SUCCEEDED, refund('pending'), givenUp, refund('succeeded'));
      expect(done.refunds.get('re_1')?.failure).toBeUndefined();
      expect(when(givenUp, done)).toBe('nothing');
      expect(when(refund('succeeded', { amountMinor: 301 }), state)).toBe('review');
    },
  );

  test('cannot change its amount', () => {
    expect(when(refund('succeeded', { amountMinor: 301 }), given(SUCCEEDED, refund('pending')))).toBe('review');
    expect(when(refund('succeeded', { amountMinor: 301 }), given(SUCCEEDED, refund('succeeded')))).toBe('review');
    expect(when(refund('succeeded', { chargeId: 'ch_9' }), given(SUCCEEDED, refund('succeeded')))).toBe('review');
  });
});

describe('a dispute', () => {
  const dispute = (status: 'open' | 'won' | 'lost'): Fact => ({
    kind: 'dispute',
    createdAtMs: CREATED_AT_MS,
    disputeId: 'dp_1',
    chargeId: MINE,
    amountMinor: 1000,
    status,
  });
  const TAKEN = ['debit disputes 1000', 'credit processor_clearing 1000'];

  test('withdraws the money when it is opened, returns it if it is won, and posts nothing if it is lost', () => {
    expect(when(dispute('open'), given(SUCCEEDED))).toMatchObject({ type: 'dispute.opened', postings: TAKEN });
    expect(when(dispute('won'), given(SUCCEEDED, dispute('open')))).toMatchObject({
      type: 'dispute.closed',
      status: 'succeeded',
      postings: ['credit disputes 1000', 'debit processor_clearing 1000'],
    });
    expect(when(dispute('lost'), given(SUCCEEDED, dispute('open')))).toMatchObject({ postings: [] });
  });

  test('returns the money if it is lost but then won on appeal', () => {
    const lost = given(SUCCEEDED, dispute('open'), dispute('lost'));
    expect(when(dispute('open'), lost)).toBe('nothing');
    expect(when(dispute('won'), lost)).toMatchObject({
      type: 'dispute.closed',
      postings: ['credit disputes 1000', 'debit processor_clearing 1000'],
    });
  });

  test('withdraws the money again if it is won but then lost, because a network can reopen a dispute', () => {
    const won = given(SUCCEEDED, dispute('open'), dispute('won'));
    expect(when(dispute('open'), won)).toBe('nothing');
    expect(when(dispute('lost'), won)).toMatchObject({ type: 'dispute.closed', postings: TAKEN });
    expect(when(dispute('lost'), given(SUCCEEDED, dispute('won'), dispute('lost')))).toBe('nothing');
  });

  test('cannot change its amount', () => {
    const state = given(SUCCEEDED, dispute('open'));
    expect(when({ ...dispute('open'), amountMinor: 900 } as Fact, state)).toBe('review');
    expect(when({ ...dispute('lost'), amountMinor: 900 } as Fact, state)).toBe('review');
  });

  test('has the same effect if only its result is reported', () => {
    expect(when(dispute('lost'), given(SUCCEEDED))).toMatchObject({ type: 'dispute.closed', postings: TAKEN });
    expect(when(dispute('won'), given(SUCCEEDED))).toMatchObject({ type: 'dispute.closed', postings: [] });
    expect(when(dispute('open'), given(SUCCEEDED, dispute('lost')))).toBe('nothing');
  });
});
