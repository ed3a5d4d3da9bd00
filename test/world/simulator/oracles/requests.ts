/** Oracle: each event that requests a payment creates one payment, or waits for an operator. */
import type { Transition } from '../../../../lambdas/payments/domain/transition.ts';
import type { PaymentRequest, Violation } from '../contract.ts';
import type { Seen, Written } from './seen.ts';

const ORACLE = 'payment requests take effect once';
/** Maximum age of an event that may be charged, in milliseconds. */
const OLDEST_MS = 24 * 3_600_000;

interface Asked {
  readonly event_id: string;
  readonly amount: number;
  readonly timestamp: string;
}

const read = ({ detail }: Pick<PaymentRequest, 'detail'>): Asked => JSON.parse(detail) as Asked;

/** Called once the system is quiet. */
export function checkRequests({ world, payments }: Seen): readonly Violation[] {
  const found: Violation[] = [];
  const wrong = (what: string, about: string): void => void found.push({ oracle: ORACLE, what, about });
  const taken = new Map<string, Written<Transition>[][]>();
  for (const chain of payments.values()) {
    const cause = chain[0]?.row.cause;
    if (cause?.by === 'event') taken.set(cause.eventId, [...(taken.get(cause.eventId) ?? []), chain]);
  }
  for (const each of world.requests.taken) {
    const { event_id: eventId, amount, timestamp } = read(each);
    const own = taken.get(eventId) ?? [];
    if (own.length > 1) wrong(`the event created ${own.length} payments`, eventId);
    const isPaid = own[0]?.[0]?.row.payment.amountMinor === amount;
    const isParked = world.requests.parked.some(
      (body) => body.includes(eventId) && body.includes(`"amount":${amount},`),
    );
    if (!isPaid && !isParked) wrong(`the request for ${amount} is neither paid nor parked`, eventId);
    const isOld = each.sentAtMs - Date.parse(timestamp) > OLDEST_MS;
    const madeAtMs = own[0]?.[0]?.atMs ?? 0;
    // An old delivery is no violation if an earlier delivery created the payment in time.
    if (isOld && madeAtMs - Date.parse(timestamp) > OLDEST_MS)
      wrong('the event was charged although it was too old', eventId);
  }
  return found;
}
