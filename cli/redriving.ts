import {
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  type Message,
  ReceiveMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import * as z from 'zod';

export interface Redriven {
  /** Went on. */
  readonly done: number;
  /** Stay where they are, to be looked at again. */
  readonly failed: number;
}

/** What a batch of a Stream left behind that killed the relay: where it was, and not what it was (Lambda, "on-failure destination"). */
const lostBatch = z.object({
  DDBStreamBatchInfo: z.object({
    approximateArrivalOfFirstRecord: z.iso.datetime({ offset: true }),
    approximateArrivalOfLastRecord: z.iso.datetime({ offset: true }),
  }),
});

/**
 * A transition is found by the time of its writer, and an arrival is told by AWS's: clocks differ by up to five minutes, and
 * twice that is harmless. Milliseconds.
 */
const MARGIN_MS = 10 * 60_000;

/** What to do with a parked message. */
export type ParkedWork =
  /** Give the record to the relay once more. */
  | { readonly kind: 'relay'; readonly record: unknown }
  /** Publish what the Ledger has of that time. */
  | { readonly kind: 'republish'; readonly sinceMs: number; readonly untilMs: number };

/** @throws SyntaxError when it is no JSON */
export function parkedWork(body: string): ParkedWork {
  const content: unknown = JSON.parse(body);
  const lost = lostBatch.safeParse(content);
  if (!lost.success) return { kind: 'relay', record: content };
  const { approximateArrivalOfFirstRecord, approximateArrivalOfLastRecord } = lost.data.DDBStreamBatchInfo;
  return {
    kind: 'republish',
    sinceMs: Date.parse(approximateArrivalOfFirstRecord) - MARGIN_MS,
    untilMs: Date.parse(approximateArrivalOfLastRecord) + MARGIN_MS,
  };
}

/** Out of sight for others while it is worked on. Seconds. */
const VISIBILITY_SECONDS = 120;
/** Who does not wait is told of what some servers have, and perhaps of nothing (SQS, "Short and long polling"). Seconds. */
const WAIT_SECONDS = 2;

/**
 * Works on what waits in a queue now, each message once: a message that is dead-lettered again meanwhile is left for the next run. A
 * message goes only when its work is done.
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
