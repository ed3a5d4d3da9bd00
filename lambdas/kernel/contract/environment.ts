/** Names of the environment variables that the stacks set and the functions read. Each function gets only what it uses. */
export const Environment = {
  idempotencyTable: 'IDEMPOTENCY_TABLE',
  ledgerTable: 'LEDGER_TABLE',
  registryTable: 'REGISTRY_TABLE',
  viewsTable: 'VIEWS_TABLE',
  /** JSON, `RateLimit`: of the payments and reads of each tenant without a limit of its own. */
  tenantLimit: 'TENANT_LIMIT',
  /** JSON, an object of texts: the settings of the deployment without secrets and addresses of persons, for the activity log. */
  deploymentSettings: 'DEPLOYMENT_SETTINGS',
  /** JSON, `RoutingRule[]`: which processor new payments go to; the first rule that fits counts. */
  processorRoutes: 'PROCESSOR_ROUTES',
  /** JSON, `CallbackSource[]`: whose callbacks are taken, and how they are verified. */
  callbackSources: 'CALLBACK_SOURCES',
  /** Read by Node.js itself: how many threads it has for what blocks, looking up names for one. */
  nodeThreads: 'UV_THREADPOOL_SIZE',
  /** The name of the bus that events are put on. */
  eventBus: 'EVENT_BUS',
  /** An event that the projector has not seen for so long is published again. Seconds. */
  lostAfterSeconds: 'LOST_AFTER_SECONDS',
  /** The queue in which a function parks a record that it cannot read, complete and with the reason. */
  parkingQueueUrl: 'PARKING_QUEUE_URL',
  /** The queue of webhooks that are to be sent, and of replays that go on. */
  webhookTasksQueueUrl: 'WEBHOOK_TASKS_QUEUE_URL',
  webhookLanesQueueUrl: 'WEBHOOK_LANES_QUEUE_URL',
  /** The secret with the root keys from which the secrets of webhook endpoints are derived. */
  webhookRootSecretId: 'WEBHOOK_ROOT_SECRET_ID',
  /** The secret with the keys of the hashes under which e-mail addresses are found. */
  emailKeysSecretId: 'EMAIL_KEYS_SECRET_ID',
  /** `true` lets webhooks go to loopback addresses, over plain HTTP too. */
  webhookLoopback: 'WEBHOOK_LOOPBACK',
  /** The secret with which the executor signs what it shows to the routes of jobs. */
  jobCredentialSecretId: 'JOB_CREDENTIAL_SECRET_ID',
  /** Base URL of our own API, without a trailing slash. */
  apiUrl: 'API_URL',
  /** The queues from which the workers of jobs take runs. */
  paymentJobsQueueUrl: 'PAYMENT_JOBS_QUEUE_URL',
  upkeepJobsQueueUrl: 'UPKEEP_JOBS_QUEUE_URL',
  /** The sandbox processor's own books. */
  sandboxTable: 'SANDBOX_TABLE',
  /** The queue of what the sandbox does later: deliveries, and charges that go on by themselves. */
  sandboxTasksQueueUrl: 'SANDBOX_TASKS_QUEUE_URL',
  /** The secret with which the sandbox signs its callbacks. */
  sandboxSecretId: 'SANDBOX_SECRET_ID',
  /** The SSM parameter that holds the address to which the sandbox sends its callbacks. */
  callbackAddressParameter: 'CALLBACK_ADDRESS_PARAMETER',
} as const;

/** Sends the new payments that it fits to one processor; what it leaves open, it does not ask about. */
export interface RoutingRule {
  readonly tenant?: string;
  /** ISO 4217, upper case. */
  readonly currency?: string;
  readonly processor: string;
}

/** Powertools turns all idempotency off when this variable is set, so a function that finds it refuses to start. */
export const POWERTOOLS_IDEMPOTENCY_DISABLED = 'POWERTOOLS_IDEMPOTENCY_DISABLED';
