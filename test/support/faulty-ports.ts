import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import type { ApprovingStore } from '../../lambdas/operators/use/approving-store.ts';
import type { OrderStore } from '../../lambdas/orders/use/order-store.ts';
import type { PaymentStore } from '../../lambdas/payments/use/payment-store.ts';
import type { Processor, ProcessorBooks } from '../../lambdas/payments/use/processor.ts';
import type { Actor, FaultErrors } from './fault-plan.ts';

export const PORT_ERRORS: FaultErrors = {
  throttle: () => new RetryableError('injected_throttle', 'nothing was applied', { retryAfterSeconds: 1 }),
  ambiguous: () => new AmbiguousError('injected_ambiguity', 'the outcome is unknown'),
};

type Method = (...args: readonly never[]) => Promise<unknown>;
type MethodOf<Port> = { [Name in keyof Port]: Port[Name] extends Method ? Name : never }[keyof Port];

/** Each call of the named methods can have a fault. */
export function portWithFaults<Port extends object, Name extends MethodOf<Port> & string>(
  actor: Actor,
  port: Port,
  ...names: readonly Name[]
): Pick<Port, Name> {
  const seen: Partial<Record<Name, Method>> = {};
  for (const name of names) {
    const method = port[name] as Method;
    seen[name] = (...args) => actor.call(name, PORT_ERRORS, () => method.apply(port, args as never));
  }
  return seen as Pick<Port, Name>;
}

export function storeOf(actor: Actor, store: PaymentStore): PaymentStore {
  const reads = ['readRecord', 'readPayment', 'readEnds', 'readNotes', 'listTransitions'] as const;
  return portWithFaults(actor, store, 'claim', 'takeOver', 'commit', 'release', ...reads);
}

export function processorOf(actor: Actor, processor: Processor): Processor {
  const { name, mode, account, endpoint, apiVersion, abilities } = processor;
  const seen = portWithFaults(actor, processor, 'charge', 'findCharge', 'change', 'findChange', 'showCharge');
  return { name, mode, account, endpoint, apiVersion, abilities, ready: () => processor.ready(), ...seen };
}

export function effectsOf(actor: Actor, effects: ApprovingStore): ApprovingStore {
  const writes = ['recordEffect', 'claimChange', 'queueOrNote'] as const;
  return portWithFaults(actor, effects, ...writes, 'readEffect', 'listTransitions', 'readApproval', 'listApprovals');
}

export function booksOf(actor: Actor, books: ProcessorBooks): ProcessorBooks {
  const { name, mode, account } = books;
  return { name, mode, account, ...portWithFaults(actor, books, 'readCharge', 'chargesOfPayment', 'listCharges') };
}

export function ordersOf(actor: Actor, orders: OrderStore): OrderStore {
  const lists = ['listOrderTransitions', 'openOrders', 'postponeOrder', 'closeOrder'] as const;
  return portWithFaults(actor, orders, 'claimOrder', 'commitOrder', 'appendToOrder', ...lists);
}
