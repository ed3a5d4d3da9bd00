import { OUTCOME_KNOWN_WITHIN_MS, SEND_WINDOW_MS } from '../../payments/domain/settlement.ts';

/** The limits of an order, each with its reason. */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/**
 * Maximum time between the order and the start of its payment, so that a payer is not charged long after leaving the
 * checkout. Milliseconds.
 */
export const CHARGE_WINDOW_MS = SEND_WINDOW_MS;

/**
 * Minimum age at which the absence of a payment proves that it was never charged. Exceeds the clock skew. Milliseconds.
 */
export const NEVER_CHARGED_AFTER_MS = OUTCOME_KNOWN_WITHIN_MS;

/** Maximum time for a payer to approve. After that, the payment and the order are canceled. Milliseconds. */
export const PAYER_BOUND_MS = DAY_MS;

/** Maximum time for which a reservation is retried, because a customer who has paid is waiting. Milliseconds. */
export const STOCK_BOUND_MS = HOUR_MS;

/**
 * Maximum time for which an e-mail and a credit are retried. By then, the recipient has probably inquired.
 * Milliseconds.
 */
export const LATE_BOUND_MS = 3 * DAY_MS;

/** Time after which an unfinished reversal needs an operator, although the attempts continue. Milliseconds. */
export const COMPENSATION_BOUND_MS = 3 * DAY_MS;

/**
 * Maximum number of attempts of each kind of reversal, void and refund. After this many refusals, a further attempt
 * would probably be refused, too.
 */
export const MAX_REVERSALS = 5;
/** The wait after the first refused reversal. Each later wait is twice as long. Milliseconds. */
export const REVERSAL_WAIT_MS = MINUTE_MS;

/**
 * Maximum time for which an order in review is still driven, so that an operator's actions elsewhere take effect.
 * Counted from the start of the review or from the reopening. Milliseconds.
 */
export const REVIEW_WATCH_MS = 30 * DAY_MS;
