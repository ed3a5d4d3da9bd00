/** CloudWatch namespace; followed by `/` and the environment if there is one. */
export const METRIC_NAMESPACE = 'Payonce';

/** A metric that raises an alarm whenever it is counted. */
export interface AlarmEntry {
  readonly description: string;
  /** The entry in docs/operate/runbook/ with the steps to take: `<page>.md#<heading in lower case, with hyphens>`. */
  readonly entry: string;
  /** The alarm exists only in deployments that accept orders. */
  readonly ofOrders?: true;
}

/** Events that should not happen. */
export const ALARMS = {
  late_success: {
    description:
      'A processor captured a payment that had already ended, or captured one twice. The resolver refunds or voids the charge.',
    entry: 'payments.md#late-success',
  },
  /** The fact was not posted, unless it reports the success of a refund that Payonce had already recorded as failed. */
  contradiction: {
    description: 'A processor reported a fact that contradicts the payment.',
    entry: 'payments.md#contradiction',
  },
  undecidable: {
    description:
      'The outcome of a payment, a charge or a change cannot be determined; a processor rejects the void of a hold or the return of a stray charge; or Payonce stopped retrying a callback.',
    entry: 'payments.md#undecidable',
  },
  order_needs_review: {
    description: 'The outcome of an order’s payment cannot be determined, or the order’s reversal does not complete.',
    entry: 'orders.md#order-in-review',
    ofOrders: true,
  },
  messages_wait: {
    description: 'Messages in a queue, or webhooks that are due, have waited for more than half an hour.',
    entry: 'events.md#events-wait',
  },
} as const satisfies Readonly<Record<string, AlarmEntry>>;

export type AlarmMetric = keyof typeof ALARMS;

/**
 * All functions count each alarm a second time under this service name, so that a single CloudWatch alarm per kind
 * covers all functions.
 */
export const ALARM_SERVICE = 'alarms';
/** Name of the log line that reports an alarm. */
export const ALARM_RUN = 'alarm';

export type OutboundMetric =
  | 'outbound_call'
  /** Each further request of the call, including look-ups. */
  | 'outbound_retry'
  | 'outbound_probe'
  | 'outbound_gave_up'
  /** An e-mail that was not sent because its recipient had reached the daily limit. */
  | 'outbound_capped'
  | 'outbound_breaker_opened'
  | 'outbound_dead_lettered'
  /** A call whose attempts in the calling process failed. A function makes one last attempt half a minute later. */
  | 'outbound_delayed'
  /** A dead letter could not be stored, so the caller received the error of the call itself. */
  | 'outbound_dead_letter_failed';

export type ArchiveMetric =
  /** Hourly runs after which the manifests listed every object that had arrived in the archive. */
  | 'archive_listed'
  /** Events were published, but nothing was archived for an hour. */
  | 'archive_stopped'
  | 'archive_differs';

/** The metrics of all calls to vendors have one service name. */
export const VENDOR_DIMENSION = 'vendor';
export const OUTBOUND_SERVICE = 'vendors';

/** Requests beyond their tenant's limit. Each is counted twice: in total, and with the tenant as a dimension. */
export const TENANT_LIMITED = 'tenant_limited';
export const LIMITS_SERVICE = 'limits';
export const TENANT_DIMENSION = 'tenant';

/**
 * Executions that ended with an error, a crash or a timeout. Counted across all functions from Lambda's platform log
 * lines.
 */
export const FUNCTION_FAILED = 'function_failed';
