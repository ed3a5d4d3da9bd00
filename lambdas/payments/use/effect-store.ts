import type { OperationId, PaymentId } from '../../kernel/ids.ts';
import type { EffectRecord } from '../../once/domain/idempotency.ts';
import type { Transition } from '../domain/transition.ts';
import type { ChargeToReturn, Hold, OpenOrder, PaymentStore } from './payment-store.ts';

/** What was said of a charge that no payment of ours is known for. Kept, tried again for a day, and never posted. */
export interface OrphanedCallback {
  /** Of the callback. */
  readonly operationId: OperationId;
  readonly event: CallbackEvent;
  readonly reason: 'charge_unknown' | 'payment_unknown' | 'other_account';
  readonly receivedAtMs: number;
}

/** A processor's message that something changed; what it is like now is read there. */
export interface CallbackEvent {
  readonly processorName: string;
  /** The processor's own: the same for every delivery of one event. */
  readonly eventId: string;
  /** In the processor's words. */
  readonly type: string;
  readonly chargeId: string;
  /** The payment that it names, if it names one. */
  readonly paymentId?: PaymentId;
}

export interface Effect {
  readonly record: EffectRecord;
  /** Of one payment, in their order; none when all was known already. */
  readonly transitions: readonly Transition[];
  /** Kept with the record. */
  readonly orphan?: OrphanedCallback;
  /** Taken off the shelf with the record: it has found its payment. */
  readonly adopted?: OrphanedCallback;
  readonly toReturn?: readonly ChargeToReturn[];
  readonly hold?: Hold;
  /** Whose money has come back: somebody must look at it again. */
  readonly reopened?: OpenOrder;
}

/** In order of precedence. */
export type EffectOutcome =
  | { readonly kind: 'recorded' }
  | { readonly kind: 'recorded_before'; readonly record: EffectRecord }
  | { readonly kind: 'transition_exists' };

/** Effects that need no claim: dedup record and effect in one conditional transaction. */
export interface EffectStore extends Pick<PaymentStore, 'listTransitions'> {
  /** The one durable write. */
  recordEffect(effect: Effect): Promise<EffectOutcome>;
  readEffect(operationId: OperationId): Promise<EffectRecord | undefined>;
}
