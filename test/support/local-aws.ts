import { readFileSync } from 'node:fs';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import type { Clock } from '../../lambdas/kernel/world.ts';
import { credentialsOf } from '../../local/emulator-environment.ts';
import type { LocalAws } from '../../local/local-aws.ts';
import { Stores } from '../world/stores.ts';
import type { BareAws } from './bare-aws.ts';
import { cloneTable, cloneTables } from './cloned-tables.ts';
import type { Actor } from './fault-plan.ts';
import { clientOf } from './faulty-client.ts';

let aws: BareAws | LocalAws | undefined;

/** Reads the file once, because the SDK requests the credentials for each call. */
function awsOfRun(): BareAws | LocalAws {
  const file = process.env['PAYONCE_TEST_LOCAL_JSON'];
  if (file === undefined)
    throw new Error('the run has no emulator: run this test in its own Jest project (stores, deployed or drills)');
  aws ??= JSON.parse(readFileSync(file, 'utf8')) as BareAws | LocalAws;
  return aws;
}

/** The run's global setup started this AWS. */
export function localAws(): LocalAws {
  const run = awsOfRun();
  if (!('apiUrl' in run)) throw new Error('the run has no stacks: make this test a deployed test or a drill');
  return run;
}

/** Returns the emulator of the run, with or without stacks. */
export function emulatedAws(): Pick<BareAws, 'awsEndpoint' | 'accessKeyId' | 'region' | 'tables'> {
  return awsOfRun();
}

/** Credentials with administrator rights on the emulator of the run. */
export const CREDENTIALS = {
  get accessKeyId() {
    return emulatedAws().accessKeyId;
  },
  get secretAccessKey() {
    return credentialsOf('').secretAccessKey;
  },
};

/** The secret is also the token of the sandbox's e-mail service. */
export function askSandbox(
  path: string,
  init: RequestInit = {},
  { sandboxUrl, sandboxSecret }: Pick<LocalAws, 'sandboxUrl' | 'sandboxSecret'> = localAws(),
): Promise<Response> {
  const secret = { authorization: `Bearer ${sandboxSecret}`, 'x-postmark-server-token': sandboxSecret };
  return fetch(`${sandboxUrl}${path}`, {
    ...init,
    headers: { ...(init.headers as Record<string, string>), ...secret },
  });
}

let shared: DynamoDBClient | undefined;

/** All tests of a file share the client. */
export function dynamoDbClient(): DynamoDBClient {
  const { awsEndpoint: endpoint, region } = emulatedAws();
  shared ??= new DynamoDBClient({ endpoint, region, credentials: CREDENTIALS, maxAttempts: 1 });
  return shared;
}

/** Each SDK call can have a fault. */
export function clientWithFaults(actor: Pick<Actor, 'call'>): DynamoDBClient {
  const { awsEndpoint: endpoint, region } = emulatedAws();
  const { requestHandler } = dynamoDbClient().config;
  return clientOf(actor, { endpoint, region, credentials: CREDENTIALS, requestHandler });
}

const STILL: Clock = { nowMs: () => 0, sleep: async () => undefined };

export function storesOn(tables: LocalAws['tables']) {
  const on = (client: DynamoDBClient, clock: Clock) => new Stores(clock, { client: documentClient(client) }, tables);
  return {
    store: on(dynamoDbClient(), STILL),
    storeFor: (actor: Actor, clock: Clock) => on(clientWithFaults(actor), clock),
  };
}

let made = 0;

export async function createTables(prefix: string): Promise<LocalAws['tables']> {
  made += 1;
  const suffix = `${process.pid}-${made}`;
  return cloneTables(dynamoDbClient(), emulatedAws().tables, (table) => `${prefix}-${table}-${suffix}`);
}

/** Works only in the Jest project `stores`. */
export async function createBooksTable(prefix: string): Promise<string> {
  made += 1;
  const { booksTable } = awsOfRun() as BareAws;
  return cloneTable(dynamoDbClient(), booksTable, `${prefix}-books-${process.pid}-${made}`);
}
