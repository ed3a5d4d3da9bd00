import { SendMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { RetryableError, TerminalError } from '../../kernel/faults.ts';
import { delayOf } from '../../kernel/platform/sqs.ts';
import type { Queues } from '../../kernel/platform/system-platform.ts';
import { type JobWorkerName, jobEntry } from '../contract/jobs.ts';
import { jobMessageText } from '../use/job-message.ts';
import type { JobTasks } from '../use/job-runs.ts';

/**
 * If a send fails, the message may still have been delivered; a duplicate has no effect once the run has continued.
 *
 * @param queueUrls the queues that this function may write to
 */
export function sqsJobTasks(client: SQSClient, queueUrls: Partial<Record<JobWorkerName, string>>): JobTasks {
  return {
    enqueue: async (run, delaySeconds) => {
      const { jobId } = run;
      const worker = jobEntry(jobId)?.worker;
      const queueUrl = worker === undefined ? undefined : queueUrls[worker];
      if (queueUrl === undefined) throw new TerminalError('job_has_no_queue', `there is no queue for the job ${jobId}`);
      try {
        await client.send(
          new SendMessageCommand({
            QueueUrl: queueUrl,
            MessageBody: jobMessageText(run),
            DelaySeconds: delayOf(delaySeconds),
          }),
        );
      } catch (cause) {
        throw new RetryableError('job_queue_unavailable', 'the queue of the job is unavailable', { cause });
      }
    },
  };
}

export function configuredJobTasks({ sqs }: Queues, queueUrls: Partial<Record<JobWorkerName, string>>): JobTasks {
  return sqsJobTasks(sqs(), queueUrls);
}
