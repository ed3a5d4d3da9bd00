import * as z from 'zod';
import { type PublisherConfig, readPublisherConfig } from '../events/settings.ts';
import { Environment } from '../kernel/contract/environment.ts';
import { readVariables, tableName, type Variables } from '../kernel/platform/variables.ts';
import { readViewsTable } from '../views/settings.ts';
import { readWebhookConfig, type WebhookConfig } from '../webhooks/settings.ts';

/** What the upkeep jobs that sweep were deployed with. */
export interface UpkeepSweepsConfig {
  readonly webhooks: WebhookConfig;
  readonly publisher: PublisherConfig;
  readonly viewsTable: string;
  /** When an event that the projector has not seen is taken for lost. */
  readonly lostAfterSeconds: number;
}

const seconds = z.coerce.number('must be seconds').int('must be whole seconds').min(1, 'must be a second or more');
const patience = z.object({ [Environment.lostAfterSeconds]: seconds });

/** @throws Error naming the variable that is missing or wrong */
export function readUpkeepSweepsConfig(environment: Variables): UpkeepSweepsConfig {
  return {
    webhooks: readWebhookConfig(environment),
    publisher: readPublisherConfig(environment),
    viewsTable: readViewsTable(environment),
    lostAfterSeconds: readVariables(patience, environment)[Environment.lostAfterSeconds],
  };
}

/** What the ledger function was deployed with. */
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
