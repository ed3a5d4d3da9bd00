import { readFileSync } from 'node:fs';
import { CreateTableCommand, DescribeTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import type { Clock } from '../../lambdas/kernel/world.ts';
import { credentialsOf } from '../../local/emulator-environment.ts';
import type { LocalAws } from '../../local/local-aws.ts';
import { Stores } from '../world/stores.ts';
import type { BareAws } from './bare-aws.ts';
import type { Actor } from './fault-plan.ts';
import { clientOf } from './faulty-client.ts';

function awsOfRun(): BareAws | LocalAws {
  const file = process.env['PAYONCE_TEST_LOCAL_JSON'];
  if (file === undefined) throw new Error('this test needs the emulator: run it in the jest project of its name');
  return JSON.parse(readFileSync(file, 'utf8')) as BareAws | LocalAws;
}

/** The local AWS with deployed stacks that the run's global setup started. */
export function localAws(): LocalAws {
  const aws = awsOfRun();
  if (!('apiUrl' in aws)) throw new Error('this test needs the stacks: it must be a deployed test or a drill');
  return aws;
}

/** The emulator of the run, with or without stacks. */
export function emulatedAws(): Pick<BareAws, 'awsEndpoint' | 'accessKeyId' | 'region' | 'tables'> {
  return awsOfRun();
}

/** Credentials with an administrator's rights on the emulator of the run. */
export const CREDENTIALS = {
  get accessKeyId() {
    return emulatedAws().accessKeyId;
  },
  get secretAccessKey() {
    return credentialsOf('').secretAccessKey;
  },
};

/** Calls the deployed sandbox with its secret, which is also the token of its e-mail service. */
export function askSandbox(path: string, init: RequestInit = {}): Promise<Response> {
  const { sandboxUrl, sandboxSecret } = localAws();
  const secret = { authorization: `Bearer ${sandboxSecret}`, 'x-postmark-server-token': sandboxSecret };
  return fetch(`${sandboxUrl}${path}`, {
    ...init,
    headers: { ...(init.headers as Record<string, string>), ...secret },
  });
}

let shared: DynamoDBClient | undefined;

/** One client for all tests of a file, with an administrator's rights and no retries of its own. */
export function dynamoDbClient(): DynamoDBClient {
  const { awsEndpoint: endpoint, region } = emulatedAws();
  shared ??= new DynamoDBClient({ endpoint, region, credentials: CREDENTIALS, maxAttempts: 1 });
  return shared;
}

/** The DynamoDB API as one process sees it: each call of the SDK can have a fault. */
export function clientWithFaults(actor: Pick<Actor, 'call'>): DynamoDBClient {
  const { awsEndpoint: endpoint, region } = emulatedAws();
  const { requestHandler } = dynamoDbClient().config;
  return clientOf(actor, { endpoint, region, credentials: CREDENTIALS, requestHandler });
}

const STILL: Clock = { nowMs: () => 0, sleep: async () => undefined };

/** The product's stores on the DynamoDB API: as every process sees them, and as one process does. */
export function storesOn(tables: LocalAws['tables']) {
  const on = (client: DynamoDBClient, clock: Clock) => new Stores(clock, { client: documentClient(client) }, tables);
  return {
    store: on(dynamoDbClient(), STILL),
    storeFor: (actor: Actor, clock: Clock) => on(clientWithFaults(actor), clock),
  };
}

let made = 0;

/** Empty tables of a test's own, in the shapes that are deployed. */
export async function createTables(prefix: string): Promise<LocalAws['tables']> {
  made += 1;
  const { tables } = emulatedAws();
  const suffix = `${process.pid}-${made}`;
  const clone = (name: keyof LocalAws['tables']): Promise<string> =>
    cloneTable(tables[name], `${prefix}-${name}-${suffix}`);
  return {
    idempotency: await clone('idempotency'),
    ledger: await clone('ledger'),
    registry: await clone('registry'),
    views: await clone('views'),
  };
}

/** An empty table for the books of a sandbox. Only beside the stores. */
export async function createBooksTable(prefix: string): Promise<string> {
  made += 1;
  const { booksTable } = awsOfRun() as BareAws;
  return cloneTable(booksTable, `${prefix}-books-${process.pid}-${made}`);
}

async function cloneTable(source: string, name: string): Promise<string> {
  const { Table } = await dynamoDbClient().send(new DescribeTableCommand({ TableName: source }));
  const indexes = Table?.GlobalSecondaryIndexes ?? [];
  await dynamoDbClient().send(
    new CreateTableCommand({
      TableName: name,
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: Table?.KeySchema,
      AttributeDefinitions: Table?.AttributeDefinitions,
      ...(indexes.length === 0
        ? {}
        : {
            GlobalSecondaryIndexes: indexes.map(({ IndexName, KeySchema, Projection }) => ({
              IndexName,
              KeySchema,
              Projection,
            })),
          }),
    }),
  );
  return name;
}
