import { SendMessageCommand } from '@aws-sdk/client-sqs';
import type { Queues } from '../../kernel/platform/system-platform.ts';
import type { TargetCalls } from '../use/call-target.ts';

/** The maximum delay of a message (Amazon SQS developer guide, "Delay queues"). Seconds. */
const LONGEST_DELAY_SECONDS = 900;

/** Retries are off: a message that was not sent is not acknowledged. */
const CLIENT = {
  maxAttempts: 1,
  requestHandler: { requestTimeout: 2_000, throwOnRequestTimeout: true, connectionTimeout: 1_000 },
};

/** One message for each call that is made again, or was missed. A send that failed may have been applied: the second message does no harm. */
export function configuredTargetCalls(
  { sqs }: Queues,
  { queueUrl, missedQueueUrl }: { readonly queueUrl: string; readonly missedQueueUrl: string },
): TargetCalls {
  const client = sqs(CLIENT);
  const send = async (QueueUrl: string, body: object, delaySeconds: number): Promise<void> => {
    const DelaySeconds = Math.min(LONGEST_DELAY_SECONDS, Math.ceil(delaySeconds));
    await client.send(new SendMessageCommand({ QueueUrl, MessageBody: JSON.stringify(body), DelaySeconds }));
  };
  return {
    again: (call, delaySeconds) => send(queueUrl, call, delaySeconds),
    missed: (call) => send(missedQueueUrl, call, 0),
  };
}
