import { isOrderOutcome } from '../../lambdas/orders/domain/order.ts';
import type { OrderTransition } from '../../lambdas/orders/domain/order-transition.ts';
import type { OrderPlace, OrderTransitionReader } from '../../lambdas/orders/use/order-store.ts';
import { isOutcome } from '../../lambdas/payments/domain/payment.ts';
import type { OutcomePlace, Transition, TransitionPlace } from '../../lambdas/payments/domain/transition.ts';
import type { LedgerAge, RecentOutcomes, TransitionReader } from '../../lambdas/payments/use/transition-reader.ts';

const MINUTE_MS = 60_000;

/** Transitions in memory, read one by one. Passes the same contract suite as DynamoDB's. */
export class MemoryTransitions implements TransitionReader, OrderTransitionReader, RecentOutcomes, LedgerAge {
  readonly #all: () => readonly Transition[];
  readonly #orders: () => readonly OrderTransition[];

  constructor(all: () => readonly Transition[], orders: () => readonly OrderTransition[] = () => []) {
    this.#all = all;
    this.#orders = orders;
  }

  async readOrderTransition({ orderId, sequence }: OrderPlace): Promise<OrderTransition | undefined> {
    return this.#orders().find((each) => each.order.id === orderId && each.sequence === sequence);
  }

  async readTransition({ paymentId, sequence }: TransitionPlace): Promise<Transition | undefined> {
    return this.#all().find((each) => each.payment.id === paymentId && each.sequence === sequence);
  }

  async outcomesOfMinute(minuteMs: number): Promise<readonly OutcomePlace[]> {
    const minuteOf = (ms: number) => Math.floor(ms / MINUTE_MS);
    const isIn = ({ occurredAtMs }: { readonly occurredAtMs: number }) => minuteOf(occurredAtMs) === minuteOf(minuteMs);
    const payments = this.#all().filter((each) => isOutcome(each.type) && isIn(each));
    const orders = this.#orders().filter((each) => isOrderOutcome(each.type) && isIn(each));
    return [
      ...payments.map(({ payment, sequence }) => ({ paymentId: payment.id, sequence })),
      ...orders.map(({ order, sequence }) => ({ orderId: order.id, sequence })),
    ];
  }

  async emptyBeforeMs(): Promise<number> {
    return 0;
  }
}
