import type { Occasion } from '../../kernel/cause.ts';
import type { Digest } from '../../kernel/digest.ts';
import { isAsPosted } from '../domain/charge-money.ts';
import { decide } from '../domain/decide.ts';
import { mayBeSameRefund, missingRefunds, unansweredRefunds } from '../domain/nameless-refunds.ts';
import { evolve, type PaymentState } from '../domain/payment-state.ts';
import { factsOf, isOfAnotherPayment, type ProcessorCharge } from '../domain/processor-charge.ts';
import { nextTransition, type Transition } from '../domain/transition.ts';
import type { PaymentChain } from './payment-chain.ts';

export interface DecidedFacts {
  readonly transitions: readonly Transition[];
  /**
   * Descriptions of the contradictions: facts that are impossible or contradict an earlier response to the merchant, or
   * amounts of the charge that differ from the posted amounts.
   */
  readonly contradictions: readonly string[];
  readonly state: PaymentState;
}

/**
 * Besides impossible facts, two kinds of fact are contradictions and are not appended: all facts of a charge whose
 * metadata names another payment, and a refund without an operation id that may be one of Payonce's recorded refunds.
 */
export function decideAll(
  digest: Digest,
  charge: ProcessorCharge,
  chain: PaymentChain,
  occasion: Occasion,
): DecidedFacts {
  const { payment } = chain.state;
  if (isOfAnotherPayment(charge, payment.id))
    return {
      transitions: [],
      contradictions: ['the metadata of the charge names another payment'],
      state: chain.state,
    };
  const transitions: Transition[] = [];
  const contradictions: string[] = [];
  let { state, newest } = chain;
  const nameless = [...missingRefunds(charge, state, 'succeeded')];
  const unanswered = unansweredRefunds(charge, state);
  let isWhole = true;
  for (const fact of factsOf(charge, payment, occasion.occurredAtMs)) {
    const isNew = fact.kind === 'refund' && !state.refunds.has(fact.refundId);
    const known = isNew ? nameless.findIndex((refund) => mayBeSameRefund(refund, fact)) : -1;
    if (known >= 0) {
      nameless.splice(known, 1);
      contradictions.push('the metadata of a refund no longer names its operation');
      continue;
    }
    // The new refund may be one of Payonce's own refunds whose request got no response. If it is a different refund, an
    // inquiry records it once the outcome of that request is known.
    if (isNew && unanswered.some((refund) => mayBeSameRefund(refund, fact))) {
      isWhole = false;
      continue;
    }
    const decision = decide(fact, state);
    if (decision.kind === 'review') contradictions.push(decision.because);
    if (decision.kind !== 'append') continue;
    if (decision.contradicts !== undefined) contradictions.push(decision.contradicts);
    newest = nextTransition(digest, { newest, state }, decision.draft, occasion);
    state = evolve(state, newest);
    transitions.push(newest);
  }
  if (isWhole && contradictions.length === 0 && !isAsPosted(charge, state)) {
    contradictions.push('the amounts of the charge differ from the posted amounts');
  }
  return { transitions, contradictions, state };
}
