import {
  ChangeMessageVisibilityCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  GetQueueUrlCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  type SQSClient,
  SQSServiceException,
} from '@aws-sdk/client-sqs';
import type { SQSBatchResponse, SQSEvent, SQSMessageAttributes } from 'aws-lambda';
import { type Grouped, nextOfFairQueue } from '../../support/fair-queue.ts';
import { timedOut } from '../../support/faulty-client.ts';
import type { LongWait } from './contract.ts';
import type { Ended, Process, ServiceBehavior, Simulation } from './simulation.ts';

export interface QueueShape {
  readonly consumer?: string;
  /** For one execution. */
  readonly batch?: number;
  /** Maximum number of concurrent executions of the consumer. @default no limit */
  readonly atOnce?: number;
  readonly hiddenMs?: number;
  /** Maximum number of deliveries before a message becomes a dead letter. */
  readonly tries?: number;
  readonly deadLetters?: string;
}

interface Message extends Grouped {
  /** Stays the same when other steps are removed. */
  readonly name: string;
  readonly body: string;
  readonly attributes: SQSMessageAttributes;
  readonly sentAtMs: number;
  readonly order: number;
  visibleAtMs: number;
  receives: number;
}

/**
 * Maximum delivery time of most messages, in milliseconds. Some messages need up to `LATE_MS`, so that later messages
 * overtake them.
 */
const SOON_MS = 50;
const LATE_MS = 5_000;
const LATE_SHARE = 0.05;

/** In milliseconds: more than half an hour, even with clock skew. */
const LONG_MS = 40 * 60_000;

const failure = (name: string, httpStatusCode = 400): Error =>
  new SQSServiceException({ name, message: 'injected', $fault: 'server', $metadata: { httpStatusCode } });

const BEHAVIOR: ServiceBehavior = {
  throttle: () => failure('ThrottlingException'),
  broken: () => failure('ServiceUnavailable', 503),
  ambiguous: timedOut,
  lasts: [4, 30],
  timeoutMs: 2_000,
};

interface Around {
  readonly invoke: (consumer: string, name: string, event: SQSEvent) => Promise<Ended<unknown>>;
  /** Called when a message enters a queue without a consumer. */
  readonly onParked: () => void;
}

/** Reorders messages. As in a standard queue, a message can be delivered twice. */
export class Queues {
  readonly #simulation: Simulation;
  readonly #shapes: Readonly<Record<string, QueueShape>>;
  readonly #around: Around;
  readonly #messages = new Map<string, Set<Message>>();
  readonly most: Record<string, number> = {};
  readonly waits: LongWait[] = [];
  /** By queue. */
  readonly #running = new Map<string, Set<readonly Message[]>>();

  constructor(simulation: Simulation, shapes: Readonly<Record<string, QueueShape>>, around: Around) {
    this.#simulation = simulation;
    this.#shapes = shapes;
    this.#around = around;
    for (const name of Object.keys(shapes)) this.#messages.set(name, new Set());
  }

  /** By queue. */
  get left(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#messages].map(([name, messages]) => [name, messages.size]));
  }

  bodies(queue: string): readonly string[] {
    return [...this.#of(queue)].map(({ body }) => body);
  }

  client(process: () => Process): SQSClient {
    const send = (command: object): Promise<unknown> => {
      const sender = process();
      const label = `sqs ${command.constructor.name}`;
      return sender.call(label, BEHAVIOR, async () => this.#answer(command, sender));
    };
    return { send } as unknown as SQSClient;
  }

  put(
    queue: string,
    body: string,
    name: string,
    delayMs = 0,
    { attributes = {}, group }: { readonly attributes?: SQSMessageAttributes } & Grouped = {},
  ): void {
    const { nowMs } = this.#simulation;
    const place = this.#simulation.decide(`${name} place`);
    const message: Message = {
      name,
      body,
      attributes,
      group,
      sentAtMs: nowMs,
      order: Math.floor(place * 2 ** 32),
      visibleAtMs: nowMs + delayMs,
      receives: 0,
    };
    this.#of(queue).add(message);
    this.most[queue] = Math.max(this.most[queue] ?? 0, this.#of(queue).size);
    const lateMs = place < LATE_SHARE ? LATE_MS : SOON_MS;
    this.#poll(queue, message, nowMs + delayMs + this.#simulation.decide(`${name} travels`) * lateMs);
  }

  redrive(deadLetters: string): void {
    const source = Object.entries(this.#shapes).find(([, shape]) => shape.deadLetters === deadLetters)?.[0];
    if (source === undefined) return;
    for (const message of this.#of(deadLetters)) {
      this.#of(deadLetters).delete(message);
      this.put(source, message.body, this.#simulation.named(`${message.name} redriven`), 0, message);
    }
  }

  #poll(queue: string, message: Message, atMs: number): void {
    if (this.#shapes[queue]?.consumer === undefined) return this.#around.onParked();
    this.#simulation.plan(atMs, message.order, () => this.#deliver(queue, message));
  }

  #deliver(queue: string, first: Message): void {
    const { consumer, batch = 10, atOnce, hiddenMs = 180_000, tries = 5, deadLetters } = this.#shapes[queue] ?? {};
    const running = this.#runningIn(queue);
    const messages = this.#of(queue);
    const { nowMs } = this.#simulation;
    if (consumer === undefined || !messages.has(first) || first.visibleAtMs > nowMs) return;
    // All allowed executions are running. The next execution that completes starts the next delivery.
    if (atOnce !== undefined && running.size >= atOnce) return;
    const taken: Message[] = [];
    // Each message starts a delivery. If the consumer has no execution limit, the batch begins with that message.
    // Otherwise, the batch is chosen fairly among the message groups.
    for (const message of atOnce === undefined ? new Set([first, ...messages]) : fairly(messages, running, taken)) {
      if (taken.length === batch) break;
      if (message.visibleAtMs > nowMs) continue;
      if (message.receives >= tries && deadLetters !== undefined) {
        messages.delete(message);
        this.put(deadLetters, message.body, `${message.name} dead`, 0, message);
        continue;
      }
      message.receives += 1;
      message.visibleAtMs = nowMs + hiddenMs;
      taken.push(message);
    }
    if (taken.length === 0) return;
    taken.sort((one, other) => one.order - other.order);
    const lead = taken[0] ?? first;
    const name = `${lead.name} ${lead.receives}`;
    void this.#bring(queue, taken, { consumer, name });
  }

  async #bring(
    queue: string,
    taken: readonly Message[],
    { consumer, name }: { readonly consumer: string; readonly name: string },
  ): Promise<void> {
    const event = { Records: taken.map((each) => recordOf(queue, each)) };
    const running = this.#runningIn(queue);
    running.add(taken);
    const fromMs = this.#simulation.nowMs;
    const ended = await this.#around.invoke(consumer, name, event);
    const isLong = taken.some(({ sentAtMs }) => fromMs - sentAtMs > LONG_MS);
    if (isLong && ended.kind === 'returned') this.waits.push({ queue, fromMs, untilMs: this.#simulation.nowMs });
    running.delete(taken);
    this.#settle(queue, taken, ended);
    if (this.#shapes[queue]?.atOnce !== undefined) this.#takeNext(queue);
  }

  #settle(queue: string, taken: readonly Message[], ended: Ended<unknown>): void {
    const failed =
      ended.kind === 'returned'
        ? new Set((ended.value as SQSBatchResponse).batchItemFailures.map(({ itemIdentifier }) => itemIdentifier))
        : undefined;
    for (const message of taken) {
      // The deletion of a message can be lost, so that the message is redelivered.
      const name = `${message.name} deleted ${message.receives}`;
      const isDone = failed !== undefined && !failed.has(message.name);
      if (isDone && !this.#simulation.strikes('ambiguous_lost', name, `sqs deletion from ${queue}`))
        this.#of(queue).delete(message);
      else this.#poll(queue, message, message.visibleAtMs);
    }
  }

  #answer(command: object, sender: Process): object {
    if (command instanceof SendMessageCommand) {
      const { QueueUrl, MessageBody = '', DelaySeconds = 0, MessageAttributes = {}, MessageGroupId } = command.input;
      const attributes = Object.entries(MessageAttributes).map(
        ([name, { StringValue: stringValue = '' }]) => [name, { stringValue, dataType: 'String' as const }] as const,
      );
      const name = sender.token();
      this.put(queueOf(QueueUrl), MessageBody, name, DelaySeconds * 1_000, {
        attributes: Object.fromEntries(attributes),
        group: MessageGroupId,
      });
      return {};
    }
    if (command instanceof GetQueueUrlCommand) return { QueueUrl: queueUrl(command.input.QueueName ?? '') };
    if (command instanceof GetQueueAttributesCommand)
      return { Attributes: { ApproximateNumberOfMessages: String(this.#of(queueOf(command.input.QueueUrl)).size) } };
    if (command instanceof ReceiveMessageCommand) return this.#receive(command);
    if (command instanceof DeleteMessageCommand || command instanceof ChangeMessageVisibilityCommand) {
      const messages = this.#of(queueOf(command.input.QueueUrl));
      const found = [...messages].find((each) => receiptOf(each) === command.input.ReceiptHandle);
      if (found === undefined) throw failure('ReceiptHandleIsInvalid');
      if (command instanceof DeleteMessageCommand) messages.delete(found);
      else found.visibleAtMs = this.#simulation.nowMs + (command.input.VisibilityTimeout ?? 0) * 1_000;
      return {};
    }
    throw new Error(`The in-memory SQS does not support ${command.constructor.name}`);
  }

  #receive({ input }: ReceiveMessageCommand): object {
    const { nowMs } = this.#simulation;
    const visible = [...this.#of(queueOf(input.QueueUrl))].filter(({ visibleAtMs }) => visibleAtMs <= nowMs);
    const taken = visible.slice(0, input.MaxNumberOfMessages ?? 1);
    for (const message of taken) {
      message.receives += 1;
      message.visibleAtMs = nowMs + (input.VisibilityTimeout ?? 30) * 1_000;
    }
    return {
      Messages: taken.map((each) => ({
        MessageId: each.name,
        ReceiptHandle: receiptOf(each),
        Body: each.body,
        Attributes: { SentTimestamp: String(each.sentAtMs), MessageGroupId: each.group },
        MessageAttributes: Object.fromEntries(
          Object.entries(each.attributes).map(([name, { stringValue }]) => [name, { StringValue: stringValue }]),
        ),
      })),
    };
  }

  #runningIn(queue: string): Set<readonly Message[]> {
    const found = this.#running.get(queue) ?? new Set();
    this.#running.set(queue, found);
    return found;
  }

  #takeNext(queue: string): void {
    const { nowMs } = this.#simulation;
    for (const message of this.#of(queue)) if (message.visibleAtMs <= nowMs) return this.#deliver(queue, message);
  }

  #of(queue: string): Set<Message> {
    const found = this.#messages.get(queue);
    if (found === undefined) throw new Error(`unknown queue: ${queue}`);
    return found;
  }
}

/** @param taken messages that are already part of the batch; the caller adds messages during the iteration */
function* fairly(
  messages: ReadonlySet<Message>,
  running: ReadonlySet<readonly Message[]>,
  taken: readonly Message[],
): Generator<Message> {
  const inFlight = [...running].flat();
  const passed = new Set<Message>(inFlight);
  const waiting = [...messages].filter((message) => !passed.has(message));
  for (;;) {
    const next = nextOfFairQueue(waiting, [...inFlight, ...taken]);
    if (next === undefined) return;
    waiting.splice(waiting.indexOf(next), 1);
    yield next;
  }
}

const BASE = 'https://queues.example/';

export function queueArn(name: string): string {
  return `arn:aws:sqs:eu-west-1:000000000000:${name}`;
}

export function queueUrl(name: string): string {
  return `${BASE}${name}`;
}

function queueOf(url = ''): string {
  return url.slice(BASE.length);
}

function receiptOf({ name, receives }: Message): string {
  return `${name} ${receives}`;
}

function recordOf(queue: string, message: Message): SQSEvent['Records'][number] {
  return {
    messageId: message.name,
    receiptHandle: receiptOf(message),
    body: message.body,
    attributes: {
      ApproximateReceiveCount: String(message.receives),
      SentTimestamp: String(message.sentAtMs),
      SenderId: '',
      ...(message.group === undefined ? {} : { MessageGroupId: message.group }),
      ApproximateFirstReceiveTimestamp: '',
    },
    messageAttributes: message.attributes,
    md5OfBody: '',
    eventSource: 'aws:sqs',
    eventSourceARN: queueArn(queue),
    awsRegion: 'eu-west-1',
  };
}
