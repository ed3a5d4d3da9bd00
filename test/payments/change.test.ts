import { describe, expect, test } from '@jest/globals';
import { storedOperationId } from '../../lambdas/kernel/ids.ts';
import { decideChange, isRequestedBy, MAX_REFUNDS } from '../../lambdas/payments/domain/change.ts';
import type { Fact } from '../../lambdas/payments/domain/facts.ts';
import type { PaymentState } from '../../lambdas/payments/domain/payment-state.ts';
import type { ProcessorCharge } from '../../lambdas/payments/domain/processor-charge.ts';
import { maySend } from '../../lambdas/payments/use/before-send.ts';
import type { ChargeChange } from '../../lambdas/payments/use/processor.ts';
import { disputed, refunded } from './paid-chain.ts';
import { paymentIdFor, pendingTransition, stateFrom } from './payment-fixtures.ts';

const NOW_MS = 1_772_366_400_000;
const ID = paymentIdFor('change');
const OPERATION = storedOperationId('ref_new');
const { payment } = pendingTransition(ID);
const PAID: Fact = { kind: 'succeeded', chargeId: 'ch_1' };
const given = (...facts: readonly Fact[]) => stateFrom(payment, ...facts);

const pending = (refundId: string, amountMinor: number): Fact =>
  ({ ...refunded(refundId, amountMinor), status: 'pending' }) as Fact;

describe('a refund of the remaining amount', () => {
  const ofRest = (state: PaymentState) => decideChange({ kind: 'refund' }, OPERATION, state, NOW_MS);

  test('is refused if nothing remains', () => {
    expect(ofRest(given(PAID, refunded('re_1', 1000)))).toEqual({ kind: 'exceeds', leftMinor: 0 });
  });

  test('is refused if the disputed amount exceeds the remaining amount', () => {
    expect(ofRest(given(PAID, refunded('re_1', 400), disputed('open')))).toEqual({ kind: 'exceeds', leftMinor: 0 });
  });

  test('excludes the amount of a lost dispute', () => {
    const state = given(PAID, disputed('open', 300), disputed('lost', 300));
    expect(ofRest(state)).toMatchObject({ draft: { subject: { amountMinor: 700 } } });
  });

  test('is refused if the payment has the maximum number of refunds that its processor can list', () => {
    const state = given(PAID);
    const of = (count: number): PaymentState => ({
      ...state,
      sums: { ...state.sums, refunds: count },
    });
    expect(ofRest(of(MAX_REFUNDS))).toEqual({ kind: 'too_many_refunds' });
    expect(ofRest(of(MAX_REFUNDS - 1))).toMatchObject({ kind: 'begin' });
  });
});

test('an expired hold does not cancel a payment that waits for its payer', () => {
  const state = given({ kind: 'action_required', chargeId: 'ch_1', actionUrl: 'https://bank.example/approve' });
  const cancel = (reason?: 'expired') =>
    decideChange({ kind: 'cancel', ...(reason === undefined ? {} : { reason }) }, OPERATION, state, NOW_MS);
  expect(cancel('expired')).toEqual({ kind: 'wrong_status', status: 'requires_action' });
  expect(cancel()).toMatchObject({ kind: 'begin' });
});

test('a refund whose reason was erased is resumed by a request with the same amount and any reason', () => {
  const begun = { kind: 'refund', refundId: 'r', chargeId: 'ch_1', amountMinor: 300, status: 'pending' } as const;
  const erased = { ...begun, createdAtMs: NOW_MS, commitment: new Uint8Array(32) };
  expect(isRequestedBy(erased, { kind: 'refund', amountMinor: 300, reason: 'torn' })).toBe(true);
  expect(isRequestedBy(erased, { kind: 'refund', amountMinor: 301, reason: 'torn' })).toBe(false);
  expect(isRequestedBy({ ...begun, createdAtMs: NOW_MS }, { kind: 'refund', amountMinor: 300, reason: 'torn' })).toBe(
    false,
  );
});

describe('the check right before the send', () => {
  const shown: ProcessorCharge = {
    chargeId: 'ch_1',
    paymentId: ID,
    status: 'succeeded',
    amountMinor: 1000,
    capturedMinor: 1000,
    currency: 'EUR',
    refunds: [],
    disputes: [],
    createdAtSeconds: 1,
  };
  const may = (operation: string, change: ChargeChange, state: PaymentState, charge = shown) => {
    const order = {
      operationId: storedOperationId(operation),
      paymentId: ID,
      chargeId: 'ch_1',
      currency: 'EUR',
      change,
    };
    return maySend(order, { charge, chain: { state } as never });
  };

  test('gives priority to the earlier of two pending refunds if a dispute leaves too little for both', () => {
    const state = given(PAID, pending('re_1', 600), pending('re_2', 400), disputed('open', 300));
    expect(may('re_1', { kind: 'refund', amountMinor: 600 }, state)).toBe(true);
    expect(may('re_2', { kind: 'refund', amountMinor: 400 }, state)).toBe(false);
  });

  test.each([
    ['requires_action', true],
    ['pending', true],
    ['authorized', true],
    ['succeeded', false],
    ['voided', false],
    ['declined', false],
  ] as const)('allows a void of a charge with the status %s: %s', (status, isSent) => {
    expect(may('can_1', { kind: 'void' }, given(), { ...shown, status })).toBe(isSent);
  });
});
