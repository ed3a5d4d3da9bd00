import { join } from 'node:path';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { type DynamoDBDocumentClient, QueryCommand } from '@aws-sdk/lib-dynamodb';
import { ALL_SCOPES } from '../../lambdas/kernel/contract/api.ts';
import { Environment } from '../../lambdas/kernel/contract/environment.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { systemClock, systemEntropy } from '../../lambdas/kernel/platform/platform.ts';
import { isOutcome } from '../../lambdas/payments/domain/payment.ts';
import { DynamoDbStore } from '../../lambdas/payments/store/dynamodb-store.ts';
import { TenantAdministration } from '../../lambdas/tenants/store/tenant-administration.ts';
import { accessTo, type EmulatorAccess } from '../../local/emulator-environment.ts';
import type { LocalAws } from '../../local/local-aws.ts';
import { expectedPaymentId } from '../../test/payments/expected-payment-id.ts';
import { paymentsEnvironment } from '../../test/support/payments-environment.ts';
import type { Postgres } from '../postgres.ts';
import type { Services } from './services.ts';

interface Traces {
  /** Number of events that were published, or committed for a relay to publish. */
  readonly events: number;
  readonly effects: number;
}

export interface Contender {
  readonly name: string;
  /** The module that exports `handler`. */
  readonly module: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly database: 'dynamodb' | 'postgres';
  /** @param published number of the payment's events that the bus received */
  tracesOf(key: string, published: number): Promise<Traces>;
  /** Counts transactions in PostgreSQL, or write calls to DynamoDB. */
  writes(): Promise<number>;
}

interface Grounds {
  readonly aws: EmulatorAccess & Pick<LocalAws, 'tables'>;
  readonly services: Services;
  /** The directory of the bundled programs, one folder each. */
  readonly bundles: string;
}

export const NAIVE = 'naive';
export const POWERTOOLS = 'Powertools';
export const POWERTOOLS_WITH_KEY = 'Powertools, with the processor’s key';
export const PAYONCE = 'Payonce';

const TENANT = 'ten_compared';

export async function contendersOnDynamoDb({ aws, services, bundles }: Grounds): Promise<readonly Contender[]> {
  const { tables } = aws;
  const client = documentClient(new DynamoDBClient(accessTo(aws)));
  const common = { database: 'dynamodb' as const, writes: async () => services.writes };
  const plain = (name: string, folder: string, environment: Readonly<Record<string, string>>): Contender => ({
    ...common,
    name,
    module: join(bundles, folder, 'index.mjs'),
    environment,
    tracesOf: async (key, published) => ({
      events: published,
      effects: await rowsOf(client, tables.ledger, `${folder.toUpperCase()}#${key}`),
    }),
  });
  return [
    plain(NAIVE, 'naive', {}),
    plain(POWERTOOLS, 'powertools', {}),
    plain(POWERTOOLS_WITH_KEY, 'powertools', { PROCESSOR_KEYS: 'same' }),
    await payonce({ aws, services, bundles }, client),
  ];
}

async function payonce(
  { aws: { tables }, bundles, services }: Grounds,
  client: DynamoDBDocumentClient,
): Promise<Contender> {
  const administration = new TenantAdministration(client, tables, 'npm run bench');
  await administration.createTenant('Compared', { id: tenantId(TENANT) });
  const wanted = { name: 'Compared', tenantId: tenantId(TENANT), mode: 'test', scopes: ALL_SCOPES } as const;
  const store = new DynamoDbStore(client, tables, { clock: systemClock, entropy: systemEntropy });
  return {
    name: PAYONCE,
    module: join(bundles, 'payments', 'index.mjs'),
    environment: { API_KEY: await administration.createApiKey(wanted) },
    database: 'dynamodb',
    writes: async () => services.writes,
    tracesOf: async (key) => {
      const chain = await store.listTransitions(expectedPaymentId(TENANT, key), { afterSequence: 0, limit: 100 });
      return {
        events: chain.filter(({ type }) => isOutcome(type)).length,
        effects: chain.filter(({ postings }) => postings.length > 0).length,
      };
    },
  };
}

async function rowsOf(client: DynamoDBDocumentClient, table: string, pk: string): Promise<number> {
  const { Count = 0 } = await client.send(
    new QueryCommand({
      TableName: table,
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': pk },
      ConsistentRead: true,
    }),
  );
  return Count;
}

/** @param peers the directory that `installPeers` returned */
export function contendersOnPostgres(postgres: Postgres, peers: string): readonly Contender[] {
  const count = async (text: string, key: string): Promise<number> => {
    const { rows } = await postgres.query(text, [key]);
    return Number(rows[0]?.['count']);
  };
  let reads = 0;
  const writes = async (): Promise<number> => {
    const { rows } = await postgres.query('SELECT pg_current_xact_id()::text AS id');
    // Subtract these reads: `pg_current_xact_id` also assigns an id to the transaction that calls it (PostgreSQL
    // documentation, "Transaction ID and Snapshot Information Functions").
    reads += 1;
    return Number(rows[0]?.['id']) - reads;
  };
  const common = { database: 'postgres' as const, environment: {}, writes };
  return [
    {
      ...common,
      name: 'rocket-rides',
      module: join(peers, 'rocket-rides.mjs'),
      tracesOf: async (key) => ({
        events: await count(`SELECT count(*) FROM staged_jobs j ${OF_KEY('j.payment_id')}`, key),
        effects: await count(`SELECT count(p.charge) FROM payments x ${OF_KEY('x.id')}`, key),
      }),
    },
    {
      ...common,
      name: 'DBOS',
      module: join(peers, 'dbos.mjs'),
      tracesOf: async (key, published) => ({
        events: published,
        effects: await count('SELECT count(*) FROM postings WHERE payment = $1', key),
      }),
    },
  ];
}

const OF_KEY = (column: string): string =>
  `JOIN payments p ON p.id = ${column} JOIN keys k ON k.id = p.key_id WHERE k.key = $1`;

export function environmentOf(
  { module, environment }: Contender,
  { tables, accessKeyId, postgresUrl, port }: Addresses,
): Readonly<Record<string, string>> {
  const url = `http://127.0.0.1:${port}`;
  return {
    ...paymentsEnvironment(url),
    AWS_ACCESS_KEY_ID: accessKeyId,
    [Environment.idempotencyTable]: tables.idempotency,
    [Environment.ledgerTable]: tables.ledger,
    [Environment.registryTable]: tables.registry,
    POWERTOOLS_SERVICE_NAME: 'bench',
    EVENTS_URL: `${url}/events`,
    SUBJECT: module,
    ...(postgresUrl === undefined ? {} : { DATABASE_URL: postgresUrl }),
    ...environment,
  };
}

interface Addresses {
  readonly tables: LocalAws['tables'];
  readonly accessKeyId: string;
  /** @default the process uses no PostgreSQL */
  readonly postgresUrl?: string | undefined;
  /** Port of the local HTTP server through which the process calls the HTTP services. */
  readonly port: number;
}
