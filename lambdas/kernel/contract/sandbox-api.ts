/**
 * The sandbox processor's HTTP contract, in JSON over plain HTTP. Its caller (the processor adapter) and its
 * implementation both import it from here.
 *
 *   POST /charges                  header `Idempotency-Key`; CreateCharge → 201 Charge | 402 ProcessorError (with the declined charge's id)
 *   GET  /charges/{id}             Charge | 404
 *   GET  /charges?key=<key>        ChargeList; strong: what was answered is there
 *   GET  /charges?payment=<id>     ChargeList of all charges whose metadata.payment is that id; strong
 *   GET  /charges?created_from=<s>&created_to=<s>   ChargeList by time of making, oldest first, from inclusive, to
 *                                  exclusive, Unix seconds, at most 31 days apart; `cursor=<next>` for the next page
 *   POST /charges/{id}/capture     header `Idempotency-Key`; { amount? } → 200 Charge
 *   POST /charges/{id}/void        header `Idempotency-Key`; → 200 Charge
 *   POST /charges/{id}/refunds     header `Idempotency-Key`; { amount?, metadata? } → 201 Refund
 *   GET  /actions/{charge id}      a page on which the payer approves or refuses
 *   POST /actions/{charge id}      form or JSON { decision: "approve" | "refuse" }; the page says how it went
 *   GET  /events?charge=<id>       EventList, oldest first, with how often each was sent and taken
 *   GET  /health                   200 { "status": "ok" }; a read, used as the circuit breaker's probe
 *
 * For tests and demonstrations, none of which a real processor has:
 *
 *   PUT  /control/failures              SwitchedFailures → 200; the next `count` calls of POST /charges behave like `source`
 *   GET  /control/failures              SwitchedFailures
 *   PUT  /control/change-failures       the same for captures, voids and refunds; a refund like `tok_async` begins pending
 *   GET  /control/change-failures       SwitchedFailures
 *   POST /control/events/{id}/resend    { id?: "same" | "new", copies?: 1 to 10 } → 202 SandboxEvent; copies go out at once
 *   POST /control/charges/{id}/dispute  { amount? } → 201 Dispute; without an amount, all that was captured
 *   POST /control/disputes/{id}/close   { outcome: "won" | "lost" } → 200 Dispute
 *   POST /control/refunds/{id}/succeed  → 200 Refund; a pending refund has succeeded
 *   POST /control/refunds/{id}/fail     → 200 Refund; money that was given back is back
 *   POST /control/charges/{id}/expire   → 200 Charge, voided with the reason `expired`; only an authorized one, or one
 *                                       that waits for its payer (then `abandoned`)
 *
 * Keys: optional, as with the large processors; a call without one takes effect each time, which is how a naive caller
 * charges twice. A known key answers with what it made, under another body 422 `idempotency_key_mismatch`; a key is
 * honoured for 24 hours, after which it makes a new charge (`?key=` then lists both) or a new change. A refused capture,
 * void or refund is 400 and leaves its key unused. A refund of what an open or lost dispute has taken
 * is refused as `charge_disputed`.
 *
 * Errors are a ProcessorError: 400 `invalid_request`, `invalid_json`, `invalid_source`, 404 `not_found`,
 * 405 `method_not_allowed` with Allow, 409 `busy` (nothing was done), 422 `idempotency_key_mismatch`.
 *
 * Callbacks: every change of a charge, a refund or a dispute is an event, posted as JSON to the address that the sandbox
 * was given, until it is answered 2xx: at once, then after growing waits. Each is signed over its raw bytes (SIGNATURE_HEADER).
 * An event names what changed; its receiver reads the charge, which is authoritative.
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
  /** Where the payer goes after the decision. @default nowhere: the page says how it went */
  readonly return_url?: string | undefined;
}

export interface Charge {
  readonly id: string;
  readonly object: 'charge';
  readonly amount: number;
  readonly amount_captured: number;
  readonly amount_refunded: number;
  readonly currency: string;
  /** As ordered: tells what the call that made the charge came to, whatever became of the charge since. */
  readonly capture: 'automatic' | 'manual';
  readonly status: ChargeStatus;
  readonly failure: { readonly code: string; readonly message: string } | null;
  /** What the processor keeps for its work, in minor units; null while it has not said. */
  readonly fee: number | null;
  /** Where the payer approves or refuses; null unless the status is `requires_action`. */
  readonly action_url: string | null;
  /** Why it was voided; null unless it was. */
  readonly void_reason: VoidReason | null;
  /** Oldest first. */
  readonly refunds: readonly Refund[];
  /** Oldest first. */
  readonly disputes: readonly Dispute[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly return_url?: string | undefined;
  /** Unix seconds. */
  readonly created: number;
}

type VoidReason = 'requested' | 'expired' | 'abandoned';

export interface ChargeList {
  readonly data: readonly Charge[];
  /** Of the list by time: what the next page begins with; null on the last, and in the other lists. */
  readonly next: string | null;
}

export interface Refund {
  readonly id: string;
  readonly object: 'refund';
  readonly charge: string;
  readonly amount: number;
  readonly status: 'pending' | 'succeeded' | 'failed';
  /** As given when it was made; `operation` names ours. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** The payer's bank takes the money back until it is decided who keeps it: a dispute that is won brings it back. */
export interface Dispute {
  readonly id: string;
  readonly object: 'dispute';
  readonly charge: string;
  readonly amount: number;
  readonly status: 'open' | 'won' | 'lost';
}

export interface ProcessorError {
  readonly error: { readonly code: string; readonly message: string; readonly charge?: string };
}

export interface SwitchedFailures {
  /** How many of the next calls are affected; 0 switches it off. */
  readonly count: number;
  /** The magic source whose first-send trouble those calls show, for example `tok_timeout_charged`. */
  readonly source: string;
}

/**
 * `t=<Unix seconds>,v1=<lower-case hexadecimal HMAC-SHA256 of "<t>.<raw body>" under the secret>`: one of each, in this
 * order.
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

/** The body of a callback. */
export interface SandboxEvent {
  /** The same for every delivery of one event. */
  readonly id: string;
  readonly object: 'event';
  readonly type: EventType;
  /** Unix seconds. */
  readonly created: number;
  readonly data: {
    readonly charge: string;
    /** The charge's metadata.payment. */
    readonly payment: string | null;
    readonly refund?: string;
    readonly dispute?: string;
  };
}

export interface EventList {
  readonly data: readonly (SandboxEvent & {
    /** How often it was sent so far. */
    readonly attempts: number;
    /** Whether it was answered 2xx. */
    readonly delivered: boolean;
  })[];
}
