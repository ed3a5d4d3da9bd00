import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { GetCommand, PutCommand, QueryCommand, TransactWriteCommand } from '@aws-sdk/lib-dynamodb';
import type { APIGatewayProxyResult, MSKEvent } from 'aws-lambda';
import { eventBridgeClient } from '../../lambdas/events/store/eventbridge-publisher.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import type { Charge, SandboxEvent } from '../../lambdas/processors/sandbox/sandbox-api.ts';
import {
  DemoEnvironment,
  type EventKind,
  HOLD,
  PUBLICATION_HOLD_MS,
  paymentPartition,
  SHOP_CALLBACK_PATH,
  SHOP_EVENT_SOURCE,
  SHOP_POSTING,
} from '../contract.ts';
import type { Delivery } from './deliveries.ts';

/**
 * A typical first payment handler, written carefully: it checks before it acts, and acts before it saves. Every check
 * is a consistent read. Every step is correct as long as there are no crashes, duplicates or concurrent requests.
 */

const client = documentClient();
const TableName = process.env[DemoEnvironment.shopTable] ?? '';
const processorUrl = process.env[DemoEnvironment.shopProcessorUrl] ?? '';
const events = eventBridgeClient();

interface Order {
  readonly amount: number;
  readonly currency: string;
  readonly source: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

interface Posting {
  readonly kind: EventKind;
  readonly chargeId: string;
  readonly amountMinor: number;
}

interface ShopRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string | null;
}

export async function handler(event: ShopRequest | MSKEvent): Promise<APIGatewayProxyResult> {
  if ('records' in event) return consume(event);
  const { path, headers, body } = event;
  const content: unknown = JSON.parse(body ?? '{}');
  const [, refunded] = /^\/v1\/payments\/([^/]+)\/refunds$/.exec(path) ?? [];
  if (refunded !== undefined) return refund(refunded, content as Pick<Order, 'amount'>);
  if (path === SHOP_CALLBACK_PATH) return callback(content as SandboxEvent);
  return pay(headers['idempotency-key'] ?? headers['Idempotency-Key'] ?? '', content as Order);
}

async function pay(key: string, order: Order): Promise<APIGatewayProxyResult> {
  const saved = await client.send(
    new GetCommand({ TableName, Key: { pk: `KEY#${key}`, sk: 'ANSWER' }, ConsistentRead: true }),
  );
  if (saved.Item !== undefined) return reply(201, saved.Item['answer']);
  const charged = await makeCharge(key, order);
  if (charged.status !== 201) return reply(502, { error: 'the processor did not charge' });
  const answer = { id: key, status: 'succeeded', charge: (charged.body as Charge).id };
  await client.send(new PutCommand({ TableName, Item: { pk: `KEY#${key}`, sk: 'ANSWER', answer } }));
  return reply(201, answer);
}

async function makeCharge(key: string, order: Order) {
  const metadata = { ...order.metadata, payment: key };
  return callProcessor('/charges', { ...order, capture: 'automatic', metadata });
}

/** When this function returns, the offset of the batch is committed. */
async function consume({ records }: MSKEvent): Promise<APIGatewayProxyResult> {
  for (const { value } of Object.values(records).flat()) {
    const text = Buffer.from(value, 'base64').toString('utf8');
    const { event_id, account_from, amount, currency } = JSON.parse(text) as Readonly<Record<string, string>>;
    await makeCharge(event_id ?? '', { source: account_from ?? '', amount: Number(amount), currency: currency ?? '' });
  }
  return reply(200, {});
}

async function callback({ id, type, data }: SandboxEvent): Promise<APIGatewayProxyResult> {
  if (type !== 'charge.succeeded') return reply(200, {});
  const seen = await client.send(
    new GetCommand({ TableName, Key: { pk: `EVENT#${id}`, sk: 'SEEN' }, ConsistentRead: true }),
  );
  if (seen.Item !== undefined) return reply(200, {});
  const charge = (await callProcessor(`/charges/${data.charge}`)).body as Charge;
  const { payment = '', ...metadata } = charge.metadata;
  const posting = { kind: 'payment.completed', chargeId: charge.id, amountMinor: charge.amount } as const;
  const rows = [postingRow(payment, posting), { pk: `EVENT#${id}`, sk: 'SEEN' }];
  await client.send(new TransactWriteCommand({ TransactItems: rows.map((Item) => ({ Put: { TableName, Item } })) }));
  await publish(payment, posting.kind, metadata);
  return reply(200, {});
}

async function refund(payment: string, { amount }: Pick<Order, 'amount'>): Promise<APIGatewayProxyResult> {
  const postings = await postingsOf(payment);
  const [first] = postings.filter(({ kind }) => kind === 'payment.completed');
  if (first === undefined) return reply(404, { error: 'there is no such payment' });
  const refunded = postings.reduce((sum, { kind, amountMinor }) => sum + (kind === first.kind ? 0 : amountMinor), 0);
  if (amount > first.amountMinor - refunded) return reply(409, { error: 'the remaining amount is too small' });
  const posting = { kind: 'refund.completed', chargeId: first.chargeId, amountMinor: amount } as const;
  await client.send(new PutCommand({ TableName, Item: postingRow(payment, posting) }));
  await publish(payment, posting.kind, {});
  const made = await callProcessor(`/charges/${first.chargeId}/refunds`, { amount });
  return made.status === 201 ? reply(201, made.body) : reply(502, { error: 'the processor did not refund' });
}

function postingRow(payment: string, posting: Posting) {
  return { pk: paymentPartition(payment), sk: `${SHOP_POSTING}${randomUUID()}`, ...posting };
}

async function publish(paymentId: string, type: EventKind, metadata: Delivery['metadata']): Promise<void> {
  if (metadata[HOLD.name] === HOLD.publication) await sleep(PUBLICATION_HOLD_MS);
  const event: Delivery = { eventId: randomUUID(), type, paymentId, metadata };
  const entry = {
    EventBusName: process.env[DemoEnvironment.shopBus],
    Source: SHOP_EVENT_SOURCE,
    DetailType: type,
    Detail: JSON.stringify(event),
  };
  await events.send(new PutEventsCommand({ Entries: [entry] }));
}

async function postingsOf(payment: string): Promise<readonly Posting[]> {
  const { Items = [] } = await client.send(
    new QueryCommand({
      TableName,
      ConsistentRead: true,
      KeyConditionExpression: 'pk = :pk AND begins_with(sk, :posting)',
      ExpressionAttributeValues: { ':pk': paymentPartition(payment), ':posting': SHOP_POSTING },
    }),
  );
  return Items as unknown as readonly Posting[];
}

/** Longer than a slow processor takes. */
const PROCESSOR_TIMEOUT_MS = 10_000;

async function callProcessor(
  path: string,
  body?: unknown,
): Promise<{ readonly status: number; readonly body: unknown }> {
  const answer = await fetch(`${processorUrl}${path}`, {
    signal: AbortSignal.timeout(PROCESSOR_TIMEOUT_MS),
    ...(body === undefined
      ? {}
      : { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: await answer.json() };
}

function reply(statusCode: number, body: unknown): APIGatewayProxyResult {
  return { statusCode, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}
