import { SQSClient } from '@aws-sdk/client-sqs';
import { expect, test } from '@jest/globals';
import { runIdOf } from '../../lambdas/jobs/domain/job-run.ts';
import { sqsJobTasks } from '../../lambdas/jobs/store/sqs-job-tasks.ts';
import { parseJobMessage } from '../../lambdas/jobs/use/job-message.ts';

const QUEUES = { payments: 'https://sqs.test/payments', upkeep: 'https://sqs.test/upkeep' };

function client(fail = false): { readonly sqs: SQSClient; readonly sent: Record<string, unknown>[] } {
  const sent: Record<string, unknown>[] = [];
  const sqs = new SQSClient({ region: 'us-east-1', credentials: { accessKeyId: 'a', secretAccessKey: 'b' } });
  sqs.middlewareStack.add(
    () => async (args) => {
      if (fail) throw new Error('no response');
      sent.push({ ...args.input });
      return { output: { $metadata: {} }, response: {} };
    },
    { step: 'initialize', priority: 'high' },
  );
  return { sqs, sent };
}

test('a run is sent to the queue of the worker for its job, and is received unchanged', async () => {
  const { sqs, sent } = client();
  const tasks = sqsJobTasks(sqs, QUEUES);
  const run = (jobId: string) => ({ jobId, runId: runIdOf(jobId, Date.UTC(2026, 2, 1, 12)), version: 7 });
  await tasks.enqueue(run('resolve'), 20);
  await tasks.enqueue(run('close-days'), 5_000);
  expect(sent.map(({ QueueUrl, DelaySeconds }) => [QueueUrl, DelaySeconds])).toEqual([
    [QUEUES.payments, 20],
    [QUEUES.upkeep, 900],
  ]);
  expect(sent.map(({ MessageBody }) => parseJobMessage(String(MessageBody)))).toEqual([
    run('resolve'),
    run('close-days'),
  ]);
});

test('a queue that does not respond causes a retryable error', async () => {
  const tasks = sqsJobTasks(client(true).sqs, QUEUES);
  await expect(tasks.enqueue({ jobId: 'resolve', runId: 'resolve:x', version: 1 }, 0)).rejects.toMatchObject({
    name: 'RetryableError',
    code: 'job_queue_unavailable',
  });
});

test.each([
  ['no contract declares', 'nonsense', QUEUES],
  ['only another function’s worker runs', 'close-days', { payments: QUEUES.payments }],
])('a job that %s has no queue', async (_what, jobId, queues) => {
  const { sqs, sent } = client();
  const enqueued = sqsJobTasks(sqs, queues).enqueue({ jobId, runId: `${jobId}:x`, version: 1 }, 0);
  await expect(enqueued).rejects.toMatchObject({ name: 'TerminalError', code: 'job_has_no_queue' });
  expect(sent).toEqual([]);
});
