import * as z from 'zod';
import { Environment } from '../contract/environment.ts';

type Variables = Readonly<Record<string, string | undefined>>;

/** Amazon DynamoDB developer guide, "Naming rules". */
const tableName = z.string('is not set').regex(/^[A-Za-z0-9_.-]{3,255}$/, 'must be the name of a DynamoDB table');

/** @throws Error naming the variable when it is missing or wrong */
export function readViewsTable(environment: Variables): string {
  return read(environment, Environment.viewsTable);
}

/** What the events function was deployed with. */
export interface EventsConfig {
  readonly tables: { readonly ledger: string; readonly registry: string; readonly views: string };
}

/** @throws Error naming the variable that is missing or wrong */
export function readEventsConfig(environment: Variables): EventsConfig {
  return {
    tables: {
      ledger: read(environment, Environment.ledgerTable),
      registry: read(environment, Environment.registryTable),
      views: readViewsTable(environment),
    },
  };
}

/** What the projector was deployed with. */
export interface ProjectorConfig {
  readonly viewsTable: string;
  readonly parkingQueueUrl: string;
}

/** @throws Error naming the variable that is missing or wrong */
export function readProjectorConfig(environment: Variables): ProjectorConfig {
  const parsed = z.url('must be the address of an SQS queue').safeParse(environment[Environment.parkingQueueUrl]);
  if (!parsed.success) throw new Error(`the environment variable ${Environment.parkingQueueUrl} is not set or wrong`);
  return { viewsTable: readViewsTable(environment), parkingQueueUrl: parsed.data };
}

function read(environment: Variables, name: string): string {
  const parsed = tableName.safeParse(environment[name]);
  if (parsed.success) return parsed.data;
  throw new Error(`the environment variable ${name} ${parsed.error.issues[0]?.message ?? 'is wrong'}`);
}
