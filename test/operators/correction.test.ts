import { describe, expect, test } from '@jest/globals';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import {
  type CorrectionDecision,
  type CorrectionRequest,
  correctionAnswer,
  decideCorrection,
} from '../../lambdas/operators/domain/correction.ts';
import { decide } from '../../lambdas/payments/domain/decide.ts';
import type { Fact } from '../../lambdas/payments/domain/facts.ts';
import { ACCOUNTS, type Posting } from '../../lambdas/payments/domain/posting.ts';
import { firstBrokenLink, nextTransition, type Transition } from '../../lambdas/payments/domain/transition.ts';
import { chainOf, type PaymentChain } from '../../lambdas/payments/use/payment-chain.ts';
import { paymentIdFor, pendingTransition } from '../payments/payment-fixtures.ts';
import { requestedAt } from '../support/causes.ts';
import { fc } from '../support/properties.ts';
import { MemoryLedgerReader } from '../views/memory-ledger-reader.ts';

type Change = CorrectionRequest['change'];

const reverse = (sequence: number): Change => ({ kind: 'reverse', sequence });
const post = (...legs: readonly (readonly [Posting['account'], Posting['direction'], number])[]): Change => ({
  kind: 'post',
  legs: legs.map(([account, direction, amountMinor]) => ({ account, direction, amountMinor })),
});
const requestOf = (correctionId: string, change: Change): CorrectionRequest => ({
  correctionId,
  reason: 'Booked twice',
  operator: 'Ada Example',
  change,
});

/** Transition 2 has four postings. */
function taken(): readonly Transition[] {
  const created = pendingTransition(paymentIdFor('correction'));
  return withFact([created], { kind: 'succeeded', chargeId: 'ch_1', feeMinor: 59 });
}

function withFact(chain: readonly Transition[], fact: Fact): readonly Transition[] {
  const before = chainOf(chain);
  const decision = decide(fact, before.state);
  return decision.kind === 'append'
    ? [...chain, nextTransition(systemDigest, before, decision.draft, requestedAt(1))]
    : chain;
}

function corrected(chain: readonly Transition[], id: string, change: Change): readonly Transition[] {
  const decision = decisionOn(chain, id, change);
  if (decision.kind !== 'append') return chain;
  return [...chain, nextTransition(systemDigest, chainOf(chain), decision.draft, requestedAt(2_000))];
}

const newestOf = (chain: readonly Transition[]): PaymentChain['newest'] => chainOf(chain).newest;
const decisionOn = (chain: readonly Transition[], id: string, change: Change): CorrectionDecision =>
  decideCorrection(requestOf(id, change), chainOf(chain));

describe('a correction', () => {
  test('that reverses a set of postings posts the complete set, with debits and credits exchanged', () => {
    const chain = corrected(taken(), 'cor_1', reverse(2));

    expect(newestOf(chain)).toMatchObject({
      sequence: 3,
      type: 'ledger.corrected',
      subject: {
        kind: 'correction',
        correctionId: 'cor_1',
        reason: 'Booked twice',
        operator: 'Ada Example',
        reverses: 2,
      },
      postings: [
        { account: 'processor_clearing', direction: 'credit', amountMinor: 1000, currency: 'EUR' },
        { account: 'merchant_payable', direction: 'debit', amountMinor: 1000, currency: 'EUR' },
        { account: 'fees', direction: 'credit', amountMinor: 59, currency: 'EUR' },
        { account: 'processor_clearing', direction: 'debit', amountMinor: 59, currency: 'EUR' },
      ],
    });
  });

  test('with new postings posts them in the payment’s currency, and reverses no set', () => {
    const chain = corrected(taken(), 'cor_1', post(['corrections', 'debit', 10], ['fees', 'credit', 10]));

    expect(newestOf(chain).postings).toEqual([
      { account: 'corrections', direction: 'debit', amountMinor: 10, currency: 'EUR' },
      { account: 'fees', direction: 'credit', amountMinor: 10, currency: 'EUR' },
    ]);
    expect(newestOf(chain).subject).not.toHaveProperty('reverses');
  });

  test('has a 201 response that contains its postings', () => {
    const answer = correctionAnswer(newestOf(corrected(taken(), 'cor_1', reverse(2))));

    expect(answer).toMatchObject({ status: 201, headers: { 'content-type': 'application/json' } });
    expect(JSON.parse(answer.body)).toEqual({
      id: 'cor_1',
      object: 'correction',
      payment: paymentIdFor('correction'),
      sequence: 3,
      reason: 'Booked twice',
      operator: 'Ada Example',
      reverses: 2,
      postings: [
        { account: 'processor_clearing', direction: 'credit', amount: 1000, currency: 'EUR' },
        { account: 'merchant_payable', direction: 'debit', amount: 1000, currency: 'EUR' },
        { account: 'fees', direction: 'credit', amount: 59, currency: 'EUR' },
        { account: 'processor_clearing', direction: 'debit', amount: 59, currency: 'EUR' },
      ],
      created: 2,
    });
  });

  test.each([
    ['a transition that posted nothing', 1],
    ['a transition that does not exist', 3],
  ])('cannot reverse %s', (_what, sequence) => {
    expect(decisionOn(taken(), 'cor_1', reverse(sequence))).toEqual({ kind: 'nothing_to_reverse' });
  });

  test('cannot reverse a set twice; the refusal names the correction that reversed the set', () => {
    const once = corrected(taken(), 'cor_1', reverse(2));

    expect(decisionOn(once, 'cor_2', reverse(2))).toEqual({ kind: 'already_reversed', correctionId: 'cor_1' });
  });

  test('can itself be reversed once; the second correction posts the original set again, and can be reversed, too', () => {
    const undone = corrected(taken(), 'cor_1', reverse(2));
    const back = corrected(undone, 'cor_2', reverse(3));

    expect(newestOf(back).postings).toEqual(taken()[1]?.postings);
    expect(decisionOn(back, 'cor_3', reverse(3))).toEqual({ kind: 'already_reversed', correctionId: 'cor_2' });
    expect(decisionOn(back, 'cor_3', reverse(2))).toEqual({ kind: 'already_reversed', correctionId: 'cor_1' });
    expect(decisionOn(back, 'cor_3', reverse(4))).toMatchObject({ kind: 'append' });
  });

  test.each([
    [post(['fees', 'debit', 10], ['corrections', 'credit', 7]), 3],
    [post(['fees', 'debit', 10], ['corrections', 'credit', 11]), -1],
    [post(['fees', 'credit', 5], ['corrections', 'credit', 5]), -10],
  ])('is refused if it is unbalanced, and the refusal states the difference: %j', (change, byMinor) => {
    expect(decisionOn(taken(), 'cor_1', change)).toEqual({ kind: 'unbalanced', byMinor });
  });

  test('is never posted a second time if the chain contains its id, even for a different request', () => {
    const once = corrected(taken(), 'cor_1', reverse(2));

    expect(decisionOn(once, 'cor_1', reverse(2))).toEqual({ kind: 'made_before' });
    expect(decisionOn(once, 'cor_1', reverse(1))).toEqual({ kind: 'made_before' });
  });
});

const charge = fc.constantFrom('ch_1', 'ch_2');
const fact: fc.Arbitrary<Fact> = fc.oneof(
  fc.constant<Fact>({ kind: 'unknown' }),
  fc.record({ kind: fc.constant('authorized' as const), chargeId: charge }),
  fc.record({ kind: fc.constant('succeeded' as const), chargeId: charge, feeMinor: fc.constantFrom(0, 59) }),
  fc.record({ kind: fc.constant('voided' as const), chargeId: charge, reason: fc.constant('expired' as const) }),
  fc.record({ kind: fc.constant('fee' as const), chargeId: charge, feeMinor: fc.constantFrom(30, 80) }),
  fc.record({
    kind: fc.constant('foreign_charge' as const),
    chargeId: fc.constant('ch_3'),
    status: fc.constant('captured' as const),
    amountMinor: fc.constant(700),
    currency: fc.constantFrom('EUR', 'USD'),
  }),
  fc.record({
    kind: fc.constant('refund' as const),
    createdAtMs: fc.constant(1_772_366_400_000),
    refundId: fc.constantFrom('re_1', 're_2'),
    chargeId: charge,
    amountMinor: fc.constant(400),
    status: fc.constantFrom('succeeded' as const, 'failed' as const),
  }),
  fc.record({
    kind: fc.constant('dispute' as const),
    createdAtMs: fc.constant(1_772_366_400_000),
    disputeId: fc.constant('dp_1'),
    chargeId: charge,
    amountMinor: fc.constant(1000),
    status: fc.constantFrom('open' as const, 'won' as const, 'lost' as const),
  }),
);
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ kind: fc.constant('reverse' as const), sequence: fc.integer({ min: 1, max: 12 }) }),
  fc
    .tuple(fc.constantFrom(...ACCOUNTS), fc.constantFrom(...ACCOUNTS), fc.integer({ min: 1, max: 500 }), fc.boolean())
    .map(([debit, credit, amount, even]) => post([debit, 'debit', amount], [credit, 'credit', even ? amount : 501])),
);
const step = fc.oneof({ arbitrary: fact, weight: 3 }, { arbitrary: change, weight: 2 });

describe('any sequence of facts and corrections', () => {
  test('keeps debits equal to credits over all accounts, and balances equal to the sums of the entries', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
        let chain: readonly Transition[] = [pendingTransition(paymentIdFor('any'))];
        for (const [index, each] of steps.entries()) {
          const isChange = each.kind === 'reverse' || each.kind === 'post';
          chain = isChange ? corrected(chain, `cor_${index}`, each) : withFact(chain, each);
        }
        const reader = new MemoryLedgerReader(() => chain);
        const { tenantId, mode } = newestOf(chain).payment;
        const balances = await reader.balances({ tenantId, mode });
        const entries = await reader.entries({ tenantId, mode, limit: 1_000 });

        for (const currency of ['EUR', 'USD']) {
          const own = balances.filter((each) => each.currency === currency);
          expect(own.reduce((sum, { debitMinor, creditMinor }) => sum + debitMinor - creditMinor, 0)).toBe(0);
        }
        for (const { account, currency, debitMinor, creditMinor } of balances) {
          const summed = { debit: 0, credit: 0 };
          for (const entry of entries) {
            if (entry.account !== account || entry.currency !== currency) continue;
            summed[entry.direction] += entry.amountMinor;
          }
          expect(summed).toEqual({ debit: debitMinor, credit: creditMinor });
        }
        expect(new Set(entries.map((entry) => `${entry.account} ${entry.currency}`)).size).toBe(balances.length);
        expect(firstBrokenLink(systemDigest, chain)).toBeUndefined();
      }),
    );
  });

  test('contains no correction that changes the payment, and no set that is reversed twice', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
        let chain: readonly Transition[] = [pendingTransition(paymentIdFor('any'))];
        for (const [index, each] of steps.entries()) {
          const before = newestOf(chain).payment;
          const isChange = each.kind === 'reverse' || each.kind === 'post';
          chain = isChange ? corrected(chain, `cor_${index}`, each) : withFact(chain, each);
          if (isChange) expect(newestOf(chain).payment).toEqual(before);
        }
        const undone = chain.flatMap(({ subject }) =>
          subject?.kind === 'correction' && subject.reverses !== undefined ? [subject.reverses] : [],
        );
        expect(new Set(undone).size).toBe(undone.length);
      }),
    );
  });
});
