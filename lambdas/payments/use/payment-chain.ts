import type { PaymentId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import { type PaymentState, stateAfter } from '../domain/payment-state.ts';
import type { Transition } from '../domain/transition.ts';
import type { PaymentStore } from './payment-store.ts';

/** All that is written of a payment, and what it adds up to. */
export interface PaymentChain {
  /** Transition 1, which carries what later answers need. */
  readonly first: Transition;
  readonly newest: Transition;
  readonly transitions: readonly Transition[];
  readonly state: PaymentState;
}

/** One page holds all of nearly every payment, and stays below the megabyte that a query gives at once. */
const PAGE = 250;
/** A thousand refunds of one payment, each with its pending transition, are far fewer. */
const MAX_PAGES = 40;

export function chainOf(transitions: readonly Transition[]): PaymentChain {
  const [first] = transitions;
  const newest = transitions.at(-1);
  invariant(first !== undefined && newest !== undefined, 'a chain has a first transition');
  return { first, newest, transitions, state: stateAfter(transitions) };
}

/** Read consistently. @returns undefined when there is no such payment @throws RetryableError when it cannot be read now */
export async function readChain(
  store: Pick<PaymentStore, 'listTransitions'>,
  paymentId: PaymentId,
): Promise<PaymentChain | undefined> {
  const transitions: Transition[] = [];
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const found = await store.listTransitions(paymentId, { afterSequence: transitions.length, limit: PAGE });
    transitions.push(...found);
    if (found.length < PAGE) return transitions.length === 0 ? undefined : chainOf(transitions);
  }
  invariant(false, `the payment ${paymentId} has more transitions than are ever read`);
}
