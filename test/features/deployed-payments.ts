import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { chargeOperation, type PaymentId } from '../../lambdas/kernel/ids.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import type { Clock } from '../../lambdas/kernel/world.ts';
import type { StoreTables } from '../../lambdas/once/store/transact-items.ts';
import type { ReplayCache } from '../../lambdas/once/use/operation-runner.ts';
import { DynamoDbStore } from '../../lambdas/payments/store/dynamodb-store.ts';
import { paymentIdFor } from '../payments/payment-fixtures.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { dynamoDbClient } from '../support/local-aws.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { Api, type ApiWorldTools } from '../world/api.ts';
import { createSandboxInProcess, type SandboxInProcess } from '../world/sandbox-in-process.ts';

const NO_CACHE: ReplayCache = { get: () => undefined, put: () => undefined };

/** One DynamoDB, one processor, one clock; as many processes that serve the API as a scenario needs. */
export class DeployedPayments {
  readonly clock = new SimulatedClock();
  readonly processor: SandboxInProcess;
  /** Every charge that the processor was asked for, answered or not. */
  sends = 0;
  readonly #entropy = countingEntropy();
  readonly #tables: StoreTables;

  constructor(tables: StoreTables) {
    this.#tables = tables;
    const processor = createSandboxInProcess({ clock: this.clock });
    this.processor = {
      ...processor,
      charge: async (order, limit) => {
        this.sends += 1;
        return processor.charge(order, limit);
      },
    };
  }

  store(client: DynamoDBClient, clock: Clock = this.clock): DynamoDbStore {
    return new DynamoDbStore(documentClient(client), this.#tables, { clock, entropy: this.#entropy });
  }

  /** A process that remembers nothing: all that it knows is in DynamoDB. */
  process(client: DynamoDBClient, changes: Partial<ApiWorldTools> = {}): Api {
    return new Api({
      store: this.store(client),
      processor: this.processor,
      clock: this.clock,
      entropy: this.#entropy,
      replays: NO_CACHE,
      ...changes,
    });
  }

  /** Money taken for the payment that a key of the harness's own tenant makes, by the processor's list. */
  charges(key: string): number {
    return this.processor.charges(deskPaymentId(key)).filter(({ status }) => status === 'succeeded').length;
  }

  /** The state of a key's record, as the features call it. */
  async recordState(key: string): Promise<'Completed' | 'Failed' | 'Pending' | 'None'> {
    const record = await this.store(dynamoDbClient()).readRecord(chargeOperation(deskPaymentId(key)));
    if (record === undefined) return 'None';
    if (record.status === 'COMPLETED') return 'Completed';
    // Nothing was sent, and the next attempt may come in at once.
    return record.released ? 'Failed' : 'Pending';
  }
}

/** The payment that a key of the harness's own tenant makes. */
export function deskPaymentId(key: string): PaymentId {
  return paymentIdFor(key, 'ten_desk');
}
