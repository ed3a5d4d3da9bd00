import { type Mode, tenantId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { decide } from '../../lambdas/payments/domain/decide.ts';
import type { Fact } from '../../lambdas/payments/domain/facts.ts';
import { stateAfter } from '../../lambdas/payments/domain/payment-state.ts';
import { firstTransition, nextTransition, type Transition } from '../../lambdas/payments/domain/transition.ts';
import { paymentIdFor, pendingTransition } from '../payments/payment-fixtures.ts';
import { requestedAt } from '../support/causes.ts';
import { fc } from '../support/properties.ts';

const MINE = 'ch_1';
const HOUR_MS = 60 * 60 * 1000;
/** Start time in the evening, so that most histories cross midnight. */
export const BEGIN_MS = Date.UTC(2026, 2, 1, 20);

export interface PaymentHistoryPlan {
  readonly key: string;
  readonly tenant: string;
  readonly mode: Mode;
  readonly reference: string | undefined;
  readonly amountMinor: number;
  readonly currency: string;
  /** Times of the creation and of the steps, in any order, in hours after BEGIN_MS. */
  readonly hours: readonly number[];
  readonly steps: readonly Fact[];
}

const charge = { chargeId: MINE };
const stray = { chargeId: 'ch_2' };

const FACTS: readonly Fact[] = [
  { kind: 'pending', ...charge },
  { kind: 'action_required', ...charge, actionUrl: 'https://processor.example/a' },
  { kind: 'authorized', ...charge },
  { kind: 'succeeded', ...charge },
  { kind: 'succeeded', ...charge, feeMinor: 5 },
  { kind: 'declined', failure: { code: 'card_declined', message: 'no' } },
  { kind: 'undecidable' },
  { kind: 'fee', ...charge, feeMinor: 7 },
  // The processor has paid back more fees than it deducted.
  { kind: 'fee', ...charge, feeMinor: -3, otherFees: [{ amountMinor: -2, currency: 'USD' }] },
  { kind: 'refund', ...charge, createdAtMs: 1_772_366_400_000, refundId: 're_1', amountMinor: 30, status: 'succeeded' },
  { kind: 'refund', ...charge, createdAtMs: 1_772_366_400_000, refundId: 're_1', amountMinor: 30, status: 'failed' },
  { kind: 'dispute', ...charge, createdAtMs: 1_772_366_400_000, disputeId: 'dp_1', amountMinor: 40, status: 'open' },
  { kind: 'dispute', ...charge, createdAtMs: 1_772_366_400_000, disputeId: 'dp_1', amountMinor: 40, status: 'won' },
  { kind: 'dispute', ...charge, createdAtMs: 1_772_366_400_000, disputeId: 'dp_2', amountMinor: 20, status: 'lost' },
  { kind: 'foreign_charge', ...stray, status: 'captured', amountMinor: 50, currency: 'USD' },
  { kind: 'refund', ...stray, createdAtMs: 1_772_366_400_000, refundId: 're_2', amountMinor: 50, status: 'succeeded' },
  { kind: 'dispute', ...stray, createdAtMs: 1_772_366_400_000, disputeId: 'dp_3', amountMinor: 50, status: 'open' },
];

const plan = fc.record({
  tenant: fc.constantFrom('ten_a', 'ten_b'),
  mode: fc.constantFrom<Mode>('test', 'live'),
  reference: fc.constantFrom(undefined, 'order-1', 'order-2'),
  amountMinor: fc.integer({ min: 100, max: 100_000 }),
  currency: fc.constantFrom('EUR', 'JPY'),
  hours: fc.array(fc.integer({ min: 0, max: 60 }), { minLength: 9, maxLength: 9 }),
  steps: fc.array(fc.constantFrom(...FACTS), { minLength: 1, maxLength: 8 }),
});

export const paymentPlans: fc.Arbitrary<readonly PaymentHistoryPlan[]> = fc
  .array(plan, { minLength: 1, maxLength: 6 })
  .map((plans) => plans.map((each, index) => ({ ...each, key: `k-${index}` })));

/** A fact without an effect adds no transition. */
export function chainFor({ key, tenant, mode, reference, hours, steps, ...money }: PaymentHistoryPlan): Transition[] {
  const { payment, first, type } = pendingTransition(paymentIdFor(key, tenant), reference);
  invariant(first !== undefined, 'the first transition has no details');
  const sorted = [...hours].sort((left, right) => left - right);
  const at = (step: number) => BEGIN_MS + (sorted[step] ?? 0) * HOUR_MS + step;
  const own = { ...payment, tenantId: tenantId(tenant), mode, ...money, createdAtMs: at(0) };
  const chain = [firstTransition(systemDigest, { type, payment: own, postings: [] }, first, requestedAt(at(0)))];
  for (const [index, fact] of steps.entries()) {
    const newest = chain.at(-1);
    invariant(newest !== undefined, 'the chain is empty');
    const state = stateAfter(chain);
    const decision = decide(fact, state);
    if (decision.kind !== 'append') continue;
    chain.push(nextTransition(systemDigest, { newest, state }, decision.draft, requestedAt(at(index + 1))));
  }
  return chain;
}
