import type { Transition } from '../domain/transition.ts';
import type { Hold } from './payment-store.ts';

/** The queue entry that goes with these transitions, when one of them sets money aside: nobody may come to capture it. */
export function holdToEnd(transitions: readonly Transition[]): { readonly hold?: Hold } {
  const authorized = transitions.find(({ type }) => type === 'payment.authorized');
  if (authorized === undefined) return {};
  return { hold: { paymentId: authorized.payment.id, authorizedAtMs: authorized.occurredAtMs } };
}
