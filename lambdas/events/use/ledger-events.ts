import type { Digest } from '../../kernel/digest.ts';
import type { OrderId, PaymentId } from '../../kernel/ids.ts';
import { isOrderOutcome } from '../../orders/domain/order.ts';
import type { OrderDetails, OrderTransition } from '../../orders/domain/order-transition.ts';
import type { OrderTransitionReader } from '../../orders/use/order-store.ts';
import { reasonsOf } from '../../payments/domain/given-reason.ts';
import { isOutcome } from '../../payments/domain/payment.ts';
import type { FirstDetails, OutcomePlace, Transition } from '../../payments/domain/transition.ts';
import type { TransitionReader } from '../../payments/use/transition-reader.ts';
import { eventOf, orderEventOf, type PayonceEvent } from '../domain/event.ts';

export interface LedgerEventTools {
  readonly transitions: TransitionReader & OrderTransitionReader;
  readonly digest: Digest;
}

/** Reads each first transition at most once. */
export class FirstTransitions {
  readonly #transitions: LedgerEventTools['transitions'];
  readonly #ofPayments = new Map<PaymentId, FirstDetails>();
  readonly #ofOrders = new Map<OrderId, OrderDetails>();

  constructor(transitions: LedgerEventTools['transitions']) {
    this.#transitions = transitions;
  }

  /** @returns undefined when the first transition is missing */
  async ofPayment({ payment, first }: Transition): Promise<FirstDetails | undefined> {
    const place = { paymentId: payment.id, sequence: 1 };
    const details = first ?? this.#ofPayments.get(payment.id) ?? (await this.#transitions.readTransition(place))?.first;
    if (details !== undefined) this.#ofPayments.set(payment.id, details);
    return details;
  }

  /** The reasons of requesters are in rows of the Registry, so a transition from the Stream does not contain them. */
  async withReasons(transition: Transition): Promise<Transition> {
    const isRead = reasonsOf(transition.subject).every(
      ({ given }) => given.commitment === undefined || given.reason !== undefined,
    );
    const { payment, sequence } = transition;
    return isRead
      ? transition
      : ((await this.#transitions.readTransition({ paymentId: payment.id, sequence })) ?? transition);
  }

  /** @returns undefined when the first transition is missing */
  async ofOrder({ order }: OrderTransition): Promise<OrderDetails | undefined> {
    const place = { orderId: order.id, sequence: 1 };
    // Read the first transition and its details again, because a transition from the Stream does not contain the
    // customer's contacts.
    const details = this.#ofOrders.get(order.id) ?? (await this.#transitions.readOrderTransition(place))?.first;
    if (details !== undefined) this.#ofOrders.set(order.id, details);
    return details;
  }
}

/** @returns undefined when the first transition of the payment or order is missing, because it contains the details */
export async function eventOfOutcome(
  digest: Digest,
  outcome: Transition | OrderTransition,
  firsts: FirstTransitions,
): Promise<PayonceEvent | undefined> {
  if ('order' in outcome) {
    const details = await firsts.ofOrder(outcome);
    return details === undefined ? undefined : orderEventOf(digest, outcome, details);
  }
  const details = await firsts.ofPayment(outcome);
  return details === undefined ? undefined : eventOf(digest, await firsts.withReasons(outcome), details);
}

/**
 * Rebuilds the event of an outcome from its transition, which is read with strong consistency. Every call returns the
 * same event.
 */
export async function readLedgerEvent(
  { transitions, digest }: LedgerEventTools,
  place: OutcomePlace,
): Promise<PayonceEvent | undefined> {
  const firsts = new FirstTransitions(transitions);
  if ('orderId' in place) {
    const found = await transitions.readOrderTransition(place);
    return found === undefined || !isOrderOutcome(found.type) ? undefined : eventOfOutcome(digest, found, firsts);
  }
  const found = await transitions.readTransition(place);
  return found === undefined || !isOutcome(found.type) ? undefined : eventOfOutcome(digest, found, firsts);
}
