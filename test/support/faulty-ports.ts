import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import type { EffectStore } from '../../lambdas/payments/use/effect-store.ts';
import type { PaymentStore } from '../../lambdas/payments/use/payment-store.ts';
import type { Processor, ProcessorBooks } from '../../lambdas/payments/use/processor.ts';
import type { Actor, FaultVoice } from './fault-plan.ts';

export const PORT_VOICE: FaultVoice = {
  throttle: () => new RetryableError('injected_throttle', 'nothing was applied', { retryAfterSeconds: 1 }),
  ambiguous: () => new AmbiguousError('injected_ambiguity', 'nobody knows'),
};

/** The store as one process sees it. */
export function storeOf(actor: Actor, store: PaymentStore): PaymentStore {
  return {
    claim: (claim) => actor.call('claim', PORT_VOICE, () => store.claim(claim)),
    takeOver: (takeover) => actor.call('takeOver', PORT_VOICE, () => store.takeOver(takeover)),
    commit: (commit) => actor.call('commit', PORT_VOICE, () => store.commit(commit)),
    release: (operationId, owner) => actor.call('release', PORT_VOICE, () => store.release(operationId, owner)),
    readRecord: (operationId) => actor.call('readRecord', PORT_VOICE, () => store.readRecord(operationId)),
    readPayment: (paymentId) => actor.call('readPayment', PORT_VOICE, () => store.readPayment(paymentId)),
    listTransitions: (paymentId, page) =>
      actor.call('listTransitions', PORT_VOICE, () => store.listTransitions(paymentId, page)),
  };
}

/** The processor as one process sees it. */
export function processorOf(actor: Actor, processor: Processor): Processor {
  const { name, account, endpoint, apiVersion, abilities } = processor;
  return {
    name,
    account,
    endpoint,
    apiVersion,
    abilities,
    ready: () => processor.ready(),
    charge: (order, limit) => actor.call('charge', PORT_VOICE, () => processor.charge(order, limit)),
    findCharge: (order, limit) => actor.call('findCharge', PORT_VOICE, () => processor.findCharge(order, limit)),
    change: (order, limit) => actor.call('change', PORT_VOICE, () => processor.change(order, limit)),
    findChange: (order, limit) => actor.call('findChange', PORT_VOICE, () => processor.findChange(order, limit)),
  };
}

/** The effects as one process sees them. */
export function effectsOf(actor: Actor, effects: EffectStore): EffectStore {
  return {
    recordEffect: (effect) => actor.call('recordEffect', PORT_VOICE, () => effects.recordEffect(effect)),
    readEffect: (operationId) => actor.call('readEffect', PORT_VOICE, () => effects.readEffect(operationId)),
    listTransitions: (paymentId, page) =>
      actor.call('listTransitions', PORT_VOICE, () => effects.listTransitions(paymentId, page)),
  };
}

/** The processor's books as one process sees them. */
export function booksOf(actor: Actor, books: ProcessorBooks): ProcessorBooks {
  const { name, account } = books;
  return {
    name,
    account,
    readCharge: (chargeId, limit) => actor.call('readCharge', PORT_VOICE, () => books.readCharge(chargeId, limit)),
    chargesOfPayment: (paymentId, limit) =>
      actor.call('chargesOfPayment', PORT_VOICE, () => books.chargesOfPayment(paymentId, limit)),
    listCharges: (window, limit) => actor.call('listCharges', PORT_VOICE, () => books.listCharges(window, limit)),
  };
}
