import { eventOf } from '../events/domain/event.ts';
import type { Digest } from '../kernel/digest.ts';
import { detailsOf } from '../payments/domain/transition.ts';
import type { PaymentChain } from '../payments/use/payment-chain.ts';
import { type Commission, commissionAfter } from './commission.ts';
import { COMMISSION_EVENTS } from './contract.ts';
import type { CommissionPaymentEvent } from './keep-commission.ts';

/**
 * Derives the commission of a payment from its chain, with the same result as from the payment's events.
 *
 * @returns undefined when the payment names no affiliate, has not succeeded, or was erased
 */
export function commissionOfChain(
  digest: Digest,
  { first, transitions }: Pick<PaymentChain, 'first' | 'transitions'>,
): Commission | undefined {
  const details = detailsOf(first);
  const found = transitions.flatMap((transition) => {
    if (!COMMISSION_EVENTS.some((name) => name === `${transition.type}.v1`)) return [];
    // The cast is safe: the payment in the event is the API's object, which has all fields of `CommissionPaymentEvent`.
    const event = eventOf(digest, transition, details) as CommissionPaymentEvent;
    return commissionAfter(event, event.payment) ?? [];
  });
  const [oldest, ...later] = found;
  return oldest && later.reduce((newest, each) => (each.sequence >= newest.sequence ? each : newest), oldest);
}
