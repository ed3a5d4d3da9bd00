import { DynamoDBDocumentClient, QueryCommand } from '@aws-sdk/lib-dynamodb';
import { PAYMENTS_TIMEOUT_SECONDS } from '../../lambdas/kernel/contract/timing.ts';
import type { Clock } from '../../lambdas/kernel/world.ts';
import type { StoreTables } from '../../lambdas/once/store/transact-items.ts';
import type { CreatePayment } from '../../lambdas/payments/use/create-payment.ts';
import { PaymentWorld, type Seen } from '../payments/payment-story.ts';
import type { Actor, FaultPlan } from '../support/fault-plan.ts';
import { processorOf } from '../support/faulty-ports.ts';
import { clientWithFaults, dynamoDbClient } from '../support/local-aws.ts';
import { payWithStockLayer, type StockTools } from './stock-payment.ts';

export interface StockWorldOptions {
  readonly plan: FaultPlan;
  readonly tables: StoreTables;
  /** Sets `Date`, which Powertools reads directly, to the time of the simulated clock. */
  readonly setDate: (nowMs: number) => void;
  /**
   * Remaining invocation time, in milliseconds.
   * @default the maximum time of the function
   */
  readonly remainingTimeMs?: number;
  readonly processorKey?: StockTools['processorKey'];
}

/** Simulates processes that run the ordinary handler inside the stock DynamoDB layer of Powertools. */
export class StockPowertoolsWorld extends PaymentWorld {
  readonly #options: StockWorldOptions;

  constructor(options: StockWorldOptions) {
    super({ plan: options.plan });
    this.#options = options;
  }

  protected override async handle(actor: Actor, request: CreatePayment, clock: Clock): Promise<Seen> {
    const { tables, setDate, remainingTimeMs = PAYMENTS_TIMEOUT_SECONDS * 1000, processorKey } = this.#options;
    setDate(clock.nowMs());
    return payWithStockLayer(
      {
        client: clientWithFaults(actor),
        tables,
        processor: processorOf(actor, this.processor),
        remainingTimeMs,
        ...(processorKey === undefined ? {} : { processorKey }),
      },
      request,
    );
  }

  protected override async more(): Promise<readonly string[]> {
    return [];
  }

  protected override async postingSets(request: CreatePayment): Promise<number> {
    const output = await DynamoDBDocumentClient.from(dynamoDbClient()).send(
      new QueryCommand({
        TableName: this.#options.tables.ledger,
        KeyConditionExpression: 'pk = :payment',
        ExpressionAttributeValues: { ':payment': `STOCK#${request.paymentId}` },
        ConsistentRead: true,
      }),
    );
    return output.Count ?? 0;
  }
}
