import { expect, test } from '@jest/globals';
import type { SQSEvent } from 'aws-lambda';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { eventHandler } from '../../lambdas/services/http/event-deliveries.ts';
import { consumeInTable } from '../../lambdas/services/use/consume-event.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';

const DAY_MS = 24 * 60 * 60_000;

test('a service’s consumer without a business key refuses an event that is older than the retention of its record', async () => {
  const clock = new SimulatedClock();
  const written: string[] = [];
  const tools = {
    records: {
      readEffect: async () => undefined,
      recordEffect: async ({ operationId }: { readonly operationId: string }) => {
        written.push(operationId.slice(0, 4));
        return 'recorded' as const;
      },
    },
    runner: idempotentRunner,
    clock,
    entropy: countingEntropy(),
    digest: systemDigest,
  };
  const event = { id: 'evt_1', type: 'order.completed', data: { object: { id: 'o1' } } };
  const detail = { tenant: 't', mode: 'test', occurredAtMs: clock.nowMs(), event };
  const batch = { Records: [{ messageId: 'm1', body: JSON.stringify({ detail }) }] } as SQSEvent;
  const failed = async (key?: () => string) => {
    const consumer = { handler: 'points', handle: async () => [], ...(key === undefined ? {} : { key }) };
    return (await eventHandler((each) => consumeInTable(tools, consumer, each))(batch)).batchItemFailures.length;
  };
  clock.advance(28 * DAY_MS);
  expect(await failed()).toBe(0);
  clock.advance(2 * DAY_MS);
  expect(await failed()).toBe(1);
  expect(await failed(() => 'o1')).toBe(0);
  expect(written).toHaveLength(2);
});
