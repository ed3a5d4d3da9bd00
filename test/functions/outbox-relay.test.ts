import type { PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { marshall } from '@aws-sdk/util-dynamodb';
import { beforeAll, expect, test } from '@jest/globals';
import type { wire as Wire } from '../../lambdas/functions/outbox-relay.ts';
import { Environment } from '../../lambdas/kernel/contract/environment.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { transitionRow } from '../../lambdas/payments/store/items.ts';
import { chains } from '../events/relay-harness.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { Stores } from '../world/stores.ts';
import { TABLES } from '../world/tables.ts';

const VARIABLES = {
  [Environment.ledgerTable]: TABLES.ledger,
  [Environment.registryTable]: TABLES.registry,
  [Environment.eventBus]: 'payonce',
  [Environment.parkingQueueUrl]: 'https://sqs.invalid/parked',
};

let wire: typeof Wire;
beforeAll(async () => {
  // The module creates its handler when it is imported.
  Object.assign(process.env, { AWS_REGION: 'eu-west-1', ...VARIABLES });
  ({ wire } = await import('../../lambdas/functions/outbox-relay.ts'));
});

test('the relay reports the first record that the bus did not accept, so that the Stream redelivers from there', async () => {
  const clock = new SimulatedClock();
  const stores = new Stores(clock);
  const transitions = chains(1);
  await stores.write(transitions);
  let isAway = true;
  const put: number[] = [];
  const platform = {
    clock,
    entropy: countingEntropy(),
    digest: systemDigest,
    documents: stores.database.client,
    variables: VARIABLES,
    instruments: {
      logger: () => ({ info: () => {}, warn: () => {}, error: () => {} }),
      metrics: () => ({ addMetric: () => {}, publishStoredMetrics: () => {} }),
    },
    sqs: () => ({ send: () => Promise.reject(new Error('unexpected parking')) }),
    eventBridge: () => ({
      send: async ({ input }: PutEventsCommand) => {
        const { Entries = [] } = input;
        if (isAway) return { Entries: Entries.map(() => ({ ErrorCode: 'InternalFailure' })) };
        put.push(Entries.length);
        return { Entries: Entries.map(() => ({ EventId: 'e' })) };
      },
    }),
  };
  const relay = wire(platform as never, idempotentRunner);
  const Records = transitions.map((transition, index) => {
    const NewImage = marshall(transitionRow(transition), { convertClassInstanceToMap: false });
    return { eventName: 'INSERT', dynamodb: { SequenceNumber: String(index), NewImage } };
  });
  expect(await relay({ Records })).toEqual({ batchItemFailures: [{ itemIdentifier: '1' }] });
  isAway = false;
  expect(await relay({ Records })).toEqual({ batchItemFailures: [] });
  expect(put).toEqual([1]);
});
