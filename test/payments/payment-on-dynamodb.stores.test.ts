import { beforeAll, describe, expect, test } from '@jest/globals';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import type { Clock } from '../../lambdas/kernel/world.ts';
import { DynamoDbStore } from '../../lambdas/payments/store/dynamodb-store.ts';
import type { PaymentStore } from '../../lambdas/payments/use/payment-store.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import type { Actor, FaultPlan } from '../support/fault-plan.ts';
import { clientOf } from '../support/faulty-client.ts';
import { storeOf } from '../support/faulty-ports.ts';
import { type MakeWorld, survey } from '../support/histories.ts';
import { createTables, dynamoDbClient, localAws } from '../support/local-aws.ts';
import { whole } from '../support/prove.ts';
import { paymentIdFor, paymentRequest } from './payment-fixtures.ts';
import { PaymentWorld } from './payment-world.ts';

/** Concurrent worlds. They share no item. */
const CONCURRENCY = 8;

let tables: Awaited<ReturnType<typeof createTables>>;
let histories = 0;
beforeAll(async () => {
  tables = await createTables('interleavings');
});

const SIMULATED_START: Clock = { nowMs: () => 0, sleep: async () => undefined };

/** A history of its own payment on the shared tables. */
function worldOn(storeFor: (actor: Actor, truth: PaymentStore, clock: Clock) => PaymentStore): MakeWorld {
  const truth = new DynamoDbStore(documentClient(dynamoDbClient()), tables, {
    clock: SIMULATED_START,
    entropy: countingEntropy(),
  });
  return (plan: FaultPlan) => {
    histories += 1;
    const key = `history-${histories}`;
    const world: PaymentWorld = new PaymentWorld({
      plan,
      truth,
      storeFor: (actor) => storeFor(actor, truth, world.clock),
    });
    return { world, request: paymentRequest(key, { paymentId: paymentIdFor(key) }) };
  };
}

describe('a payment, its retry and a rival on the DynamoDB API keep every guarantee', () => {
  test('with every single fault at every call of the SDK', async () => {
    const { awsEndpoint: endpoint } = localAws();
    const shared = dynamoDbClient().config.requestHandler;
    const make = worldOn((actor, _truth, clock) => {
      const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
      const client = clientOf(actor, { endpoint, region: 'us-east-1', credentials, requestHandler: shared });
      return new DynamoDbStore(documentClient(client), tables, { clock, entropy: countingEntropy() });
    });
    const found = await survey(make, { faults: 1, concurrency: CONCURRENCY });
    expect(found.findings.slice(0, 3)).toEqual([]);
    expect(found.histories).toBeGreaterThan(150);
  });

  // Every pair with every rival is run on the memory store, which the same suite proves.
  test('with pairs of faults at every two calls of the store and the processor, alone and with a takeover', async () => {
    const make = worldOn((actor, truth) => storeOf(actor, truth));
    const races = [{}, { rivalAt: 2, leaseEnded: true }, { rivalAt: 3, leaseEnded: true }];
    const found = await survey(make, { faults: 2, races, concurrency: CONCURRENCY, oneOf: whole(1, { slice: 7 }) });
    expect(found.findings.slice(0, 3)).toEqual([]);
    expect(found.histories).toBeGreaterThan(whole(1_500, { slice: 250 }));
  });
});
