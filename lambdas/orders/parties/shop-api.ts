/**
 * The HTTP contract of a shop: its stock, and the credits of its referral program. Bodies are JSON. The sandbox
 * simulates such a shop.
 * Each service lists its own objects, so that tests can count every effect.
 *
 *   POST /stock/reservations               header `Idempotency-Key`; CreateReservation → 201 Reservation | 409 `out_of_stock`
 *   POST /stock/reservations/{id}/release  → 200 Reservation, released; can be repeated
 *   GET  /stock/reservations?order=<id>    ReservationList of the order, including released ones
 *   POST /referrals/credits                header `Idempotency-Key`; CreateCredit → 201 Credit | 422 `unknown_referrer`
 *   GET  /referrals/credits?order=<id>     CreditList of the order
 *
 * The lists are oldest first and strongly consistent.
 *
 * Idempotency keys are optional; a call without a key takes effect each time. For a known key, the response contains
 * the current state of its object (a reservation may have been released), or is 422 `idempotency_key_mismatch` if the
 * body differs. Keys are kept permanently, separately for each service. A refused call does not use up its key.
 *
 * Payonce signs the raw body of every call as in Standard Webhooks 1.0.0, except for calls to the sandbox
 * (docs/guides/processor-protocol.md, "Signed calls").
 *
 * Errors have the format of the processor's errors: 400 `invalid_request`, `invalid_json`, 404 `not_found`, 405
 * `method_not_allowed` with Allow, 422 `idempotency_key_mismatch`, and the codes below.
 *
 * In the sandbox, magic names cause the responses below, for tests and demonstrations. All other items are in stock,
 * and all other referrers are known. A call without a key is always treated as a first send. If any item is not in
 * stock, the response is 409 `out_of_stock`. Otherwise, the first magic name in the request determines the response.
 *
 * | sku           | referrer     | first send                                 | later sends   |
 * |---------------|--------------|--------------------------------------------|---------------|
 * | `sku_none`    |              | 409 `out_of_stock`                         | the same      |
 * |               | `ref_nobody` | 422 `unknown_referrer`                     | the same      |
 * | `sku_timeout` | `ref_timeout`| made, no answer for 15 s, then 504         | 201           |
 * | `sku_flaky`   | `ref_flaky`  | nothing made, 500                          | made, 201     |
 * |               | `ref_down`   | nothing made, 503                          | the same      |
 */

export interface CreateReservation {
  /** Opaque id of the order that reserves the goods. */
  readonly order: string;
  /** The items to reserve; at least one. */
  readonly items: readonly { readonly sku: string; readonly quantity: number }[];
}

export interface Reservation extends CreateReservation {
  readonly id: string;
  readonly object: 'reservation';
  readonly status: 'reserved' | 'released';
  /** Unix seconds. */
  readonly created: number;
}

export interface ReservationList {
  readonly data: readonly Reservation[];
}

export interface CreateCredit {
  /** Opaque id of the order that the credit is for. */
  readonly order: string;
  readonly referrer: string;
  /** Amount of the credit in minor units, a positive safe integer. */
  readonly amount: number;
  /** ISO 4217, upper case. */
  readonly currency: string;
}

export interface Credit extends CreateCredit {
  readonly id: string;
  readonly object: 'credit';
  /** Unix seconds. */
  readonly created: number;
}

export interface CreditList {
  readonly data: readonly Credit[];
}
