/**
 * The sandbox processor's HTTP contract, in JSON over plain HTTP. Both the caller (the processor adapter) and the
 * implementation import it from here.
 *
 *   POST /charges                  header `Idempotency-Key`; CreateCharge → 201 Charge | 402 ProcessorError (with the declined charge's id)
 *   GET  /charges/{id}             Charge | 404
 *   GET  /charges?key=<key>        ChargeList; strongly consistent
 *   GET  /charges?payment=<id>     ChargeList of all charges with this metadata.payment; strongly consistent
 *   GET  /charges?created_from=<s>&created_to=<s>   ChargeList by time of creation, oldest first, from inclusive, to
 *                                  exclusive, Unix seconds, at most 31 days apart; `cursor=<next>` for the next page
 *   POST /charges/{id}/capture     header `Idempotency-Key`; { amount? } → 200 Charge
 *   POST /charges/{id}/void        header `Idempotency-Key`; → 200 Charge
 *   POST /charges/{id}/refunds     header `Idempotency-Key`; { amount?, metadata? } → 201 Refund
 *   GET  /actions/{charge id}      a page on which the payer approves or refuses
 *   POST /actions/{charge id}      form or JSON { decision: "approve" | "refuse" }; the page shows the result
 *   GET  /events?charge=<id>       EventList, oldest first, each event with `attempts` and `delivered`
 *   GET  /health                   200 { "status": "ok" }; a read, used as the circuit breaker's probe
 *
 * Payonce signs the raw body of its calls to a processor that the operator runs, as in Standard Webhooks 1.0.0
 * (docs/guides/processor-protocol.md, "Signed calls").
 *
 * For tests and demonstrations. A real processor has none of these routes:
 *
 *   PUT  /control/failures              SwitchedFailures → 200; the next `count` calls of POST /charges behave like `source`
 *   GET  /control/failures              SwitchedFailures
 *   PUT  /control/change-failures       the same for captures, voids and refunds; with `tok_async`, a refund begins pending
 *   GET  /control/change-failures       SwitchedFailures
 *   POST /control/events/{id}/resend    { id?: "same" | "new", copies?: 1 to 10 } → 202 SandboxEvent; copies are sent concurrently
 *   POST /control/charges/{id}/dispute  { amount? } → 201 Dispute; without an amount, the captured amount
 *   POST /control/disputes/{id}/close   { outcome: "won" | "lost" } → 200 Dispute
 *   POST /control/refunds/{id}/succeed  → 200 Refund; a pending refund succeeds
 *   POST /control/refunds/{id}/fail     → 200 Refund; the refund fails and its money is captured again
 *   POST /control/charges/{id}/expire   → 200 Charge, voided with the reason `expired`; only an authorized charge, or one
 *                                       that waits for its payer (then `abandoned`)
 *
 * Idempotency keys are optional, as at large processors; a call without a key takes effect each time, so a naive caller
 * charges twice. A call with a known key returns the object of the first call, or 422 `idempotency_key_mismatch` if the
 * body differs. A key is honored for 24 hours; after that, a call with the key creates a new charge (`?key=` then lists
 * both) or a new change. A refused capture, void or refund is 400 and does not use up its key. A refund of an amount
 * that is in an open or lost dispute is refused as `charge_disputed`.
 *
 * Errors are a ProcessorError: 400 `invalid_request`, `invalid_json`, `invalid_source`, 404 `not_found`,
 * 405 `method_not_allowed` with Allow, 409 `busy` (nothing was applied), 422 `idempotency_key_mismatch`.
 *
 * Callbacks: every change to a charge, a refund or a dispute is an event. The sandbox posts it as JSON to the
 * configured URL until the answer is 2xx: immediately, then after growing waits. Each callback is signed over its raw
 * bytes (SIGNATURE_HEADER). An event names the changed object; its receiver reads the charge, which is authoritative.
 */

export type ChargeStatus = 'pending' | 'requires_action' | 'authorized' | 'succeeded' | 'declined' | 'voided';

export interface CreateCharge {
  /** Minor units, a positive safe integer. */
  readonly amount: number;
  /** ISO 4217, upper case. */
  readonly currency: string;
  readonly source: string;
  readonly capture: 'automatic' | 'manual';
  readonly metadata: Readonly<Record<string, string>>;
  /** The URL to which the payer returns after the decision. @default none: the page shows the result */
  readonly return_url?: string | undefined;
}

export interface Charge {
  readonly id: string;
  readonly object: 'charge';
  readonly amount: number;
  readonly amount_captured: number;
  readonly amount_refunded: number;
  readonly currency: string;
  /** Capture mode as requested. It determines the response to the create request, even after the charge has changed. */
  readonly capture: 'automatic' | 'manual';
  readonly status: ChargeStatus;
  readonly failure: { readonly code: string; readonly message: string } | null;
  /** The processor's fee in minor units; null until it is reported. */
  readonly fee: number | null;
  /**
   * The currency in which the account is settled. `fee` and the dispute fees are amounts in this currency.
   * @default the charge's currency
   */
  readonly fee_currency?: string | undefined;
  /** The page on which the payer approves or refuses; null unless the status is `requires_action`. */
  readonly action_url: string | null;
  /** Null if the charge is not voided. */
  readonly void_reason: VoidReason | null;
  /** Oldest first. */
  readonly refunds: readonly Refund[];
  /** Oldest first. */
  readonly disputes: readonly Dispute[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly return_url?: string | undefined;
  /**
   * True if the charge moves real money. A response is rejected if its mode differs from the mode in the processor's
   * settings.
   */
  readonly livemode: boolean;
  /** Unix seconds. */
  readonly created: number;
}

type VoidReason = 'requested' | 'expired' | 'abandoned';

export interface ChargeList {
  readonly data: readonly Charge[];
  /** The cursor of the next page. Null on the last page, and in lists by key or by payment. */
  readonly next: string | null;
}

export interface Refund {
  readonly id: string;
  readonly object: 'refund';
  readonly charge: string;
  readonly amount: number;
  readonly status: 'pending' | 'succeeded' | 'failed';
  /** The metadata of the request; `operation` is Payonce's operation id. */
  readonly metadata: Readonly<Record<string, string>>;
}

/**
 * A dispute: the payer's bank takes the money back. If the merchant wins the dispute, the money is returned to the
 * merchant.
 */
export interface Dispute {
  readonly id: string;
  readonly object: 'dispute';
  readonly charge: string;
  readonly amount: number;
  readonly status: 'open' | 'won' | 'lost';
  /**
   * The processor's fee for the dispute, in minor units.
   * @default none
   */
  readonly fee?: number | undefined;
}

export interface ProcessorError {
  readonly error: { readonly code: string; readonly message: string; readonly charge?: string };
}

export interface SwitchedFailures {
  /** Number of affected requests; 0 switches the failure off. */
  readonly count: number;
  /** The magic source whose failure these requests simulate, for example `tok_timeout_charged`. */
  readonly source: string;
}

/**
 * Name of the signature header. Its value is `t=<Unix seconds>,v1=<lower-case hexadecimal HMAC-SHA256 of "<t>.<raw
 * body>" under the secret>`, with exactly one time and one signature, in this order.
 */
export const SIGNATURE_HEADER = 'sandbox-signature';

export const EVENT_TYPES = [
  'charge.pending',
  'charge.requires_action',
  'charge.authorized',
  'charge.succeeded',
  'charge.declined',
  'charge.voided',
  'refund.created',
  'refund.updated',
  'refund.failed',
  'dispute.opened',
  'dispute.closed',
] as const;

export type EventType = (typeof EVENT_TYPES)[number];

export interface SandboxEvent {
  /** The event id, the same for every delivery of the event. */
  readonly id: string;
  readonly object: 'event';
  readonly type: EventType;
  readonly livemode: boolean;
  /** Unix seconds. */
  readonly created: number;
  readonly data: {
    readonly charge: string;
    /** `metadata.payment` of the charge. */
    readonly payment: string | null;
    readonly refund?: string;
    readonly dispute?: string;
  };
}

export interface EventList {
  readonly data: readonly (SandboxEvent & {
    readonly attempts: number;
    /** True if the receiver has responded to a send with 2xx. */
    readonly delivered: boolean;
  })[];
}
