import * as z from 'zod';
import { Environment } from '../kernel/contract/environment.ts';
import { queueUrl, readVariables, tableName, type Variables } from '../kernel/platform/variables.ts';

const views = z.object({ [Environment.viewsTable]: tableName });
const projector = views.extend({ [Environment.parkingQueueUrl]: queueUrl });

export function readViewsTable(environment: Variables): string {
  return readVariables(views, environment)[Environment.viewsTable];
}

export interface ProjectorConfig {
  readonly viewsTable: string;
  readonly parkingQueueUrl: string;
}

export function readProjectorConfig(environment: Variables): ProjectorConfig {
  const data = readVariables(projector, environment);
  return { viewsTable: data[Environment.viewsTable], parkingQueueUrl: data[Environment.parkingQueueUrl] };
}
