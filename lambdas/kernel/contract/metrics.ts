/** Metrics, as the functions count them and the stacks watch them. */
export const METRIC_NAMESPACE = 'Payonce';

/** Each names something that must not happen, and that a person must hear of when it does. */
export const ALARM_METRICS = [
  /** Money was taken for a payment that had ended, or twice: it is recorded, and queued to be sent back. */
  'late_success',
  /** A processor says what cannot be, of which nothing was made; or that what was given up has been done, which was booked. */
  'contradiction',
  /** Nobody can find out what became of a capture, cancellation or refund, or money that must go back does not: a person decides. */
  'undecidable',
  /** What became of an order's payment, or of the undoing of an order, is for a person. */
  'order_needs_review',
] as const;

export type AlarmMetric = (typeof ALARM_METRICS)[number];

/** What is counted for each vendor that is called. */
export type OutboundMetric =
  /** The first thing sent for a call. */
  | 'outbound_call'
  /** Whatever is sent for it after that, look-ups too. */
  | 'outbound_retry'
  | 'outbound_probe'
  | 'outbound_gave_up'
  | 'outbound_breaker_opened'
  | 'outbound_dead_lettered'
  /** It could not be kept either; the fault was thrown instead. */
  | 'outbound_dead_letter_failed';

/** Which vendor a count is of; all functions that call it count together, under one name of a service. */
export const VENDOR_DIMENSION = 'vendor';
export const OUTBOUND_SERVICE = 'vendors';
