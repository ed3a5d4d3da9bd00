import { randomUUID } from 'node:crypto';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb';

interface Request {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const documents = DynamoDBDocumentClient.from(new DynamoDBClient({}));
const { IDEMPOTENCY_TABLE, LEDGER_TABLE, TEST_SANDBOX_URL, EVENTS_URL } = process.env;

/**
 * Pays as a typical first handler does: looks up the key, charges, writes a ledger row, publishes an event if there is
 * a bus, and saves the response. Two concurrent requests with the same key charge twice.
 */
export async function handler({ headers, body }: Request) {
  const key = `NAIVE#${headers['Idempotency-Key']}`;
  const seen = await documents.send(
    new GetCommand({ TableName: IDEMPOTENCY_TABLE, Key: { pk: key }, ConsistentRead: true }),
  );
  if (typeof seen.Item?.['answer'] === 'string') return { statusCode: 201, body: seen.Item['answer'] };
  const { amount, currency, source } = JSON.parse(body) as Record<string, unknown>;
  const response = await fetch(`${TEST_SANDBOX_URL}/charges`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ amount, currency, source, capture: 'automatic', metadata: {} }),
  });
  const { id, status } = (await response.json()) as Record<string, unknown>;
  const answer = JSON.stringify({ id: key, charge: id, status });
  await documents.send(
    new PutCommand({ TableName: LEDGER_TABLE, Item: { pk: key, sk: randomUUID(), charge: id, amount, currency } }),
  );
  if (EVENTS_URL !== undefined) await fetch(EVENTS_URL, { method: 'POST', body: answer });
  await documents.send(
    new PutCommand({ TableName: IDEMPOTENCY_TABLE, Item: { pk: key, answer, status: 'COMPLETED' } }),
  );
  return { statusCode: 201, body: answer };
}
