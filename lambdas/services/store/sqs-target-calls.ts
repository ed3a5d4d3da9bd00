import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { delayOf } from '../../kernel/platform/sqs.ts';
import type { Queues } from '../../kernel/platform/system-platform.ts';
import type { TargetCalls } from '../use/call-target.ts';

/** A failed send may nevertheless have enqueued the message; a second message is harmless. */
export function configuredTargetCalls(
  { sqs }: Queues,
  { queueUrl, missedQueueUrl }: { readonly queueUrl: string; readonly missedQueueUrl: string },
): TargetCalls {
  const client = sqs();
  const send = async (QueueUrl: string, body: object, delaySeconds: number): Promise<void> => {
    const DelaySeconds = delayOf(delaySeconds);
    await client.send(new SendMessageCommand({ QueueUrl, MessageBody: JSON.stringify(body), DelaySeconds }));
  };
  return {
    again: (call, delaySeconds) => send(queueUrl, call, delaySeconds),
    missed: (call) => send(missedQueueUrl, call, 0),
  };
}
