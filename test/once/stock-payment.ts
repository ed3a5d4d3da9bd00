import {
  IdempotencyAlreadyInProgressError,
  IdempotencyConfig,
  makeIdempotent,
} from '@aws-lambda-powertools/idempotency';
import { DynamoDBPersistenceLayer } from '@aws-lambda-powertools/idempotency/dynamodb';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { PutCommand } from '@aws-sdk/lib-dynamodb';
import type { Context } from 'aws-lambda';
import type { Answer } from '../../lambdas/kernel/answer.ts';
import { storedOperationId } from '../../lambdas/kernel/ids.ts';
import type { StoreTables } from '../../lambdas/once/store/transact-items.ts';
import { chargeOperation } from '../../lambdas/payments/ids.ts';
import type { CreatePayment } from '../../lambdas/payments/use/create-payment.ts';
import type { Processor } from '../../lambdas/payments/use/processor.ts';
import { documentsOf } from '../bench/bench-naive-payment.ts';
import type { Seen } from '../payments/payment-story.ts';

/** Time for which the engine keeps a payment's response: seven days, in seconds. */
const RETENTION_SECONDS = 7 * 24 * 60 * 60;

export interface StockTools {
  readonly client: DynamoDBClient;
  readonly tables: StoreTables;
  readonly processor: Pick<Processor, 'charge'>;
  /**
   * Remaining invocation time that Lambda reports, in milliseconds. The stock Powertools layer uses it as its lease.
   */
  readonly remainingTimeMs: number;
  /**
   * Idempotency key at the processor: a new key for each attempt (a common mistake), or the same key for all attempts.
   * @default `fresh`
   */
  readonly processorKey?: 'fresh' | 'same';
}

class CardDeclined extends Error {
  override readonly name = 'CardDeclined';
}

export function stockLayer(client: DynamoDBClient, tables: Pick<StoreTables, 'idempotency'>): DynamoDBPersistenceLayer {
  return new DynamoDBPersistenceLayer({ tableName: tables.idempotency, keyAttr: 'pk', awsSdkV3Client: client });
}

/** The part of the context that the unmodified layer of Powertools reads. */
export function lambdaContext(remainingTimeMs: number): Pick<Context, 'getRemainingTimeInMillis'> {
  return { getRemainingTimeInMillis: () => remainingTimeMs };
}

let attempts = 0;

/**
 * Follows the Powertools documentation with the safest settings. The layer saves the returned result in a separate
 * write.
 */
export async function payWithStockLayer(tools: StockTools, request: CreatePayment): Promise<Seen> {
  const handler = makeIdempotent(async (event: CreatePayment, _context: unknown) => payOnce(tools, event), {
    persistenceStore: stockLayer(tools.client, tools.tables),
    config: new IdempotencyConfig({
      eventKeyJmesPath: 'paymentId',
      throwOnNoIdempotencyKey: true,
      expiresAfterSeconds: RETENTION_SECONDS,
    }),
  });
  try {
    return { kind: 'answered', answer: await handler(request, lambdaContext(tools.remainingTimeMs)) };
  } catch (error) {
    if (error instanceof CardDeclined) {
      return { kind: 'answered', answer: { status: 402, headers: {}, body: error.message } };
    }
    if (error instanceof IdempotencyAlreadyInProgressError) return { kind: 'refused', reason: 'in_progress' };
    if (error instanceof Error) return { kind: 'unanswered', error };
    throw error;
  }
}

async function payOnce({ client, tables, processor, processorKey }: StockTools, event: CreatePayment): Promise<Answer> {
  attempts += 1;
  const { paymentId, amountMinor, currency, source, capture } = event;
  const operationId =
    processorKey === 'same' ? chargeOperation(paymentId) : storedOperationId(`stock-attempt-${attempts}`);
  const order = { operationId, paymentId, amountMinor, currency, source, capture };
  const outcome = await processor.charge(order, { timeoutMs: 8_000 });
  if (outcome.kind === 'declined' || outcome.kind === 'rejected') throw new CardDeclined(outcome.failure.message);
  await documentsOf(client).send(
    new PutCommand({
      TableName: tables.ledger,
      Item: { pk: `STOCK#${paymentId}`, sk: `attempt-${attempts}`, amountMinor, currency },
    }),
  );
  return { status: 201, headers: {}, body: JSON.stringify({ id: paymentId, charge: outcome.chargeId }) };
}
