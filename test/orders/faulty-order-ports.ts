import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import type { OrderTools } from '../../lambdas/orders/use/order-calls.ts';
import type { Mailer, ReferralProgram, StockKeeper } from '../../lambdas/orders/use/order-parties.ts';
import type { OrderStore } from '../../lambdas/orders/use/order-store.ts';
import type { Actor, FaultVoice } from '../support/fault-plan.ts';
import { processorOf, storeOf } from '../support/faulty-ports.ts';

const VOICE: FaultVoice = {
  throttle: () => new RetryableError('injected_throttle', 'nothing was applied', { retryAfterSeconds: 1 }),
  ambiguous: () => new AmbiguousError('injected_ambiguity', 'nobody knows'),
};

/** All that an order needs, as one process sees it. */
export function orderToolsOf(actor: Actor, tools: OrderTools): OrderTools {
  return {
    ...tools,
    store: storeOf(actor, tools.store),
    processor: processorOf(actor, tools.processor),
    orders: ordersOf(actor, tools.orders),
    ...partiesOf(actor, tools),
  };
}

interface Parties {
  readonly stock: StockKeeper;
  readonly referrals: ReferralProgram;
  readonly mailer: Mailer;
}

export function partiesOf(actor: Actor, { stock, referrals, mailer }: Parties): Parties {
  return {
    stock: {
      reserve: (order, limit) => actor.call('reserve', VOICE, () => stock.reserve(order, limit)),
      release: (id, limit) => actor.call('release', VOICE, () => stock.release(id, limit)),
    },
    referrals: { credit: (order, limit) => actor.call('credit', VOICE, () => referrals.credit(order, limit)) },
    mailer: { send: (letter, limit) => actor.call('send', VOICE, () => mailer.send(letter, limit)) },
  };
}

function ordersOf(actor: Actor, orders: OrderStore): OrderStore {
  return {
    claimOrder: (claim) => actor.call('claimOrder', VOICE, () => orders.claimOrder(claim)),
    commitOrder: (commit) => actor.call('commitOrder', VOICE, () => orders.commitOrder(commit)),
    appendToOrder: (append) => actor.call('appendToOrder', VOICE, () => orders.appendToOrder(append)),
    listOrderTransitions: (orderId, page) =>
      actor.call('listOrderTransitions', VOICE, () => orders.listOrderTransitions(orderId, page)),
    openOrders: (limit) => actor.call('openOrders', VOICE, () => orders.openOrders(limit)),
    closeOrder: (open) => actor.call('closeOrder', VOICE, () => orders.closeOrder(open)),
  };
}
