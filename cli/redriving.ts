import {
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  type Message,
  ReceiveMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import { CliFailure } from './failure.ts';

export interface Redriven {
  readonly done: number;
  /** Failed messages remain in the queue, or were parked again as new messages. */
  readonly failed: number;
}

/** Thrown when the processing of a message failed, and its work was parked again as a new message. */
export class ParkedAgain extends CliFailure {}

const VISIBILITY_SECONDS = 120;
/** A short poll queries only some servers and can miss messages (SQS, "Short and long polling"). */
const WAIT_SECONDS = 2;

/**
 * A message that is dead-lettered again during the run remains for the next run. A message is deleted only after its
 * work has completed or has been parked again.
 */
export async function redrive(
  client: SQSClient,
  queueUrl: string,
  work: (message: Message) => Promise<void>,
  report: (error: unknown) => void,
): Promise<Redriven> {
  const { Attributes } = await client.send(
    new GetQueueAttributesCommand({ QueueUrl: queueUrl, AttributeNames: ['ApproximateNumberOfMessages'] }),
  );
  const waiting = Number(Attributes?.['ApproximateNumberOfMessages'] ?? 0);
  let done = 0;
  let failed = 0;
  while (done + failed < waiting) {
    const { Messages = [] } = await client.send(
      new ReceiveMessageCommand({
        QueueUrl: queueUrl,
        MaxNumberOfMessages: Math.min(10, waiting - done - failed),
        VisibilityTimeout: VISIBILITY_SECONDS,
        WaitTimeSeconds: WAIT_SECONDS,
        MessageAttributeNames: ['All'],
      }),
    );
    if (Messages.length === 0) break;
    for (const message of Messages) {
      try {
        const again = await parkedAgain(work(message));
        await client.send(new DeleteMessageCommand({ QueueUrl: queueUrl, ReceiptHandle: message.ReceiptHandle }));
        if (again !== undefined) throw again;
        done += 1;
      } catch (error) {
        report(error);
        failed += 1;
      }
    }
  }
  return { done, failed };
}

async function parkedAgain(working: Promise<void>): Promise<ParkedAgain | undefined> {
  try {
    await working;
    return undefined;
  } catch (error) {
    if (error instanceof ParkedAgain) return error;
    throw error;
  }
}
