/**
 * The HTTP contract of two small services beside the sandbox processor, which stand in for a shop's own: its stock, and
 * the credits for those who bring customers. JSON over plain HTTP. Both keep books of their own, so that every effect
 * can be counted at its owner.
 *
 *   POST /stock/reservations               header `Idempotency-Key`; CreateReservation → 201 Reservation | 409 `out_of_stock`
 *   POST /stock/reservations/{id}/release  → 200 Reservation, released; as often as it is asked for
 *   GET  /stock/reservations?order=<id>    ReservationList of all that were made for that order, released ones included
 *   POST /referrals/credits                header `Idempotency-Key`; CreateCredit → 201 Credit | 422 `unknown_referrer`
 *   GET  /referrals/credits?order=<id>     CreditList of all that were given for that order
 *
 * The lists are oldest first, and strong: what was answered is there.
 *
 * Keys: optional; a call without one takes effect each time. A known key answers with what it made, as that is by now
 * (a reservation may have been released), under another body 422 `idempotency_key_mismatch`. Keys are never forgotten,
 * and each service has its own. A refusal leaves its key unused.
 *
 * Errors have the processor's form: 400 `invalid_request`, `invalid_json`, 404 `not_found`, 405 `method_not_allowed` with
 * Allow, 422 `idempotency_key_mismatch`, and those below.
 *
 * Magic names, for tests and demonstrations. Everything else is in stock, and known. `first` is the first send of a key (a
 * call without a key is always a first one). Of several items, a sku that is not in stock decides, else the first with a
 * trouble.
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
  /** Whose goods they are: opaque. */
  readonly order: string;
  /** At least one. */
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
  /** Which order it is given for: opaque. */
  readonly order: string;
  readonly referrer: string;
  /** Minor units, a positive safe integer. */
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
