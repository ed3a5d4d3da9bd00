import { eventOf } from '../../lambdas/events/domain/event.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { detailsOf } from '../../lambdas/payments/domain/transition.ts';
import { outcomeTransition, paymentIdFor, pendingTransition } from '../payments/payment-fixtures.ts';

/** Creates the event `payment.completed` of a payment, as published on the bus. */
export function paymentCompleted(name: string): unknown {
  const first = pendingTransition(paymentIdFor(name));
  const paid = outcomeTransition(first, { kind: 'succeeded', chargeId: 'ch_1' });
  return JSON.parse(JSON.stringify(eventOf(systemDigest, paid, detailsOf(first))));
}
