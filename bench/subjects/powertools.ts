import { randomUUID } from 'node:crypto';
import { IdempotencyConfig, makeIdempotent } from '@aws-lambda-powertools/idempotency';
import { DynamoDBPersistenceLayer } from '@aws-lambda-powertools/idempotency/dynamodb';
import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, PutCommand } from '@aws-sdk/lib-dynamodb';
import type { Context } from 'aws-lambda';
import * as z from 'zod';

interface Request {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const payment = z.strictObject({
  amount: z.int().min(1),
  currency: z.string().regex(/^[A-Z]{3}$/),
  source: z.string().min(1),
});
const charge = z.object({ id: z.string(), status: z.string() });

const { IDEMPOTENCY_TABLE = '', LEDGER_TABLE, TEST_SANDBOX_URL, EVENTS_URL, PROCESSOR_KEYS } = process.env;
const logger = new Logger();
const metrics = new Metrics();
const client = new DynamoDBClient({});
const documents = DynamoDBDocumentClient.from(client);

const pay = makeIdempotent(
  async ({ key, body }: { readonly key: string; readonly body: string }, _context: Context) => {
    const { amount, currency, source } = payment.parse(JSON.parse(body));
    const response = await fetch(`${TEST_SANDBOX_URL}/charges`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(PROCESSOR_KEYS === 'same' ? { 'idempotency-key': key } : {}),
      },
      body: JSON.stringify({ amount, currency, source, capture: 'automatic', metadata: {} }),
    });
    const { id, status } = charge.parse(await response.json());
    const posting = { pk: `POWERTOOLS#${key}`, sk: randomUUID(), charge: id, amount, currency };
    await documents.send(new PutCommand({ TableName: LEDGER_TABLE, Item: posting }));
    if (EVENTS_URL !== undefined) await fetch(EVENTS_URL, { method: 'POST', body: id });
    return { statusCode: 201, body: JSON.stringify({ id: key, charge: id, status }) };
  },
  {
    persistenceStore: new DynamoDBPersistenceLayer({
      tableName: IDEMPOTENCY_TABLE,
      keyAttr: 'pk',
      awsSdkV3Client: client,
    }),
    config: new IdempotencyConfig({ eventKeyJmesPath: 'key', throwOnNoIdempotencyKey: true }),
  },
);

/**
 * Makes a payment as the Powertools documentation recommends. Publishes an event if there is a bus. With
 * `PROCESSOR_KEYS=same`, also sends the request's idempotency key to the processor. The documentation leaves this to the
 * handler.
 */
export async function handler({ headers, body }: Request, context: Context) {
  const answer = await pay({ key: headers['Idempotency-Key'] ?? '', body }, context);
  logger.info('paid', { answer });
  metrics.addMetric('paid', MetricUnit.Count, 1);
  metrics.publishStoredMetrics();
  return answer;
}
