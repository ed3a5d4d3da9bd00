import { FIND_OUT_MS, SEND_WINDOW_MS } from '../../payments/domain/settlement.ts';

/** The limits of an order, each with its reason. */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** No payment begins later than this after the order: a payer is not charged long after leaving the checkout. Milliseconds. */
export const CHARGE_WINDOW_MS = SEND_WINDOW_MS;

/** The absence of a payment proves "never charged" only after this time. It exceeds the clock skew. Milliseconds. */
export const NEVER_CHARGED_AFTER_MS = FIND_OUT_MS;

/** How long a payer may take to approve. After that the payment is canceled, and the order with it. Milliseconds. */
export const PAYER_BOUND_MS = DAY_MS;

/** How long a reservation is retried, while a customer who has paid waits. Milliseconds. */
export const STOCK_BOUND_MS = HOUR_MS;

/** How long an e-mail and a credit are retried. By then the recipient has asked for them. Milliseconds. */
export const LATE_BOUND_MS = 3 * DAY_MS;

/** An order that is not reversed by then needs an operator. The attempts continue. Milliseconds. */
export const COMPENSATION_BOUND_MS = 3 * DAY_MS;

/** Attempts of each kind of reversal, void and refund. After as many refusals, the next attempt would be refused too. */
export const MAX_REVERSALS = 5;
/** The wait after the first refused reversal. Each later wait is twice as long. Milliseconds. */
export const REVERSAL_WAIT_MS = MINUTE_MS;

/** How long an order in review is still driven, from its review or from when it was opened again, so that an operator's actions elsewhere take effect. Milliseconds. */
export const REVIEW_WATCH_MS = 30 * DAY_MS;
