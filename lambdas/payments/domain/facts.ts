import type { Fees } from './fees.ts';
import type { CancelReason, Dispute, Failure, Refund } from './payment.ts';

/**
 * Information about the charge of a payment, from a processor's response, a look-up, a callback or the passing of time.
 * A fact states what is true, not what was done. The state tables define its effect.
 */
export type ChargeFact =
  /** The processor accepted the charge, and reports the result later. */
  | { readonly kind: 'pending'; readonly chargeId: string }
  | { readonly kind: 'action_required'; readonly chargeId: string; readonly actionUrl: string }
  | { readonly kind: 'authorized'; readonly chargeId: string }
  | SucceededFact
  | { readonly kind: 'declined' | 'rejected'; readonly chargeId?: string; readonly failure: Failure }
  | { readonly kind: 'voided'; readonly chargeId: string; readonly reason: CancelReason }
  /** The processor was called and did not respond in time. */
  | { readonly kind: 'unknown' }
  /** It is proven that no request was sent, or that none reached the processor and none can reach it later. */
  | { readonly kind: 'not_attempted' }
  /** Neither the charge nor its absence can be proven: an operator decides. */
  | { readonly kind: 'undecidable' };

interface SucceededFact extends Fees {
  readonly kind: 'succeeded';
  readonly chargeId: string;
  /** @default the requested amount */
  readonly capturedMinor?: number;
  /** @default the payment's currency */
  readonly currency?: string;
}

/**
 * A charge that names the payment in its metadata but is not the payment's own charge. It was created by another
 * operation, or by another attempt of the payment's operation.
 */
export interface ForeignChargeFact {
  readonly kind: 'foreign_charge';
  readonly chargeId: string;
  readonly status: 'authorized' | 'captured' | 'none';
  readonly amountMinor: number;
  readonly currency: string;
}

export interface FeeFact extends Fees {
  readonly kind: 'fee';
  readonly chargeId: string;
}

/** A refund as the processor reports it. The time at which it is recorded is added later. */
export type RefundFact = Omit<Refund, 'createdAtMs'> & Partial<Pick<Refund, 'createdAtMs'>>;
export type DisputeFact = Omit<Dispute, 'createdAtMs'> & Partial<Pick<Dispute, 'createdAtMs'>>;

export type Fact = ChargeFact | ForeignChargeFact | FeeFact | RefundFact | DisputeFact;
