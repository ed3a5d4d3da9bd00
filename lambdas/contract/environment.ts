/** Names of the environment variables that the stacks set and the functions read. Each function gets only what it uses. */
export const Environment = {
  idempotencyTable: 'IDEMPOTENCY_TABLE',
  ledgerTable: 'LEDGER_TABLE',
  registryTable: 'REGISTRY_TABLE',
  viewsTable: 'VIEWS_TABLE',
  /** Base URL of the payment processor, without a trailing slash. */
  processorUrl: 'PROCESSOR_URL',
  /** The sandbox processor's own books. */
  sandboxTable: 'SANDBOX_TABLE',
} as const;

/** Powertools turns all idempotency off when this variable is set, so a function that finds it refuses to start. */
export const POWERTOOLS_IDEMPOTENCY_DISABLED = 'POWERTOOLS_IDEMPOTENCY_DISABLED';
