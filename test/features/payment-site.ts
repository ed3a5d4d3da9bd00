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

/** A world on one DynamoDB, and as many processes that serve the API as a scenario needs. */
export class PaymentSite extends World {
  readonly #tables: Tables;
  /** In memory, because scenarios share the tables and each begins at the same time. */
  readonly #limits = limitsIn(emptyTables(), this.clock);

  constructor(tables: Tables) {
    super({ store: storesOn(tables).store });
    this.#tables = tables;
  }

  /** A process that keeps nothing in memory: its state is in DynamoDB. */
  serve(client: DynamoDBClient, changes: Partial<ApiWorldTools> = {}): Api {
    const store = new Stores(this.clock, { client: documentClient(client) }, this.#tables);
    return new Api({ store, limits: this.#limits, replays: this.tools.replays, ...changes }, this);
  }

  /** How many charges the processor was asked for, answered or not. */
  get sends(): number {
    return this.processor.inside.sent.filter(({ kind }) => kind === 'charge').length;
  }

  /** How many charges of a key of the API's own tenant took money, by the processor's list. */
  succeeded(key: string): number {
    return this.processor.charges(apiPaymentId(key)).filter(({ status }) => status === 'succeeded').length;
  }

  /** The state of a payment's record, as the features call it. */
  async recordState(paymentId: PaymentId): Promise<'Completed' | 'Failed' | 'Pending' | 'None'> {
    const record = await this.store.readRecord(chargeOperation(paymentId));
    if (record === undefined) return 'None';
    if (record.status === 'COMPLETED') return 'Completed';
    // Nothing was sent, and the next attempt may claim it at once.
    return record.released ? 'Failed' : 'Pending';
  }
}

/** The payment of a key of the API's own tenant. */
export function apiPaymentId(key: string): PaymentId {
  return paymentIdFor(key, 'ten_desk');
}
