import {
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  type Message,
  ReceiveMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import * as z from 'zod';

export interface Redriven {
  /** Messages that were processed and deleted. */
  readonly done: number;
  /** Messages that remain in the queue. */
  readonly failed: number;
}

/** The message of Lambda about a batch whose tries are over. It contains the position in the Stream, not the records (Lambda, "on-failure destination"). */
const lostBatch = z.object({
  DDBStreamBatchInfo: z.object({
    approximateArrivalOfFirstRecord: z.iso.datetime({ offset: true }),
    approximateArrivalOfLastRecord: z.iso.datetime({ offset: true }),
  }),
});

/**
 * Transitions are found by their writer's clock, but the batch has AWS's times. Clocks differ by at most five minutes; twice
 * that is harmless. Milliseconds.
 */
const MARGIN_MS = 10 * 60_000;

/** The work for a parked message. */
export type ParkedWork =
  /** A record of the Stream: pass it to its function again. */
  | { readonly kind: 'record'; readonly record: unknown }
  /** The time of a batch. The Stream does not have it any more, and the Ledger does. */
  | { readonly kind: 'range'; readonly sinceMs: number; readonly untilMs: number };

/** @throws SyntaxError when the body is not JSON */
export function parkedWork(body: string): ParkedWork {
  const content: unknown = JSON.parse(body);
  const lost = lostBatch.safeParse(content);
  if (!lost.success) return { kind: 'record', record: content };
  const { approximateArrivalOfFirstRecord, approximateArrivalOfLastRecord } = lost.data.DDBStreamBatchInfo;
  return {
    kind: 'range',
    sinceMs: Date.parse(approximateArrivalOfFirstRecord) - MARGIN_MS,
    untilMs: Date.parse(approximateArrivalOfLastRecord) + MARGIN_MS,
  };
}

/** Visibility timeout during the work. Seconds. */
const VISIBILITY_SECONDS = 120;
/** Long polling. A short poll queries only some servers and can miss messages (SQS, "Short and long polling"). Seconds. */
const WAIT_SECONDS = 2;

/**
 * Processes the messages of a queue, each once: a message that is dead-lettered again in the meantime is left for the next run.
 * A message is deleted only after its work is done.
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
        await work(message);
        await client.send(new DeleteMessageCommand({ QueueUrl: queueUrl, ReceiptHandle: message.ReceiptHandle }));
        done += 1;
      } catch (error) {
        report(error);
        failed += 1;
      }
    }
  }
  return { done, failed };
}
