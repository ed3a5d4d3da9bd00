import type { Role } from './api.ts';

/**
 * Names of the environment variables that the stacks set and the functions read. Each function gets only the variables
 * that it uses.
 */
export const Environment = {
  idempotencyTable: 'IDEMPOTENCY_TABLE',
  ledgerTable: 'LEDGER_TABLE',
  registryTable: 'REGISTRY_TABLE',
  viewsTable: 'VIEWS_TABLE',
  /**
   * JSON, `IdentityProviderSettings`: the identity provider that authenticates operators. Absent when operators use API
   * keys.
   */
  identityProvider: 'IDENTITY_PROVIDER',
  /**
   * JSON, `ConsoleSignIn`: settings for signing operators in to the console with an identity provider. Absent when
   * operators use API keys.
   */
  consoleSignIn: 'CONSOLE_SIGN_IN',
  /**
   * JSON, `ApprovalRules`: selects the operators' requests that need a second person's approval. When absent, every
   * request takes effect immediately.
   */
  approvals: 'APPROVALS',
  /**
   * JSON, `RateLimit`: the limit of each tenant without its own limit. It applies to payments and to reads; the limits
   * on other requests are a tenth of it.
   */
  tenantLimit: 'TENANT_LIMIT',
  /** JSON, `Retention`: the retention, in hours, of the scopes whose retention differs from RETENTION_HOURS. */
  retention: 'RETENTION',
  /** JSON, `PeakRates[]`: the peak rates, from which the number of shards is computed. Absent for the default rates. */
  peakRates: 'PEAK_RATES',
  /**
   * JSON, an object of strings: the deployment's settings that the activity log records, without secrets and personal
   * data.
   */
  deploymentSettings: 'DEPLOYMENT_SETTINGS',
  /**
   * JSON, `RoutingRule[]`: selects the processor of each new payment. The first matching rule applies; a payment
   * without a match is refused.
   */
  processorRoutes: 'PROCESSOR_ROUTES',
  /** Set if a table that contained records of claims was lost. Absent otherwise. */
  claimsLost: 'CLAIMS_LOST',
  /** JSON, `CallbackSource[]`: the sources of accepted callbacks, and how their callbacks are verified. */
  callbackSources: 'CALLBACK_SOURCES',
  eventBus: 'EVENT_BUS',
  /** Time in seconds after which an event is republished if the projector has not processed it. */
  lostAfterSeconds: 'LOST_AFTER_SECONDS',
  /**
   * The queue in which a function parks the messages or records that it cannot process, complete and with the reason.
   */
  parkingQueueUrl: 'PARKING_QUEUE_URL',
  archiveBucket: 'ARCHIVE_BUCKET',
  archiveSigningKey: 'ARCHIVE_SIGNING_KEY',
  /** The queue of webhooks to send and replays to continue. */
  webhookTasksQueueUrl: 'WEBHOOK_TASKS_QUEUE_URL',
  webhookLanesQueueUrl: 'WEBHOOK_LANES_QUEUE_URL',
  /** The secret with the root keys from which the secrets of webhook endpoints are derived. */
  webhookRootSecretId: 'WEBHOOK_ROOT_SECRET_ID',
  /**
   * The secret with the keys for hashing e-mail addresses. A search for payments and orders by address uses these
   * hashes.
   */
  emailKeysSecretId: 'EMAIL_KEYS_SECRET_ID',
  /** `true` permits webhooks to loopback addresses, including over plain HTTP. */
  webhookLoopback: 'WEBHOOK_LOOPBACK',
  /** The secret with which the executor signs its credentials. */
  jobCredentialSecretId: 'JOB_CREDENTIAL_SECRET_ID',
  /** Base URL of Payonce's own API, without a trailing slash. */
  apiUrl: 'API_URL',
  paymentJobsQueueUrl: 'PAYMENT_JOBS_QUEUE_URL',
  upkeepJobsQueueUrl: 'UPKEEP_JOBS_QUEUE_URL',
  /** System of record for payments: `postgres`. Absent if DynamoDB is the system of record. */
  authority: 'AUTHORITY',
  /** JSON, `ListedJob[]`: the jobs that other services run. */
  listedJobs: 'LISTED_JOBS',
} as const;

export const SandboxEnvironment = {
  sandboxTable: 'SANDBOX_TABLE',
  /** The queue of the sandbox's delayed work: callbacks to deliver, and charges that change later. */
  sandboxTasksQueueUrl: 'SANDBOX_TASKS_QUEUE_URL',
  sandboxSecretId: 'SANDBOX_SECRET_ID',
  /** The secret that callers of the sandbox must send; payers need no secret. Not set in the demonstration. */
  sandboxAccessSecretId: 'SANDBOX_ACCESS_SECRET_ID',
  /** The SSM parameter that holds the address to which the sandbox sends its callbacks. */
  callbackAddressParameter: 'CALLBACK_ADDRESS_PARAMETER',
} as const;

/** OpenID Connect provider whose tokens identify operators. */
export interface IdentityProviderSettings {
  readonly issuer: string;
  readonly audience: string;
  /** The token claim that contains the role, or a list that contains the role. */
  readonly roleClaim: string;
  /** The role for each value of the claim. @default the claim's values are role names */
  readonly roles?: Readonly<Record<string, Role>>;
}

/** Settings for signing operators in to the console, which is a public client of the operators' identity provider. */
export interface ConsoleSignIn {
  readonly issuer: string;
  readonly audience: string;
  readonly clientId: string;
}

/** Selects the processor for new payments that match this rule. An absent field matches every payment. */
export interface RoutingRule {
  readonly mode: 'test' | 'live';
  readonly tenant?: string;
  /** ISO 4217, upper case. */
  readonly currency?: string;
  readonly processor: string;
}

/** Environment variable of Node.js: number of threads for blocking work such as DNS look-ups. */
export const NODE_THREADS = 'UV_THREADPOOL_SIZE';

/** Environment variable that is set when functions record spans (setting `tracing`). */
export const TRACING = 'TRACING';

/** A function refuses to start when this variable is set, because Powertools then disables idempotency. */
export const POWERTOOLS_IDEMPOTENCY_DISABLED = 'POWERTOOLS_IDEMPOTENCY_DISABLED';

/** Not in {@link Environment}, which every function bundles. */
export const PROJECTOR_QUEUE_URL = 'PROJECTOR_QUEUE_URL';

/** Not in {@link Environment}, which every function bundles. */
export const RELAY_PARKING_QUEUE_URL = 'RELAY_PARKING_QUEUE_URL';
