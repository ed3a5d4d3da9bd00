import type { Context, SQSRecord } from 'aws-lambda';
import { CONSUMER_ATTEMPTS, FAILURES_ATTRIBUTE } from '../../kernel/contract/events.ts';
import { AmbiguousError, codeOf, RetryableError } from '../../kernel/faults.ts';
import type { MessageParking } from '../use/ledger-stream.ts';

export type FailedMessageState =
  /** In the queue, unchanged: the message waits for the end of an outage, or could not be moved. */
  | 'waits'
  /** In the queue as a new message, with an attribute that counts the failures. */
  | 'requeued'
  | 'parked';

export type RemainingTime = Pick<Context, 'getRemainingTimeInMillis'>;

/** From this delivery on (counted from 1), a message is suspected to have crashed its process in earlier deliveries. */
const SUSPECT_RECEIVES = 3;

/**
 * Counts a failure, and parks the message after `CONSUMER_ATTEMPTS` failures. The count is an attribute of the message,
 * because the receive count of SQS also includes deliveries to a throttled function. A temporary error, such as an
 * outage, is not counted.
 *
 *   received ── failed 1 ── sent again ✓ ── acknowledged         one message
 *   received ── failed 1 ── sent again ✓ ── crashed              two messages, and consumers recognize the event
 *
 * @param error the error of this attempt
 * @param before the number of earlier failures
 */
export async function afterFailure(
  parking: Pick<MessageParking, 'requeue' | 'park'>,
  record: SQSRecord,
  error: unknown,
  before = failuresOf(record),
): Promise<FailedMessageState> {
  if (error instanceof RetryableError || error instanceof AmbiguousError) return 'waits';
  const failures = before + 1;
  const [state, moved] =
    failures < CONSUMER_ATTEMPTS
      ? (['requeued', parking.requeue(record, failures)] as const)
      : (['parked', parking.park({ body: record.body, reason: 'failed', detail: codeOf(error) })] as const);
  return moved.then(
    () => state,
    () => 'waits',
  );
}

export function failuresOf({ messageAttributes }: SQSRecord): number {
  return Number(messageAttributes[FAILURES_ATTRIBUTE]?.stringValue ?? 0);
}

/**
 * Handles the messages of a batch concurrently. Each message is acknowledged before the next begins, so that a message
 * that crashes the process does not send the others to the dead-letter queue. A message that must wait does not block
 * the others. If the function could time out before the next message is done, the remaining messages wait, because a
 * timeout would look like a message that crashes its process.
 *
 *   a ── done ── acknowledged ── b crashes the process       c, b ── c ── done ── acknowledged ── b crashes the process
 *
 * @param staysInQueue whether the message must be redelivered after this result
 * @param notHandled the result for messages that were not handled
 * @param neededMs maximum processing time of one message, in milliseconds
 * @param context Lambda's context @default the function has time for all messages
 */
export async function eachMessage<Result>(
  records: readonly SQSRecord[],
  {
    handle,
    staysInQueue,
    notHandled,
    neededMs,
    context,
    parking,
  }: {
    readonly handle: (record: SQSRecord) => Promise<Result>;
    readonly staysInQueue: (result: Result) => boolean;
    readonly notHandled: Result;
    readonly neededMs: number;
    readonly context: RemainingTime | undefined;
    readonly parking: Pick<MessageParking, 'acknowledge'>;
  },
): Promise<readonly { readonly messageId: string; readonly result: Result }[]> {
  const receives = records.map(({ attributes }) => Number(attributes.ApproximateReceiveCount));
  const most = Math.max(0, ...receives);
  if (most < SUSPECT_RECEIVES)
    return Promise.all(records.map(async (record) => ({ messageId: record.messageId, result: await handle(record) })));
  const first = most % records.length;
  const settled: { readonly messageId: string; readonly result: Result }[] = [];
  for (const record of [...records.slice(first), ...records.slice(0, first)]) {
    const hasTime = settled.length === 0 || context === undefined || context.getRemainingTimeInMillis() >= neededMs;
    const result = hasTime ? await handle(record) : notHandled;
    settled.push({ messageId: record.messageId, result });
    // If this early acknowledgement fails, Lambda acknowledges the message when the execution ends.
    if (!staysInQueue(result) && records.length > 1) await parking.acknowledge(record).catch(() => undefined);
  }
  return settled;
}
