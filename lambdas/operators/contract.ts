/** Metrics of expired records, counted for the service of reconciliation. They are gauges, so alarms use the maximum, not the sum. */
export const PurgeMetric = {
  /** Tables whose time to live is off or has left too many expired records. Reported every night, also when zero. */
  ttlNotWorking: 'ttl_not_working',
  /** Records that time to live left for days after their expiry. Reported every night. */
  expiredLeft: 'expired_left',
} as const;

/**
 * Queues that no function receives, each with the queue or function to which its messages are redriven. All others are
 * dead letters of the queue with their name.
 */
export const REDRIVE_TARGETS: Readonly<Record<string, string>> = {
  'Events-Parked': 'Events-Republisher',
  'Vendors-DeadLetters': 'Parties-DelayedCalls-Queue',
};

/** The ends of the names of a queue of tasks and of the queue of its dead letters (lib/constructs/task-queue.ts). */
export const TASKS_END = '-Queue';
export const DEAD_LETTERS_END = '-DeadLetters';

/** The environment variable with the queues of messages that operators list. JSON, `MessageQueueNames`. */
export const MESSAGE_QUEUES = 'MESSAGE_QUEUES';

/**
 * The queues by the names that operators see. Without full addresses, because the environment of a function is limited
 * to 4 kB.
 */
export interface MessageQueueNames {
  /** The address of one of the queues. A name stands for the address with this name at its end. */
  readonly at: string;
  /** Queues of tasks, each with the queue of its dead letters, by their common prefix. Names or addresses. */
  readonly tasks: Readonly<Record<string, readonly [received: string, kept: string]>>;
  /** Names or addresses of other queues whose messages a function receives. */
  readonly received: Readonly<Record<string, string>>;
  /** Names or addresses of other queues whose messages no function receives. */
  readonly kept: Readonly<Record<string, string>>;
  /** The functions of {@link REDRIVE_TARGETS}. */
  readonly functions: Readonly<Record<string, string>>;
}
