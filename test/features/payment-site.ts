import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { PaymentId } from '../../lambdas/kernel/ids.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { chargeOperation } from '../../lambdas/payments/ids.ts';
import { paymentIdFor } from '../payments/payment-fixtures.ts';
import { type createTables, storesOn } from '../support/local-aws.ts';
import { Api, type ApiWorldTools, limitsIn } from '../world/api.ts';
import { emptyTables, Stores } from '../world/stores.ts';
import { World } from '../world/world.ts';

type Tables = Awaited<ReturnType<typeof createTables>>;

/** A simulated system on one DynamoDB, with as many API processes as a scenario needs. */
export class PaymentSite extends World {
  readonly #tables: Tables;
  /** Request limits, held in memory because scenarios share the tables and all start at the same time. */
  readonly #limits = limitsIn(emptyTables(), this.clock);

  constructor(tables: Tables) {
    super({ store: storesOn(tables).store });
    this.#tables = tables;
  }

  /** Starts an API process that stores its payments only in DynamoDB. */
  serve(client: DynamoDBClient, changes: Partial<ApiWorldTools> = {}): Api {
    const store = new Stores(this.clock, { client: documentClient(client) }, this.#tables);
    return new Api({ store, limits: this.#limits, replays: this.tools.replays, ...changes }, this);
  }

  /** Number of charge requests to the processor, with or without a response. */
  get sends(): number {
    return this.processor.inside.sent.filter(({ kind }) => kind === 'charge').length;
  }

  /**
   * Returns the number of succeeded charges for the payment that the test tenant requested with this idempotency key.
   */
  succeeded(key: string): number {
    return this.processor.charges(apiPaymentId(key)).filter(({ status }) => status === 'succeeded').length;
  }

  /** Returns the state of a payment's record, in the words of the features. */
  async recordState(paymentId: PaymentId): Promise<'Completed' | 'Failed' | 'Pending' | 'None'> {
    const record = await this.store.readRecord(chargeOperation(paymentId));
    if (record === undefined) return 'None';
    if (record.status === 'COMPLETED') return 'Completed';
    // A released record means that nothing was sent. The next attempt may claim it immediately.
    return record.released ? 'Failed' : 'Pending';
  }
}

/** Returns the id of the payment that the test tenant requests with this idempotency key. */
export function apiPaymentId(key: string): PaymentId {
  return paymentIdFor(key, 'ten_desk');
}
