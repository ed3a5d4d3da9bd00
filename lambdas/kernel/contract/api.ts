/** Permissions of a tenant's API key, which apply only to the data of its tenant and mode. */
export const Scopes = {
  paymentsRead: 'payments:read',
  paymentsWrite: 'payments:write',
  eventsRead: 'events:read',
  webhooksRead: 'webhooks:read',
  webhooksWrite: 'webhooks:write',
  ledgerRead: 'ledger:read',
  exportsRead: 'exports:read',
  exportsWrite: 'exports:write',
} as const;

export type Scope = (typeof Scopes)[keyof typeof Scopes];

export const ALL_SCOPES: readonly Scope[] = Object.values(Scopes);

/** Scope of the job executor's credential: permits it to request scheduled runs of jobs. */
export const JOBS_RUN = 'jobs:run';

/**
 * Each role includes the roles before it. A viewer can read most data, but neither API keys nor the texts in payments.
 * An operator can, for example, read whole payments, start job runs, correct postings, and decide and change payments.
 * An approver can approve other operators' requests. An owner can, for example, manage API keys and the limits of
 * tenants.
 */
export const ROLES = ['viewer', 'operator', 'approver', 'owner'] as const;

export type Role = (typeof ROLES)[number];

export function includesRole(given: Role, needed: Role): boolean {
  return ROLES.indexOf(given) >= ROLES.indexOf(needed);
}

/** Names of the stack outputs that the local stack, the command line and the tests read. */
export const StackOutput = {
  apiUrl: 'ApiUrl',
  sandboxUrl: 'SandboxUrl',
  /** ARN of the secret whose value callers of the sandbox must send. */
  sandboxSecret: 'SandboxSecretArn',
  idempotencyTable: 'IdempotencyTableName',
  ledgerTable: 'LedgerTableName',
  registryTable: 'RegistryTableName',
  viewsTable: 'ViewsTableName',
  paymentsFunction: 'PaymentsFunctionName',
  callbacksFunction: 'CallbacksFunctionName',
  ordersFunction: 'OrdersFunctionName',
  paymentJobsFunction: 'PaymentJobsFunctionName',
  upkeepJobsFunction: 'UpkeepJobsFunctionName',
  exportWriterFunction: 'ExportWriterFunctionName',
  webhookSenderFunction: 'WebhookSenderFunctionName',
  sandboxFunction: 'SandboxFunctionName',
  eventBus: 'EventBusName',
  /** JSON, `PeakRates[]`. Only with the setting `peakRates`. */
  peakRates: 'PeakRates',
  /** Only with PostgreSQL as the authority. */
  replayCacheTable: 'ReplayCacheTableName',
  archiveBucket: 'ArchiveBucketName',
  archiverFunction: 'ArchiverFunctionName',
  auditorFunction: 'AuditorFunctionName',
  relayFunction: 'RelayFunctionName',
  republishFunction: 'RepublishFunctionName',
  parkedRecordsQueue: 'ParkedRecordsQueueUrl',
  parkedArchiveQueue: 'ParkedArchiveQueueUrl',
  paymentRequestsQueue: 'PaymentRequestsQueueUrl',
  parkedPaymentRequestsQueue: 'ParkedPaymentRequestsQueueUrl',
  paymentRequestsFunction: 'PaymentRequestsFunctionName',
  deadLettersFunction: 'DeadLettersFunctionName',
  deadLettersQueue: 'DeadLettersQueueUrl',
  natsEventsQueue: 'NatsEventsQueueUrl',
  natsParkingQueue: 'NatsParkingQueueUrl',
  /** For the role or user that the NATS bridge runs as. */
  natsBridgePolicy: 'NatsBridgePolicyArn',
  /** The role that restores a row of the Ledger. */
  rowRestoreRole: 'RowRestoreRoleArn',
  auditingRole: 'AuditingRoleArn',
  domainTarget: 'DomainTarget',
  processors: 'CalledProcessors',
} as const;

export const StackName = {
  archive: 'PayonceArchive',
  data: 'PayonceData',
  service: 'PayonceService',
  sandbox: 'PayonceSandbox',
} as const;

/** For example `staging-PayonceData`. */
export function stackNameOf(stack: keyof typeof StackName, environment?: string): string {
  return environment === undefined ? StackName[stack] : `${environment}-${StackName[stack]}`;
}

/** The stacks need the parameter, because the stack that defines this URL itself depends on the sandbox's URL. */
export function callbackAddressParameter(environment?: string): string {
  return `/payonce/${environment === undefined ? '' : `${environment}/`}sandbox/callback-address`;
}

/** Relative to the root of the API. */
export function explanationOf(code: string): string {
  return `docs/problems#${code}`;
}
