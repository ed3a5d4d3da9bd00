import * as z from 'zod';
import { Environment } from '../kernel/contract/environment.ts';
import { queueUrl, readVariables, tableName, type Variables } from '../kernel/platform/variables.ts';

const views = z.object({ [Environment.viewsTable]: tableName });
const events = views.extend({ [Environment.ledgerTable]: tableName, [Environment.registryTable]: tableName });
const projector = views.extend({ [Environment.parkingQueueUrl]: queueUrl });

/**
 * Reads the name of the Views table.
 * @throws Error naming the variable that is missing or wrong
 */
export function readViewsTable(environment: Variables): string {
  return readVariables(views, environment)[Environment.viewsTable];
}

/** Settings of the events function. */
export interface EventsConfig {
  readonly tables: { readonly ledger: string; readonly registry: string; readonly views: string };
}

/**
 * Reads the settings of the events function.
 * @throws Error naming the variable that is missing or wrong
 */
export function readEventsConfig(environment: Variables): EventsConfig {
  const data = readVariables(events, environment);
  return {
    tables: {
      ledger: data[Environment.ledgerTable],
      registry: data[Environment.registryTable],
      views: data[Environment.viewsTable],
    },
  };
}

/** Settings of the projector. */
export interface ProjectorConfig {
  readonly viewsTable: string;
  readonly parkingQueueUrl: string;
}

/**
 * Reads the settings of the projector.
 * @throws Error naming the variable that is missing or wrong
 */
export function readProjectorConfig(environment: Variables): ProjectorConfig {
  const data = readVariables(projector, environment);
  return { viewsTable: data[Environment.viewsTable], parkingQueueUrl: data[Environment.parkingQueueUrl] };
}
