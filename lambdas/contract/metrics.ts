/** Metrics, as the functions count them and the stacks watch them. */
export const METRIC_NAMESPACE = 'Payonce';

/** Each names something that must not happen, and that a person must hear of when it does. */
export const ALARM_METRICS = [
  /** Money was taken for a payment that had ended, or twice: it is recorded, and queued to be sent back. */
  'late_success',
  /** A processor says what cannot be: nothing was made of it. */
  'contradiction',
  /** Nobody can find out what became of a capture, cancellation or refund, or money that must go back does not: a person decides. */
  'undecidable',
] as const;

export type AlarmMetric = (typeof ALARM_METRICS)[number];
