import type { CancelReason, Dispute, Failure, Refund } from './payment.ts';

/**
 * What became known about a payment: by the processor's answer, by a look-up, by a callback, or by time. A fact says how
 * things are and not what to do about it: that is for the state tables.
 */
export type ChargeFact =
  /** Accepted; the processor says later how it went. */
  | { readonly kind: 'pending'; readonly chargeId: string }
  | { readonly kind: 'action_required'; readonly chargeId: string; readonly actionUrl: string }
  | { readonly kind: 'authorized'; readonly chargeId: string }
  | {
      readonly kind: 'succeeded';
      readonly chargeId: string;
      /** Minor units. @default what was asked for */
      readonly capturedMinor?: number;
      /** Minor units. */
      readonly feeMinor?: number;
      /** @default the payment's */
      readonly currency?: string;
    }
  | { readonly kind: 'declined' | 'rejected'; readonly chargeId?: string; readonly failure: Failure }
  | { readonly kind: 'voided'; readonly chargeId: string; readonly reason: CancelReason }
  /** Asked, and no answer could be had in the time that a client waits. */
  | { readonly kind: 'unknown' }
  /** Proven: nothing was ever sent, or nothing arrived and nothing can arrive any more. */
  | { readonly kind: 'not_attempted' }
  /** Neither proof can ever be had: a person decides. */
  | { readonly kind: 'undecidable' };

/** A charge that carries the payment's name and was not made by its own operation. */
export interface ForeignChargeFact {
  readonly kind: 'foreign_charge';
  readonly chargeId: string;
  readonly status: 'authorized' | 'captured' | 'none';
  /** Set aside or taken; minor units. */
  readonly amountMinor: number;
  readonly currency: string;
}

/** The processor's fee for the payment's own charge, as it stands now. Minor units. */
export interface FeeFact {
  readonly kind: 'fee';
  readonly chargeId: string;
  readonly feeMinor: number;
}

export type Fact = ChargeFact | ForeignChargeFact | FeeFact | Refund | Dispute;
