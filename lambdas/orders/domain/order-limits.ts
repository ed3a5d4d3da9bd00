import { OUTCOME_KNOWN_WITHIN_MS, SEND_WINDOW_MS } from '../../payments/domain/settlement.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/**
 * Maximum time between the order and the start of its payment. Prevents charging a payer long after they left the
 * checkout.
 */
export const CHARGE_WINDOW_MS = SEND_WINDOW_MS;

/**
 * Minimum age of an order at which a missing payment proves that nothing was charged. Exceeds the time in which the
 * payment can begin, plus the clock skew.
 */
export const NEVER_CHARGED_AFTER_MS = OUTCOME_KNOWN_WITHIN_MS;

/** After this time, the payment and the order are canceled, unless the processor's books show the approval. */
export const PAYER_BOUND_MS = DAY_MS;

/** A reservation is not retried for longer, because a customer who has paid is waiting. */
export const STOCK_BOUND_MS = HOUR_MS;

/** An e-mail or a credit is not retried for longer, because the recipient has probably contacted the merchant. */
export const LATE_BOUND_MS = 3 * DAY_MS;

/** After this time, an unfinished reversal needs an operator. The attempts continue. */
export const COMPENSATION_BOUND_MS = 3 * DAY_MS;

/**
 * For each kind of reversal (void or refund). After this many refusals, another attempt would probably be refused, too.
 */
export const MAX_REVERSALS = 5;
/** After the first refused reversal. Each later wait is twice as long. */
export const REVERSAL_WAIT_MS = MINUTE_MS;

/**
 * Time for which the resolver continues an order while its payment is in review, counted from the start of the review,
 * or from the time when the order was reopened. After this time, the order is reopened only when the payment's review
 * ends.
 */
export const REVIEW_WATCH_MS = 30 * DAY_MS;
