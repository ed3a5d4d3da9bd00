import * as z from 'zod';
import { Environment } from '../kernel/contract/environment.ts';
import { readVariables, tableName, type Variables } from '../kernel/platform/variables.ts';
import { ExportsEnvironment } from './contract.ts';

/** Environment variable that Lambda sets to the function's own name. */
const OWN_NAME = 'AWS_LAMBDA_FUNCTION_NAME';

const bucket = z.string('is not set').min(3, 'must be the name of a bucket');
const functionName = z.string('is not set').min(1, 'must be the name of a function');
const api = z.object({
  [Environment.ledgerTable]: tableName,
  [Environment.registryTable]: tableName,
  [ExportsEnvironment.bucket]: bucket,
  [ExportsEnvironment.writer]: functionName,
});
const writer = z.object({
  [Environment.ledgerTable]: tableName,
  [Environment.registryTable]: tableName,
  [Environment.viewsTable]: tableName,
  [ExportsEnvironment.bucket]: bucket,
  [OWN_NAME]: functionName,
});

/** @throws Error naming the variable that is missing or wrong */
export function readExportsConfig(environment: Variables) {
  const data = readVariables(api, environment);
  return {
    ledgerTable: data[Environment.ledgerTable],
    registryTable: data[Environment.registryTable],
    bucket: data[ExportsEnvironment.bucket],
    writer: data[ExportsEnvironment.writer],
  };
}

/** @throws Error naming the variable that is missing or wrong */
export function readExportWriterConfig(environment: Variables) {
  const data = readVariables(writer, environment);
  return {
    tables: { ledger: data[Environment.ledgerTable], registry: data[Environment.registryTable] },
    viewsTable: data[Environment.viewsTable],
    bucket: data[ExportsEnvironment.bucket],
    ownName: data[OWN_NAME],
  };
}

const waking = z.object({ [ExportsEnvironment.writer]: functionName });

/** @throws Error as {@link readExportsConfig} */
export function readWriterName(environment: Variables): string {
  return readVariables(waking, environment)[ExportsEnvironment.writer];
}

const request = z.object({
  tenantId: z.string(),
  mode: z.enum(['test', 'live']),
  id: z.string(),
});

/** @throws ZodError */
export function parseWriterRequest(payload: unknown): z.infer<typeof request> {
  return request.parse(payload);
}
