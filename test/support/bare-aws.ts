import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { StackOutput, stackNameOf } from '../../lambdas/kernel/contract/api.ts';
import { type Emulator, startEmulator } from '../../local/emulator.ts';
import { accessTo, type EmulatorAccess, REGION } from '../../local/emulator-environment.ts';
import type { LocalAws } from '../../local/local-aws.ts';
import { ensurePython } from '../../local/python-environment.ts';
import { requestTemplates } from './synth-requests.ts';
import { createTablesOf, resourceOf, type TableTemplate } from './template-tables.ts';

/** An emulator without stacks, with empty tables that have the schemas of the templates. */
export interface BareAws extends Pick<LocalAws, 'awsEndpoint' | 'accessKeyId' | 'region' | 'tables' | 'keeperPid'> {
  readonly booksTable: string;
}

interface BareAwsOptions {
  readonly directory: string;
  /** Another port is used if this one is taken. */
  readonly port: number;
  /** The directory of a synthesized assembly. @default templates from the synth server of the run */
  readonly assembly?: string | undefined;
}

interface TableTemplates {
  readonly data: TableTemplate;
  readonly sandbox: TableTemplate;
}

/** Stops the emulator on failure. */
export async function startBareAws({
  directory,
  port,
  assembly,
}: BareAwsOptions): Promise<{ readonly aws: BareAws; readonly emulator: Emulator }> {
  const templates = tableTemplates(assembly);
  // The emulator starts during the synth. This empty handler prevents an unhandled rejection; a failed synth throws at
  // `await templates`.
  templates.catch(() => undefined);
  const python = await ensurePython();
  const state = join(directory, 'state');
  const emulator = await startEmulator({ python, port, directory, state, persist: false });
  try {
    const { access, keeperPid } = emulator;
    const tables = await createTables(access, await templates);
    return { aws: { ...access, region: REGION, ...tables, keeperPid }, emulator };
  } catch (error) {
    await emulator.stop();
    throw error;
  }
}

async function tableTemplates(assembly: string | undefined): Promise<TableTemplates> {
  if (assembly === undefined) return (await requestTemplates({})) as unknown as TableTemplates;
  const read = (stack: keyof TableTemplates) =>
    JSON.parse(readFileSync(join(assembly, `${stackNameOf(stack)}.template.json`), 'utf8')) as TableTemplate;
  return { data: read('data'), sandbox: read('sandbox') };
}

async function createTables(
  access: EmulatorAccess,
  { data, sandbox }: TableTemplates,
): Promise<Pick<BareAws, 'tables' | 'booksTable'>> {
  const client = new DynamoDBClient(accessTo(access));
  await createTablesOf(client, data);
  const [booksTable, ...others] = await createTablesOf(client, sandbox);
  client.destroy();
  if (booksTable === undefined || others.length > 0) throw new Error('the sandbox has no table or several tables');
  return {
    tables: {
      idempotency: resourceOf(data, StackOutput.idempotencyTable),
      ledger: resourceOf(data, StackOutput.ledgerTable),
      registry: resourceOf(data, StackOutput.registryTable),
      views: resourceOf(data, StackOutput.viewsTable),
    },
    booksTable,
  };
}
