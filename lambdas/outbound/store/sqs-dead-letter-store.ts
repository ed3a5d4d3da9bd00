import {
  ChangeMessageVisibilityCommand,
  DeleteMessageCommand,
  type Message,
  ReceiveMessageCommand,
  SendMessageCommand,
  type SQSClient,
  SQSServiceException,
} from '@aws-sdk/client-sqs';
import * as z from 'zod';
import { defined } from '../../kernel/defined.ts';
import { RetryableError, TerminalError } from '../../kernel/faults.ts';
import { isAfterAttempt } from '../../kernel/platform/sdk-errors.ts';
import type { Queues } from '../../kernel/platform/system-platform.ts';
import { VENDOR_WAITS } from '../call-with-retries.ts';
import type { DeadLetter, DeadLetterQueueName, DeadLetterStore, TakenDeadLetter } from '../use/dead-letters.ts';

/** Must exceed the duration of a redrive, so that two redrives do not receive the same message. */
const HIDDEN_SECONDS = 6 * 60;
/** Long polling queries all servers of the queue (Amazon SQS, "Short and long polling"). */
const LONG_POLL_SECONDS = 1;
/** Maximum number of messages per receive in SQS. */
const MAX_AT_ONCE = 10;

const message = z.object({
  version: z.literal(1),
  deadLetter: z.object({
    vendor: z.string(),
    operation: z.string(),
    about: z.string().exactOptional(),
    payload: z.record(z.string(), z.unknown()),
    attempts: z.int(),
    reason: z.string(),
    mayBeApplied: z.boolean(),
  }),
});

/** Only the SDK retries failed calls; this store adds no retries. Putting or deleting a message twice is harmless. */
export function deadLetterClient({ sqs }: Queues): SQSClient {
  return sqs({
    maxAttempts: 3,
    requestHandler: { requestTimeout: 3_000, throwOnRequestTimeout: true, connectionTimeout: 1_000 },
  });
}

export class SqsDeadLetterStore implements DeadLetterStore {
  readonly #client: SQSClient;
  readonly #queueUrl: string;
  readonly #delayedQueueUrl: string;

  constructor(client: SQSClient, queueUrl: string, delayedQueueUrl: string) {
    this.#client = client;
    this.#queueUrl = queueUrl;
    this.#delayedQueueUrl = delayedQueueUrl;
  }

  /**
   * @throws RetryableError `dead_letters_unavailable` if the request to SQS failed
   * @throws TerminalError `dead_letter_invalid` if the SDK could not send the request, for example without credentials
   */
  async put(deadLetter: DeadLetter, queue: DeadLetterQueueName = 'dead'): Promise<void> {
    const sent = { MessageBody: JSON.stringify({ version: 1, deadLetter }) };
    const delayed = { QueueUrl: this.#delayedQueueUrl, DelaySeconds: VENDOR_WAITS.delayedSeconds };
    const to = queue === 'delayed' ? delayed : { QueueUrl: this.#queueUrl };
    await answered(this.#client.send(new SendMessageCommand({ ...sent, ...to })));
  }

  /** @throws as `put` */
  async take(atMost: number): Promise<readonly TakenDeadLetter[]> {
    const { Messages = [] } = await answered(
      this.#client.send(
        new ReceiveMessageCommand({
          QueueUrl: this.#queueUrl,
          MaxNumberOfMessages: Math.min(atMost, MAX_AT_ONCE),
          VisibilityTimeout: HIDDEN_SECONDS,
          WaitTimeSeconds: LONG_POLL_SECONDS,
          MessageSystemAttributeNames: ['SentTimestamp'],
        }),
      ),
    );
    return Messages.map(takenDeadLetter);
  }

  /** @throws as `put` */
  async release({ receipt }: TakenDeadLetter): Promise<void> {
    await doneUnlessGone(
      this.#client.send(
        new ChangeMessageVisibilityCommand({
          QueueUrl: this.#queueUrl,
          ReceiptHandle: receipt,
          VisibilityTimeout: 0,
        }),
      ),
    );
  }

  /** @throws as `put` */
  async remove({ receipt }: TakenDeadLetter): Promise<void> {
    await doneUnlessGone(
      this.#client.send(new DeleteMessageCommand({ QueueUrl: this.#queueUrl, ReceiptHandle: receipt })),
    );
  }
}

/** SQS errors for a receipt that is no longer valid: the message was removed, or another process has taken it. */
const GONE: ReadonlySet<string> = new Set(['ReceiptHandleIsInvalid', 'MessageNotInflight']);

async function answered<T>(sent: Promise<T>): Promise<T> {
  try {
    return await sent;
  } catch (cause) {
    if (!isAfterAttempt(cause))
      throw new TerminalError('dead_letter_invalid', 'A request to the dead-letter queue could not be sent.', {
        cause,
      });
    throw new RetryableError('dead_letters_unavailable', 'The dead-letter queue is unavailable.', { cause });
  }
}

async function doneUnlessGone(sent: Promise<unknown>): Promise<void> {
  try {
    await answered(sent);
  } catch (error) {
    const cause = error instanceof RetryableError ? error.cause : undefined;
    if (!(cause instanceof SQSServiceException && GONE.has(cause.name))) throw error;
  }
}

function takenDeadLetter({ MessageId = '', ReceiptHandle = '', Body = '', Attributes }: Message): TakenDeadLetter {
  const deadLetter = readDeadLetter(Body);
  return {
    id: MessageId,
    receipt: ReceiptHandle,
    keptSinceMs: Number(Attributes?.SentTimestamp ?? 0),
    ...defined({ deadLetter }),
  };
}

export function readDeadLetter(body: string): DeadLetter | undefined {
  try {
    return message.safeParse(JSON.parse(body)).data?.deadLetter;
  } catch {
    return undefined;
  }
}
