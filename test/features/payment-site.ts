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

/** All API processes use one DynamoDB. */
export class PaymentSite extends World {
  readonly #tables: Tables;
  /** Scenarios share the tables and all start at the same time, so the limits are in memory. */
  readonly #limits = limitsIn(emptyTables(), this.clock);

  constructor(tables: Tables) {
    super({ store: storesOn(tables).store });
    this.#tables = tables;
  }

  serve(client: DynamoDBClient, changes: Partial<ApiWorldTools> = {}): Api {
    const store = new Stores(this.clock, { client: documentClient(client) }, this.#tables);
    return new Api({ store, limits: this.#limits, replays: this.tools.replays, ...changes }, this);
  }

  /** Counts requests with and without a response. */
  get sends(): number {
    return this.processor.inside.sent.filter(({ kind }) => kind === 'charge').length;
  }

  succeeded(key: string): number {
    return this.processor.charges(apiPaymentId(key)).filter(({ status }) => status === 'succeeded').length;
  }

  /** Uses the words of the features. */
  async recordState(paymentId: PaymentId): Promise<'Completed' | 'Failed' | 'Pending' | 'None'> {
    const record = await this.store.readRecord(chargeOperation(paymentId));
    if (record === undefined) return 'None';
    if (record.status === 'COMPLETED') return 'Completed';
    // A released record means that nothing was sent.
    return record.released ? 'Failed' : 'Pending';
  }
}

export function apiPaymentId(key: string): PaymentId {
  return paymentIdFor(key, 'ten_desk');
}
