import { expect, test } from '@jest/globals';
import { createJobQueueHandler } from '../../lambdas/jobs/http/job-worker.ts';
import { type JobMessage, jobMessageText } from '../../lambdas/jobs/use/job-message.ts';

const MESSAGE: JobMessage = { jobId: 'resolve', runId: 'resolve:2026-03-01T12:00:00Z', version: 3 };

function harness(
  work: (message: JobMessage, receives: number) => Promise<string> = async () => 'continued',
  park = async () => undefined,
) {
  const parked: string[] = [];
  const lines: string[] = [];
  const faults: unknown[] = [];
  const handler = createJobQueueHandler({
    work,
    parking: {
      park: async ({ body, reason }) => {
        await park();
        parked.push(`${reason} ${body}`);
      },
    },
    telemetry: {
      worked: ({ runId }, result) => void lines.push(`${runId} ${result}`),
      fault: (_id, error) => void faults.push(error),
    },
  });
  const receive = async (...bodies: readonly string[]) => {
    const Records = bodies.map((body, index) => ({
      messageId: `m${index}`,
      body,
      attributes: { ApproximateReceiveCount: '4' },
    }));
    const { batchItemFailures } = await handler({ Records } as Parameters<typeof handler>[0]);
    return batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);
  };
  return { parked, lines, faults, receive };
}

test('a message is processed, and its result is logged in one line', async () => {
  const { receive, lines } = harness(async ({ version }, receives) => `version ${version}, delivery ${receives}`);
  expect(await receive(jobMessageText(MESSAGE))).toEqual([]);
  expect(lines).toEqual([`${MESSAGE.runId} version 3, delivery 4`]);
});

test('only a failed message is redelivered', async () => {
  let time = 0;
  const { receive, faults } = harness(async () => {
    time += 1;
    if (time === 1) throw new Error('this worker has no job "resolve"');
    return 'succeeded';
  });
  expect(await receive(jobMessageText(MESSAGE), jobMessageText(MESSAGE))).toEqual(['m0']);
  expect(faults).toHaveLength(1);
});

test.each([
  '',
  '{',
  '[]',
  '{}',
  '{"jobId":"resolve"}',
  '{"jobId":"resolve","runId":"resolve","version":1}',
  '{"jobId":"resolve","runId":"resolve:x"}',
])('a message that is not a valid job message is parked as malformed: %s', async (body) => {
  const { receive, parked, lines } = harness();
  expect(await receive(body)).toEqual([]);
  expect(parked).toEqual([`malformed ${body}`]);
  expect(lines).toEqual([]);
});

test('a message that cannot be parked is redelivered', async () => {
  const { receive } = harness(undefined, async () => {
    throw new Error('the queue is unavailable');
  });
  expect(await receive('{}')).toEqual(['m0']);
});
