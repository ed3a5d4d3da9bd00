import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
import { storedOperationId } from '../../lambdas/kernel/ids.ts';
import type { StoreTables } from '../../lambdas/once/store/transact-items.ts';
import type { CreatePayment } from '../../lambdas/payments/use/create-payment.ts';
import type { Processor } from '../../lambdas/payments/use/processor.ts';

let attempts = 0;
const clients = new WeakMap<DynamoDBClient, DynamoDBDocumentClient>();

export function documentsOf(client: DynamoDBClient): DynamoDBDocumentClient {
  const documents = clients.get(client) ?? DynamoDBDocumentClient.from(client);
  clients.set(client, documents);
  return documents;
}

/** If two requests both check before one of them saves, the payer is charged twice. */
export async function payNaively(
  client: DynamoDBClient,
  tables: StoreTables,
  processor: Pick<Processor, 'charge'>,
  request: CreatePayment,
): Promise<string> {
  const dynamo = documentsOf(client);
  const { paymentId, amountMinor, currency, source, capture } = request;
  const seen = await dynamo.send(
    new GetCommand({ TableName: tables.idempotency, Key: { pk: `NAIVE#${paymentId}` }, ConsistentRead: true }),
  );
  if (typeof seen.Item?.['answer'] === 'string') return seen.Item['answer'];

  attempts += 1;
  const operationId = storedOperationId(`naive-attempt-${attempts}`);
  const outcome = await processor.charge(
    { operationId, paymentId, amountMinor, currency, source, capture },
    { timeoutMs: 8_000 },
  );
  const answer = JSON.stringify({ id: paymentId, outcome: outcome.kind, charge: outcome.chargeId });
  await dynamo.send(
    new PutCommand({
      TableName: tables.ledger,
      Item: { pk: `NAIVE#${paymentId}`, sk: operationId, amountMinor, currency },
    }),
  );
  await dynamo.send(
    new PutCommand({ TableName: tables.idempotency, Item: { pk: `NAIVE#${paymentId}`, answer, status: 'COMPLETED' } }),
  );
  return answer;
}
