/**
 * Metrics about expired idempotency records, published under the service name of reconciliation. They are gauges, so
 * alarms use the maximum, not the sum.
 */
export const PurgeMetric = {
  /** Number of tables whose time to live is off or lags too far behind. Reported every night, even when zero. */
  ttlNotWorking: 'ttl_not_working',
  /** Number of records that time to live has not deleted within four days after their expiry. Reported every night. */
  expiredLeft: 'expired_left',
} as const;

/**
 * Queues that no function reads, each with the queue or function that receives its messages in a redrive. Dead-letter
 * queues that are not listed here are redriven to the task queue with the same prefix.
 */
export const REDRIVE_TARGETS: Readonly<Record<string, string>> = {
  'Events-Parked': 'Events-Republisher',
  'Vendors-DeadLetters': 'Parties-DelayedCalls-Queue',
};

/** Name suffixes of a task queue and of its dead-letter queue (lib/constructs/task-queue.ts). */
export const TASKS_END = '-Queue';
export const DEAD_LETTERS_END = '-DeadLetters';

/** JSON of {@link MessageQueueNames}. */
export const MESSAGE_QUEUES = 'MESSAGE_QUEUES';

/**
 * The keys are the names that operators see. Most values are queue names instead of full URLs, because the environment
 * of a function is limited to 4 kB.
 */
export interface MessageQueueNames {
  /** URL of any one of the queues. To get the URL of another queue, replace the queue name at the end. */
  readonly at: string;
  /** Pairs of a task queue and its dead-letter queue, keyed by their common prefix. The values are names or URLs. */
  readonly tasks: Readonly<Record<string, readonly [received: string, kept: string]>>;
  /** Names or URLs of other queues that a function reads. */
  readonly received: Readonly<Record<string, string>>;
  /** Names or URLs of other queues that no function reads. */
  readonly kept: Readonly<Record<string, string>>;
  /** The deployed names of the functions to which {@link REDRIVE_TARGETS} refers, by the names that it uses. */
  readonly functions: Readonly<Record<string, string>>;
}
