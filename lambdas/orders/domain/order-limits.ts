import { SEND_WINDOW_MS } from '../../payments/domain/settlement.ts';

/** The limits of an order, each with its reason. */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** No payment is begun later than this after the order: nobody is charged for a checkout that they left. Milliseconds. */
export const CHARGE_WINDOW_MS = SEND_WINDOW_MS;

/** That no payment is there proves "never charged" only now: wider than two clocks may differ. Milliseconds. */
export const NEVER_CHARGED_AFTER_MS = CHARGE_WINDOW_MS + 30 * MINUTE_MS;

/** How long a payer may take to approve; then the hold is let go and the order with it. Milliseconds. */
export const PAYER_BOUND_MS = DAY_MS;

/** How long the stock is asked whether it has reserved; somebody has paid meanwhile, and waits. Milliseconds. */
export const STOCK_BOUND_MS = HOUR_MS;

/** How long an e-mail and a credit are tried; whoever waits for them has asked by then. Milliseconds. */
export const LATE_BOUND_MS = 3 * DAY_MS;

/** What is not undone by then needs a person; it is tried on all the same. Milliseconds. */
export const COMPENSATION_BOUND_MS = 3 * DAY_MS;

/** Of each way, letting go and giving back. A processor that has refused so often will not change its mind by itself. */
export const MAX_REVERSALS = 5;
/** After the first refused reversal; each later wait is twice as long. Milliseconds. */
export const REVERSAL_WAIT_MS = MINUTE_MS;

/** How long an order that waits for a person is still looked at: what he does elsewhere is seen until then. Milliseconds. */
export const REVIEW_WATCH_MS = 30 * DAY_MS;

/** Growing waits between the looks at an open order, by its age: while somebody may wait, at every run. */
const LOOKS: readonly (readonly [untilAgeMs: number, everyMinutes: number])[] = [
  [HOUR_MS, 1],
  [DAY_MS, 15],
];
/** All later ones. */
const SELDOM_MINUTES = 60;

/** Whether an open order is looked at in this minute. */
export function isOrderDue(createdAtMs: number, nowMs: number): boolean {
  const ageMs = nowMs - createdAtMs;
  const every = LOOKS.find(([untilAgeMs]) => ageMs < untilAgeMs)?.[1] ?? SELDOM_MINUTES;
  return Math.floor(nowMs / MINUTE_MS) % every === 0;
}
