import { beforeAll, describe, expect, test } from '@jest/globals';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import type { Clock } from '../../lambdas/kernel/world.ts';
import { DynamoDbEffects } from '../../lambdas/payments/store/dynamodb-effects.ts';
import { DynamoDbStore } from '../../lambdas/payments/store/dynamodb-store.ts';
import { paymentIdFor, paymentRequest } from '../payments/payment-fixtures.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import type { Actor } from '../support/fault-plan.ts';
import { clientOf } from '../support/faulty-client.ts';
import { effectsOf } from '../support/faulty-ports.ts';
import { createTables, dynamoDbClient, localAws } from '../support/local-aws.ts';
import { whole } from '../support/prove.ts';
import { CallbackWorld, surveyCallbacks, takeIn } from './callback-histories.ts';
import { naiveTakeIn } from './naive-callback.ts';

/** Concurrent worlds. They share no items, so they do not interfere. */
const CONCURRENCY = 8;
const STILL: Clock = { nowMs: () => 0, sleep: async () => undefined };

let tables: Awaited<ReturnType<typeof createTables>>;
let histories = 0;
beforeAll(async () => {
  tables = await createTables('callbacks');
});

const storesOn = (client = dynamoDbClient()) => {
  const pacing = { clock: STILL, entropy: countingEntropy() };
  const payments = new DynamoDbStore(documentClient(client), tables, pacing);
  return { payments, effects: new DynamoDbEffects(documentClient(client), tables, pacing, payments) };
};

function worlds(struck: 'port' | 'sdk'): () => CallbackWorld {
  const { payments, effects } = storesOn();
  const effectsFor = (actor: Actor) => {
    if (struck === 'port') return effectsOf(actor, effects);
    const { awsEndpoint: endpoint } = localAws();
    const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
    const { requestHandler } = dynamoDbClient().config;
    return storesOn(clientOf(actor, { endpoint, region: 'us-east-1', credentials, requestHandler })).effects;
  };
  return () => {
    histories += 1;
    const key = `callback-${histories}`;
    const request = paymentRequest(key, { paymentId: paymentIdFor(key), source: 'tok_async' });
    return new CallbackWorld({ payments, effects, effectsFor }, request, `evt_${histories}`);
  };
}

describe('a callback, its redelivery and a rival on the DynamoDB API have one effect', () => {
  test('with every single fault at every call of the SDK and of the processor', async () => {
    const found = await surveyCallbacks(worlds('sdk'), takeIn, { faults: 1, concurrency: CONCURRENCY });
    expect(found.findings.slice(0, 3)).toEqual([]);
    expect(found.histories).toBeGreaterThan(200);
  });

  // Every pair is run on the memory store, with every rival.
  test('with pairs of faults at every two calls', async () => {
    const found = await surveyCallbacks(worlds('port'), takeIn, {
      faults: 2,
      rivals: false,
      concurrency: CONCURRENCY,
      oneOf: whole(1, { slice: 7 }),
    });
    expect(found.findings.slice(0, 3)).toEqual([]);
    expect(found.histories).toBeGreaterThan(whole(300, { slice: 50 }));
  });

  test('a handler that reads and then writes without a condition is detected', async () => {
    const { findings } = await surveyCallbacks(worlds('port'), naiveTakeIn, { faults: 0, concurrency: CONCURRENCY });
    expect(findings.flatMap(({ violations }) => violations)).toContain('I2: 2 sets of postings');
  });
});
