import { InvokeCommand } from '@aws-sdk/client-lambda';
import {
  ChangeMessageVisibilityCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  type Message,
  ReceiveMessageCommand,
  SendMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import * as z from 'zod';
import type { RedriveRequest } from '../../events/contract.ts';
import { firstParked, parsedJson } from '../../events/store/failed-redrive.ts';
import { defined } from '../../kernel/defined.ts';
import { RetryableError } from '../../kernel/faults.ts';
import type { Functions } from '../../kernel/platform/system-platform.ts';
import type { Clock } from '../../kernel/world.ts';
import { ORDER_ID } from '../../orders/ids.ts';
import { PAYMENT_ID } from '../../payments/ids.ts';
import { DEAD_LETTERS_END, type MessageQueueNames, REDRIVE_TARGETS, TASKS_END } from '../contract.ts';
import type { DeployedQueues, HeldMessage, MessageEntry, MessageQueues, RedriveRange } from '../use/queue-lists.ts';

/**
 * Visibility timeout of a message that is only listed, in seconds. Longer than a listing takes, so that no message is
 * listed twice, but short enough that an operator can wait for it to end.
 */
const HIDDEN_SECONDS = 15;
/** Long polling queries all servers of the queue (Amazon SQS, "Short and long polling"). */
const LONG_POLL_SECONDS = 1;
/** Visibility timeout of a message that is being moved or deleted. */
const MOVED_WITHIN_SECONDS = 30;
/** The limit of SQS per receive. */
const MAX_AT_ONCE = 10;
/** Per listing. A receive from an empty queue takes a second. */
const MAX_RECEIVES = 15;
/** Number of consecutive empty receives after which a redrive, a dismissal or a search ends. */
const EMPTY_RECEIVES = 3;

const COUNTS = [
  'ApproximateNumberOfMessages',
  'ApproximateNumberOfMessagesDelayed',
  'ApproximateNumberOfMessagesNotVisible',
] as const;

const names = z.record(z.string(), z.string().min(1));

export const messageQueueNames = z.object({
  at: z.string().min(1),
  tasks: z.record(z.string(), z.tuple([z.string().min(1), z.string().min(1)])),
  received: names,
  kept: names,
  functions: names,
}) satisfies z.ZodType<MessageQueueNames>;

const DEAD_LETTERS = new RegExp(`${DEAD_LETTERS_END}$`);

export function deployedQueues({ at, tasks, functions, ...others }: MessageQueueNames): DeployedQueues {
  const pairs = Object.entries(tasks);
  const received = {
    ...others.received,
    ...Object.fromEntries(pairs.map(([id, [name]]) => [`${id}${TASKS_END}`, name])),
  };
  const kept = {
    ...others.kept,
    ...Object.fromEntries(pairs.map(([id, [, name]]) => [`${id}${DEAD_LETTERS_END}`, name])),
  };
  const base = at.slice(0, at.lastIndexOf('/') + 1);
  const queues = (of: Readonly<Record<string, string>>, isKept: boolean) =>
    Object.entries(of).map(([id, name]) => {
      const redriveTo = REDRIVE_TARGETS[id] ?? id.replace(DEAD_LETTERS, TASKS_END);
      const redriver = functions[redriveTo];
      const isThere = isKept && (redriver !== undefined || redriveTo in received);
      const target = isThere ? { redriveTo, ...defined({ redriver }) } : {};
      return [id, { url: name.includes('/') ? name : `${base}${name}`, isKept, ...target }] as const;
    });
  return Object.fromEntries([...queues(kept, true), ...queues(received, false)]);
}

/**
 * The body contains the reason why the call failed permanently. Messages of other queues, except missed runs, contain
 * the reason in an attribute.
 */
const deadLetter = z.object({
  deadLetter: z.object({ vendor: z.string(), operation: z.string(), reason: z.string() }),
});

export class SqsQueues implements MessageQueues {
  readonly deployed: DeployedQueues;
  readonly #client: SQSClient;
  readonly #nowMs: Clock['nowMs'];
  readonly #start: StartRedrive;

  constructor(client: SQSClient, deployed: DeployedQueues, { nowMs }: Pick<Clock, 'nowMs'>, start = startsNothing) {
    this.#client = client;
    this.deployed = deployed;
    this.#nowMs = nowMs;
    this.#start = start;
  }

  /** @throws RetryableError `queues_unavailable` */
  async count(queue: string): Promise<number> {
    const QueueUrl = this.deployed[queue]?.url;
    const command = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: [...COUNTS] });
    const { Attributes = {} } = await answered(this.#client.send(command));
    return COUNTS.reduce((sum, name) => sum + Number(Attributes[name] ?? 0), 0);
  }

  /** @throws as `count` */
  async peek(queue: string, limit: number): Promise<readonly MessageEntry[]> {
    const found = new Map<string, MessageEntry>();
    const taken: Message[] = [];
    for (let receives = 0; receives < MAX_RECEIVES && found.size < limit; receives += 1) {
      const Messages = await this.#receive(queue, HIDDEN_SECONDS, Math.min(limit - found.size, MAX_AT_ONCE));
      if (Messages.length === 0) break;
      for (const message of Messages) {
        found.set(message.MessageId ?? '', entryOf(message));
        taken.push(message);
      }
    }
    await this.#show(queue, taken);
    return [...found.values()];
  }

  async #receive(queue: string, VisibilityTimeout: number, MaxNumberOfMessages = MAX_AT_ONCE): Promise<Message[]> {
    const command = new ReceiveMessageCommand({
      QueueUrl: this.deployed[queue]?.url,
      MaxNumberOfMessages,
      VisibilityTimeout,
      WaitTimeSeconds: LONG_POLL_SECONDS,
      MessageSystemAttributeNames: ['All'],
      MessageAttributeNames: ['All'],
    });
    return (await answered(this.#client.send(command))).Messages ?? [];
  }

  /** The messages are visible immediately, instead of at the end of the visibility timeout. */
  async #show(queue: string, taken: readonly Message[]): Promise<void> {
    const QueueUrl = this.deployed[queue]?.url;
    const show = ({ ReceiptHandle }: Message) =>
      this.#client.send(new ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle, VisibilityTimeout: 0 }));
    await Promise.allSettled(taken.map(show));
  }

  /** @throws as `count` */
  redrive(queue: string, which: RedriveRange): Promise<number> {
    return this.#endAll(queue, which, (message) => this.#move(queue, message));
  }

  /** @throws as `count` */
  async dismiss(queue: string, which: RedriveRange): Promise<void> {
    const others: Message[] = [];
    try {
      await this.#endAll(queue, which, async (message) => {
        if (entryOf(message).job === undefined) others.push(message);
        else await this.#remove(queue, message);
      });
    } finally {
      await this.#show(queue, others);
    }
  }

  async #endAll(
    queue: string,
    { beforeMs, stopAtMs }: RedriveRange,
    end: (message: Message) => Promise<void>,
  ): Promise<number> {
    let count = 0;
    let empty = 0;
    // Repeat empty receives: another operator's listing may hide the messages for a few seconds.
    while (empty < EMPTY_RECEIVES && this.#nowMs() < stopAtMs) {
      const Messages = await this.#receive(queue, MOVED_WITHIN_SECONDS);
      empty = Messages.length === 0 ? empty + 1 : 0;
      const older = Messages.filter(({ Attributes }) => Number(Attributes?.SentTimestamp) < beforeMs);
      await answered(Promise.all(older.map(end)));
      count += older.length;
    }
    return count;
  }

  /**
   * Repeats empty receives as `redrive` does.
   *
   * @throws as `count`
   */
  async hold(queue: string, id: string, stopAtMs: number): Promise<HeldMessage | undefined> {
    const others: Message[] = [];
    try {
      for (let empty = 0; empty < EMPTY_RECEIVES && this.#nowMs() < stopAtMs; ) {
        const messages = await this.#receive(queue, MOVED_WITHIN_SECONDS);
        empty = messages.length === 0 ? empty + 1 : 0;
        const found = messages.find(({ MessageId }) => MessageId === id);
        others.push(...messages.filter((message) => message !== found));
        if (found !== undefined) return this.#held(queue, found);
      }
      return undefined;
    } finally {
      await this.#show(queue, others);
    }
  }

  #held(queue: string, message: Message): HeldMessage {
    // After a failure, make the message visible, so that a retry finds it immediately.
    const end = (ending: Promise<void>) =>
      answered(ending).catch(async (error: unknown) => {
        await this.#show(queue, [message]);
        throw error;
      });
    return {
      ...entryOf(message),
      redrive: () => end(this.#move(queue, message)),
      delete: () => end(this.#remove(queue, message)),
    };
  }

  async #move(queue: string, message: Message): Promise<void> {
    const { redriveTo = '', redriver } = this.deployed[queue] ?? {};
    if (redriver === undefined) await this.#send(message, this.deployed[redriveTo]?.url);
    else await this.#start(redriver, message.Body ?? '');
    await this.#remove(queue, message);
  }

  async #send({ Body, MessageAttributes, Attributes }: Message, QueueUrl: string | undefined): Promise<void> {
    const { MessageGroupId } = Attributes ?? {};
    const group = defined({ MessageGroupId });
    await this.#client.send(new SendMessageCommand({ QueueUrl, MessageBody: Body, MessageAttributes, ...group }));
  }

  async #remove(queue: string, { ReceiptHandle }: Message): Promise<void> {
    const QueueUrl = this.deployed[queue]?.url;
    await this.#client.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
  }
}

/** Resolves when Lambda has accepted the invocation. */
type StartRedrive = (functionName: string, parked: string) => Promise<void>;

const startsNothing: StartRedrive = () => Promise.reject(new Error('no redrive function is configured'));

/** Lambda retries, and then parks the request. */
export function startRedrives({ lambda }: Functions): StartRedrive {
  return async (FunctionName, parked) => {
    const Payload = JSON.stringify({ parked: firstParked(parked) } satisfies RedriveRequest);
    await lambda().send(new InvokeCommand({ FunctionName, InvocationType: 'Event', Payload }));
  };
}

async function answered<T>(sent: Promise<T>): Promise<T> {
  try {
    return await sent;
  } catch (cause) {
    throw new RetryableError('queues_unavailable', 'The message queues are unavailable.', { cause });
  }
}

/** From the body, shows only ids, reasons, times, and the names of jobs, vendors and services. */
function entryOf({ MessageId = '', Body = '', Attributes, MessageAttributes }: Message): MessageEntry {
  const about = ORDER_IN_TEXT.exec(Body)?.[0] ?? PAYMENT_IN_TEXT.exec(Body)?.[0];
  const body = parsedJson(Body);
  const given = deadLetter.safeParse(body).data?.deadLetter;
  const missed = missedRun(body);
  const reason =
    given?.reason ??
    missed?.reason ??
    (MessageAttributes?.['reason'] ?? MessageAttributes?.['ERROR_CODE'])?.StringValue;
  return {
    id: MessageId,
    sinceMs: Number(Attributes?.SentTimestamp ?? 0),
    needsOperator: true,
    ...defined({ about }),
    ...(given === undefined ? {} : { part: `${given.vendor} ${given.operation}` }),
    ...(missed === undefined ? {} : partsOf(missed)),
    ...defined({ reason }),
  };
}

/** The event that a schedule sent for a run that could not be requested. */
const firing = z.object({
  job: z.string(),
  scheduledTime: z.string(),
  /** The other service that runs the job. Absent for a job of this deployment. */
  target: z.string().optional(),
  reason: z.string().optional(),
});

/** The record that Lambda sends when its last attempt to process such an event has failed. */
const failedFiring = z.object({
  requestPayload: firing,
  responsePayload: z.object({ errorMessage: z.string() }).optional(),
});

function missedRun(body: unknown): z.infer<typeof firing> | undefined {
  const { requestPayload, responsePayload } = failedFiring.safeParse(body).data ?? {};
  if (requestPayload === undefined) return firing.safeParse(body).data;
  return { ...requestPayload, ...defined({ reason: responsePayload?.errorMessage }) };
}

function partsOf({ target, job, scheduledTime }: z.infer<typeof firing>) {
  const atMs = Date.parse(scheduledTime);
  const time = defined({ scheduledForMs: Number.isNaN(atMs) ? undefined : atMs });
  return target === undefined ? { part: job, job, ...time } : { part: `${target} ${job}`, ...time };
}

const ORDER_IN_TEXT = inText(ORDER_ID);
const PAYMENT_IN_TEXT = inText(PAYMENT_ID);

/** @param form a pattern that matches an id as a whole */
function inText(form: RegExp): RegExp {
  return new RegExp(`\\b${form.source.slice(1, -1)}\\b`);
}
