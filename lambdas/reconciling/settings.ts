import * as z from 'zod';
import { Environment } from '../kernel/contract/environment.ts';
import { readVariables, tableName, type Variables } from '../kernel/platform/variables.ts';

/** Settings of the ledger function. */
export interface LedgerConfig {
  readonly tables: { readonly idempotency: string; readonly ledger: string; readonly registry: string };
  readonly viewsTable: string;
}

const ledger = z.object({
  [Environment.idempotencyTable]: tableName,
  [Environment.ledgerTable]: tableName,
  [Environment.registryTable]: tableName,
  [Environment.viewsTable]: tableName,
});

/** @throws Error naming the variable that is missing or wrong */
export function readLedgerConfig(environment: Variables): LedgerConfig {
  const data = readVariables(ledger, environment);
  return {
    tables: {
      idempotency: data[Environment.idempotencyTable],
      ledger: data[Environment.ledgerTable],
      registry: data[Environment.registryTable],
    },
    viewsTable: data[Environment.viewsTable],
  };
}
