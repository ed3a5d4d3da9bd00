import { eventOf, type PaymentEvent } from '../../lambdas/events/domain/event.ts';
import type { Digest } from '../../lambdas/kernel/digest.ts';
import { isOutcome } from '../../lambdas/payments/domain/payment.ts';
import { detailsOf, type Transition } from '../../lambdas/payments/domain/transition.ts';

/**
 * Returns the events as consumers parse them from JSON on the bus. The transitions must include the first one of each
 * payment.
 */
export function eventsOf(digest: Digest, transitions: readonly Transition[]): readonly PaymentEvent[] {
  const firsts = new Map(
    transitions.filter(({ sequence }) => sequence === 1).map((first) => [first.payment.id, detailsOf(first)]),
  );
  return transitions
    .filter(({ type }) => isOutcome(type))
    .map((transition) => {
      const first = firsts.get(transition.payment.id);
      if (first === undefined) throw new Error('the first transition is missing');
      return JSON.parse(JSON.stringify(eventOf(digest, transition, first))) as PaymentEvent;
    });
}
