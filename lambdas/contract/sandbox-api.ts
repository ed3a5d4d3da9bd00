/**
 * The sandbox processor's HTTP contract, in JSON over plain HTTP. Its caller (the processor adapter) and its
 * implementation both import it from here.
 *
 *   POST /charges                  header `Idempotency-Key`; CreateCharge → 201 Charge | 402 ProcessorError (with the declined charge's id)
 *   GET  /charges/{id}             Charge | 404
 *   GET  /charges?key=<key>        ChargeList; strong: what was answered is there
 *   GET  /charges?payment=<id>     ChargeList of all charges whose metadata.payment is that id; strong
 *   POST /charges/{id}/capture     header `Idempotency-Key`; { amount? } → 200 Charge
 *   POST /charges/{id}/void        header `Idempotency-Key`; → 200 Charge
 *   POST /charges/{id}/refunds     header `Idempotency-Key`; { amount? } → 201 Refund
 *   PUT  /control/failures         SwitchedFailures → 200; the next `count` calls of POST /charges behave like `source`
 *   GET  /control/failures         SwitchedFailures
 *   GET  /health                   200 { "status": "ok" }; a read, used as the circuit breaker's probe
 *
 * Keys: optional, as with the large processors; a call without one takes effect each time, which is how a naive caller
 * charges twice. A known key answers with what it made, under another body 422 `idempotency_key_mismatch`; a charge's
 * key is honoured for 24 hours, after which it makes a new charge (`?key=` then lists both). A refused capture, void or
 * refund is 400 and leaves its key unused.
 *
 * Errors are a ProcessorError: 400 `invalid_request`, `invalid_json`, `invalid_source`, 404 `not_found`,
 * 405 `method_not_allowed` with Allow, 409 `busy` (nothing was done), 422 `idempotency_key_mismatch`.
 */
type ChargeStatus = 'authorized' | 'succeeded' | 'declined' | 'voided';

export interface CreateCharge {
  /** Minor units, a positive safe integer. */
  readonly amount: number;
  /** ISO 4217, upper case. */
  readonly currency: string;
  readonly source: string;
  readonly capture: 'automatic' | 'manual';
  readonly metadata: Readonly<Record<string, string>>;
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
  readonly metadata: Readonly<Record<string, string>>;
  /** Unix seconds. */
  readonly created: number;
}

export interface ChargeList {
  readonly data: readonly Charge[];
}

export interface Refund {
  readonly id: string;
  readonly object: 'refund';
  readonly charge: string;
  readonly amount: number;
  readonly status: 'succeeded';
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
