import { describe, expect, test } from '@jest/globals';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { ProcessorCharge } from '../../lambdas/payments/domain/processor-charge.ts';
import { chargeOperation } from '../../lambdas/payments/ids.ts';
import { decideAll } from '../../lambdas/payments/use/decide-all.ts';
import { chainOf, type PaymentChain } from '../../lambdas/payments/use/payment-chain.ts';
import { BY_RUN } from '../support/causes.ts';
import { sliceOf } from '../support/slice.ts';
import { Dice } from '../world/simulator/random.ts';
import { paymentIdFor, pendingTransition } from './payment-fixtures.ts';

const id = paymentIdFor('all');
const SEEDS = Array.from({ length: 3_000 }, (_, index) => index + 1);
const MAX_CHANGES = 9;
const OCCURRED_AT_MS = 1_772_366_400_000;
type Books = { -readonly [Name in keyof ProcessorCharge]: ProcessorCharge[Name] };

function newCharge(chargeId: string, isOwn: boolean): Books {
  const own = isOwn ? { operationId: chargeOperation(id) } : {};
  const money = { amountMinor: 1000, capturedMinor: 0, currency: 'EUR', refunds: [], disputes: [] };
  return { chargeId, paymentId: id, ...own, status: 'pending', ...money, createdAtSeconds: 1 };
}

function sum(parts: readonly { readonly amountMinor: number }[]): number {
  return parts.reduce((total, { amountMinor }) => total + amountMinor, 0);
}

const AMOUNTS = [1000, 1000, 600, 1500];

/** The change may contradict the charge's earlier state. */
function change(charge: Books, dice: Dice): void {
  const { chargeId, refunds, disputes } = charge;
  const isUntouched = refunds.length + disputes.length === 0;
  const goneMinor =
    sum(refunds.filter(({ status }) => status !== 'failed')) + sum(disputes.filter(({ status }) => status !== 'won'));
  const leftMinor = charge.capturedMinor - goneMinor;
  switch (dice.pick(['status', 'status', 'refund', 'end refund', 'dispute', 'end dispute', 'metadata'])) {
    case 'status':
      if (!isUntouched) return;
      charge.status = dice.pick(['pending', 'authorized', 'succeeded', 'succeeded', 'declined', 'voided']);
      charge.capturedMinor = charge.status === 'succeeded' ? dice.pick(AMOUNTS) : 0;
      return;
    case 'refund': {
      if (leftMinor <= 0) return;
      const status = dice.pick(['pending', 'succeeded', 'failed'] as const);
      const refundId = `re_${chargeId}_${refunds.length}`;
      const amountMinor = dice.chance(0.5) ? leftMinor : Math.ceil(leftMinor / 2);
      charge.refunds = [...refunds, { kind: 'refund', refundId, chargeId, amountMinor, status }];
      return;
    }
    case 'end refund': {
      const status = dice.pick(['succeeded', 'failed'] as const);
      charge.refunds = refunds.map((refund, index) => (index === 0 ? { ...refund, status } : refund));
      return;
    }
    case 'dispute': {
      if (charge.capturedMinor === 0) return;
      const disputeId = `dp_${chargeId}_${disputes.length}`;
      const amountMinor = dice.pick([charge.capturedMinor, 300]);
      charge.disputes = [...disputes, { kind: 'dispute', disputeId, chargeId, amountMinor, status: 'open' }];
      return;
    }
    case 'end dispute': {
      const status = dice.pick(['won', 'lost'] as const);
      charge.disputes = disputes.map((dispute, index) => (index === 0 ? { ...dispute, status } : dispute));
      return;
    }
    case 'metadata':
      if (charge.operationId === undefined) charge.operationId = chargeOperation(id);
      else delete charge.operationId;
  }
}

function postedOf({ chargeId }: Books, { transitions }: PaymentChain): number {
  const ofCharge = transitions.filter(({ subject, payment }) => {
    const about = subject !== undefined && 'chargeId' in subject ? subject.chargeId : payment.chargeId;
    return about === chargeId;
  });
  const legs = ofCharge.flatMap(({ postings }) => postings).filter(({ account }) => account === 'processor_clearing');
  return legs.reduce((total, leg) => total + (leg.direction === 'debit' ? leg.amountMinor : -leg.amountMinor), 0);
}

/**
 * @returns the first difference between the books and the postings; undefined if there is none, or if a contradiction
 * was found before it
 */
function wrongIn(seed: number): string | undefined {
  const dice = new Dice(seed, 'books');
  const charges = [newCharge('ch_1', true), newCharge('ch_2', dice.chance(0.3))];
  let chain = chainOf([pendingTransition(id)]);
  for (let step = 1; step <= MAX_CHANGES; step += 1) {
    const ofStep = dice.named(`step ${step}`);
    const charge = ofStep.pick(charges);
    change(charge, ofStep);
    // Some callbacks are lost.
    if (ofStep.chance(0.25)) continue;
    const read = decideAll(systemDigest, charge, chain, { occurredAtMs: OCCURRED_AT_MS, cause: BY_RUN });
    // A contradiction raises an alarm and waits for an operator.
    if (read.contradictions.length > 0) return undefined;
    if (read.transitions.length > 0) chain = chainOf([...chain.transitions, ...read.transitions]);
    const { payment } = chain.state;
    if (payment.status === 'needs_review' && payment.chargeId === charge.chargeId) continue;
    const goneMinor =
      sum(charge.refunds.filter(({ status }) => status === 'succeeded')) +
      sum(charge.disputes.filter(({ status }) => status !== 'won'));
    const heldMinor = charge.capturedMinor - goneMinor;
    const postedMinor = postedOf(charge, chain);
    if (postedMinor !== heldMinor) {
      return `seed ${seed}, step ${step}: ${charge.chargeId} holds ${heldMinor}, but ${postedMinor} is posted`;
    }
  }
  return undefined;
}

describe('the amounts that the processor’s books show for a charge', () => {
  test('are posted when they are read, or are reported as a contradiction of the postings', () => {
    const wrong = sliceOf(SEEDS, 7)
      .map(wrongIn)
      .filter((each) => each !== undefined);
    expect(wrong).toEqual([]);
  });

  test.each([
    ['more', { capturedMinor: 1500 }],
    ['less', { capturedMinor: 600 }],
    ['none', { status: 'declined', capturedMinor: 0 }],
    ['an authorized charge with nothing captured', { status: 'authorized', capturedMinor: 0 }],
    ['another currency', { currency: 'USD' }],
  ] as const)('are reported as a contradiction of a recorded late success if the books now show %s', (_what, shown) => {
    const taken: Books = { ...newCharge('ch_2', false), status: 'succeeded', capturedMinor: 1000 };
    const occasion = { occurredAtMs: OCCURRED_AT_MS, cause: BY_RUN };
    const first = chainOf([pendingTransition(id)]);
    const { transitions, contradictions } = decideAll(systemDigest, taken, first, occasion);
    expect([transitions.map(({ type }) => type), contradictions]).toEqual([['payment.late_success'], []]);
    const chain = chainOf([...first.transitions, ...transitions]);
    const again = decideAll(systemDigest, { ...taken, ...shown }, chain, occasion);
    expect(again.transitions).toEqual([]);
    expect(again.contradictions).toHaveLength(1);
  });
});
