/** The permissions of a key. `ledger:admin` and `admin` are for operators; a merchant's key has only payment scopes. */
export const Scopes = {
  paymentsRead: 'payments:read',
  paymentsWrite: 'payments:write',
  ledgerAdmin: 'ledger:admin',
  admin: 'admin',
  /** Only in the executor's credential: to request scheduled runs. */
  jobsRun: 'jobs:run',
} as const;

export type Scope = (typeof Scopes)[keyof typeof Scopes];

export const ALL_SCOPES: readonly Scope[] = Object.values(Scopes);
export const PAYMENT_SCOPES: readonly Scope[] = [Scopes.paymentsRead, Scopes.paymentsWrite];

/** Names of the outputs that the stacks print and that the local start, the operator's commands and the tests read. */
export const StackOutput = {
  apiUrl: 'ApiUrl',
  sandboxUrl: 'SandboxUrl',
  idempotencyTable: 'IdempotencyTableName',
  ledgerTable: 'LedgerTableName',
  registryTable: 'RegistryTableName',
  viewsTable: 'ViewsTableName',
  paymentsFunction: 'PaymentsFunctionName',
  callbacksFunction: 'CallbacksFunctionName',
  ordersFunction: 'OrdersFunctionName',
  paymentJobsFunction: 'PaymentJobsFunctionName',
  upkeepJobsFunction: 'UpkeepJobsFunctionName',
  webhookSenderFunction: 'WebhookSenderFunctionName',
  sandboxFunction: 'SandboxFunctionName',
  eventBus: 'EventBusName',
  relayFunction: 'RelayFunctionName',
  republishFunction: 'RepublishFunctionName',
  parkedRecordsQueue: 'ParkedRecordsQueueUrl',
  deadLettersFunction: 'DeadLettersFunctionName',
  deadLettersQueue: 'DeadLettersQueueUrl',
  domainTarget: 'DomainTarget',
  processors: 'CalledProcessors',
} as const;

export const StackName = { data: 'PayonceData', service: 'PayonceService', sandbox: 'PayonceSandbox' } as const;

/**
 * The SSM parameter with the address to which the sandbox sends its callbacks. By name, because the stack that knows the
 * address needs the sandbox's own address first.
 */
export const CALLBACK_ADDRESS_PARAMETER = '/payonce/sandbox/callback-address';
