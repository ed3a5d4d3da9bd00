import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { type DynamoDBDocumentClient, QueryCommand } from '@aws-sdk/lib-dynamodb';
import { type AwsTarget, stackOutputs } from '../cli/deployment.ts';
import { republishRange } from '../cli/republishing.ts';
import { ALL_SCOPES } from '../lambdas/kernel/contract/api.ts';
import { parseIdempotencyKey } from '../lambdas/kernel/idempotency-key.ts';
import { type PaymentId, type TenantId, tenantId as tenant } from '../lambdas/kernel/ids.ts';
import { invariant } from '../lambdas/kernel/invariant.ts';
import { documentClient } from '../lambdas/kernel/platform/document-client.ts';
import { systemDigest } from '../lambdas/kernel/platform/platform.ts';
import { derivePaymentId, paymentOfEvent } from '../lambdas/payments/ids.ts';
import { paymentPartition as ledgerPartition, parseTransition } from '../lambdas/payments/store/items.ts';
import type { Database } from '../lambdas/postgres/database.ts';
import { callbackPath } from '../lambdas/processors/contract.ts';
import { sandboxContract } from '../lambdas/processors/sandbox/contract.ts';
import { idOfApiKey, TenantAdministration } from '../lambdas/tenants/store/tenant-administration.ts';
import { accessTo } from '../local/emulator-environment.ts';
import type { LocalAws } from '../local/local-aws.ts';
import { openLocalDatabase } from '../local/postgres.ts';
import {
  type EventKind,
  paymentPartition,
  ReceiptRow,
  SHOP_CALLBACK_PATH,
  SHOP_EVENT_SOURCE,
  SHOP_POSTING,
} from './contract.ts';
import type { DeployedDemo } from './deployed.ts';
import type { Delivery } from './functions/deliveries.ts';
import { StoppableRelay } from './relay.ts';
import { kill, type Receipt, Side } from './side.ts';

export interface Sides {
  readonly naive: Side;
  readonly payonce: Side;
}

/** Payonce gets a new tenant, whose key is revoked at the end. */
export async function withSides<Result>(
  aws: LocalAws,
  demo: DeployedDemo,
  use: (sides: Sides) => Promise<Result>,
): Promise<Result> {
  const target = accessTo(aws);
  const client = documentClient(new DynamoDBClient(target));
  const administration = new TenantAdministration(client, aws.tables, 'demo');
  const tenantId = await administration.createTenant('Demo');
  const apiKey = await administration.createApiKey({ name: 'Demo', tenantId, mode: 'test', scopes: ALL_SCOPES });
  const relay = new StoppableRelay(aws);
  const database = aws.postgres === undefined ? undefined : openLocalDatabase(aws.postgres);
  const posted = database === undefined ? postedIn(client, aws.tables.ledger) : postedInPostgres(database);
  try {
    return await use({
      naive: naiveSide(target, client, { aws, demo }),
      payonce: payonceSide(target, client, { aws, demo, tenantId, apiKey, relay, posted }),
    });
  } finally {
    await relay.start();
    await database?.close();
    await administration.revokeKey(idOfApiKey(apiKey));
  }
}

type Target = Required<Omit<AwsTarget, 'environment'>>;

function naiveSide(
  target: Target,
  client: DynamoDBDocumentClient,
  { aws, demo }: Pick<PayonceParts, 'aws' | 'demo'>,
): Side {
  const bus = new EventBridgeClient(target);
  return new Side({
    apiUrl: demo.shopUrl,
    headers: {},
    callbackUrl: `${demo.shopUrl}${SHOP_CALLBACK_PATH}`,
    processorUrl: demo.shopProcessorUrl,
    processorHeaders: {},
    paymentsFunction: demo.shopFunction,
    receiptsFunction: demo.naiveReceiptsFunction,
    keeperPid: aws.keeperPid,
    // The naive shop loses events, so each wait for a lost event ends after this time.
    givenUpAfterMs: 60_000,
    paymentOf: (key) => key,
    paymentOfEvent: (eventId) => eventId,
    consume: async (eventId) => invokeWithBatch(target, demo.shopFunction, eventId),
    postings: async (payment, kind) => {
      const rows = await rowsOf(client, demo.shopTable, paymentPartition(payment));
      return rows.filter((row) => String(row['sk']).startsWith(SHOP_POSTING) && row['kind'] === kind).length;
    },
    receipts: (payment) => receiptsOf(client, demo, payment),
    // The function that saves a payment also publishes its event, so kill the function after saving. Lambda starts
    // another process for the next request.
    withoutPublisher: async (save) => {
      await save();
      invariant(kill(demo.shopFunction, aws.keeperPid) > 0, 'there was no publisher to kill');
    },
    publishAgain: async (paymentId) => {
      const type: EventKind = 'payment.completed';
      const delivered = (await receiptsOf(client, demo, paymentId)).find((receipt) => receipt.row === 'delivery');
      invariant(delivered?.row === 'delivery', 'there is no event yet');
      const event: Delivery = { eventId: delivered.eventId, type, paymentId, metadata: {} };
      const entry = { EventBusName: demo.shopBus, Source: SHOP_EVENT_SOURCE, DetailType: type };
      await bus.send(new PutEventsCommand({ Entries: [{ ...entry, Detail: JSON.stringify(event) }] }));
    },
  });
}

/** The topic's sender on the local AWS (local/cdk.ts). */
const LOCAL_SENDER = { tenantId: tenant('ten_local'), mode: 'test' } as const;

/**
 * The event has the form of a topic's batch (AWS Lambda developer guide, "Using Lambda with Amazon MSK", example
 * event).
 */
async function invokeWithBatch(target: Target, FunctionName: string, eventId: string): Promise<void> {
  const request = {
    event_id: eventId,
    account_from: 'tok_ok',
    account_to: LOCAL_SENDER.tenantId,
    amount: 10_000,
    currency: 'EUR',
    timestamp: new Date().toISOString(),
  };
  const value = Buffer.from(JSON.stringify(request)).toString('base64');
  const place = { topic: 'payments', partition: 0, offset: 0, timestamp: Date.now(), timestampType: 'CREATE_TIME' };
  const batch = { eventSource: 'aws:kafka', records: { 'payments-0': [{ ...place, value, headers: [] }] } };
  const { FunctionError } = await new LambdaClient(target).send(
    new InvokeCommand({ FunctionName, Payload: JSON.stringify(batch) }),
  );
  invariant(FunctionError === undefined, `the consumer ${FunctionName} failed`);
}

interface PayonceParts {
  readonly aws: LocalAws;
  readonly demo: DeployedDemo;
  readonly tenantId: TenantId;
  readonly apiKey: string;
  readonly relay: StoppableRelay;
  readonly posted: Posted;
}

function payonceSide(target: Target, client: DynamoDBDocumentClient, parts: PayonceParts): Side {
  const { aws, demo, tenantId, apiKey, relay, posted } = parts;
  return new Side({
    apiUrl: aws.apiUrl,
    headers: { authorization: `Bearer ${apiKey}` },
    callbackUrl: `${aws.apiUrl}${callbackPath(sandboxContract, LOCAL_SENDER.mode)}`,
    processorUrl: aws.sandboxUrl,
    processorHeaders: { authorization: `Bearer ${aws.sandboxSecret}` },
    paymentsFunction: aws.paymentsFunction,
    receiptsFunction: demo.payonceReceiptsFunction,
    keeperPid: aws.keeperPid,
    // Longer than any result takes on a busy machine.
    givenUpAfterMs: 600_000,
    paymentOf: (key) => paymentOf(tenantId, key),
    paymentOfEvent: (eventId) => paymentOfEvent(systemDigest, LOCAL_SENDER, eventId),
    consume: async (eventId) => {
      const [functionName] = await stackOutputs(target, 'service', ['paymentRequestsFunction']);
      await invokeWithBatch(target, functionName, eventId);
    },
    postings: async (payment, kind) => (await posted(payment)).filter((type) => isOf(kind, type)).length,
    receipts: (payment) => receiptsOf(client, demo, payment),
    withoutPublisher: async (save) => {
      const [relayFunction] = await stackOutputs(target, 'service', ['relayFunction']);
      await relay.stop(relayFunction);
      try {
        await save();
      } finally {
        await relay.start();
      }
    },
    publishAgain: async (payment) => {
      // Republish only the time range of the payment, because other clients also use the stack.
      const rows = await rowsOf(client, aws.tables.ledger, ledgerPartition(payment as PaymentId));
      const times = rows.map((row) => parseTransition(row).occurredAtMs);
      const range = { sinceMs: Math.min(...times), untilMs: Math.max(...times) + 1 };
      const [functionName] = await stackOutputs(target, 'service', ['republishFunction']);
      await republishRange(new LambdaClient(target), functionName, range, () => undefined);
    },
  });
}

/** Types of the payment's transitions with postings, read from the store that committed them. */
type Posted = (payment: string) => Promise<readonly string[]>;

function postedIn(client: DynamoDBDocumentClient, ledger: string): Posted {
  return async (payment) => {
    const rows = await rowsOf(client, ledger, ledgerPartition(payment as PaymentId));
    return rows.map(parseTransition).flatMap(({ type, postings }) => (postings.length > 0 ? [type] : []));
  };
}

function postedInPostgres(database: Database): Posted {
  const text = `SELECT DISTINCT sequence, transition.type FROM payonce.transition
    JOIN payonce.posting USING (chain_id, sequence) WHERE chain_id = $1`;
  return async (payment) => {
    const rows = await database.run({ name: 'posted', text, values: [payment] });
    return rows.map(({ type }) => String(type));
  };
}

function paymentOf(tenantId: TenantId, text: string): PaymentId {
  const parsed = parseIdempotencyKey([text]);
  if (parsed.kind !== 'key') throw new Error(`${text} is not a valid idempotency key`);
  const scope = { tenantId, mode: 'test', method: 'POST', path: '/v1/payments' } as const;
  return derivePaymentId(systemDigest, { ...scope, key: parsed.key });
}

function isOf(kind: EventKind, type: string): boolean {
  return type.startsWith('refund.') === (kind === 'refund.completed');
}

async function receiptsOf(
  client: DynamoDBDocumentClient,
  { receiptsTable }: DeployedDemo,
  payment: string,
): Promise<readonly Receipt[]> {
  return (await rowsOf(client, receiptsTable, paymentPartition(payment))).map(({ sk, type, eventId }) =>
    String(sk).startsWith(ReceiptRow.effect)
      ? { row: 'effect', kind: String(type) }
      : { row: 'delivery', kind: String(type), eventId: String(eventId) },
  );
}

/** Each partition is far smaller than a page. */
async function rowsOf(
  client: DynamoDBDocumentClient,
  TableName: string,
  partition: string,
): Promise<readonly Record<string, unknown>[]> {
  const { Items = [] } = await client.send(
    new QueryCommand({
      TableName,
      ConsistentRead: true,
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': partition },
    }),
  );
  return Items;
}
