import { setTimeout as sleep } from 'node:timers/promises';
import {
  DeleteMessageCommand,
  type Message,
  ReceiveMessageCommand,
  SendMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import { type JetStreamClient, jetstream } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import * as z from 'zod';
import type { Direction, Health } from './health.ts';
import type { BridgeSettings } from './settings.ts';

/** The fields of a bus event that the bridge needs: name and tenant for the subject, and the id for `Nats-Msg-Id`. */
const busEvent = z.object({
  'detail-type': z.string().regex(/^[a-z0-9_]+(\.[a-z0-9_]+)*$/),
  detail: z.looseObject({
    tenant: z.string().regex(/^[A-Za-z0-9_-]+$/),
    event: z.looseObject({ id: z.string().regex(/^\S{1,255}$/) }),
  }),
});

const LANES = 4;
const BATCH = 10;
const LONG_POLL_SECONDS = 20;
const PUBLISH_TIMEOUT_MS = 5_000;
const CONNECTED_POLL_MS = 500;
const LONGEST_WAIT_MS = 30_000;

/**
 * Forwards bus events from the bridge's queue to NATS subjects. An event is deleted from the queue after JetStream has
 * confirmed that it is stored. If the bridge stops in between, SQS redelivers the event. JetStream then discards the
 * duplicate by its `Nats-Msg-Id`, which is the event's id, provided that the stream's duplicate window is longer than
 * the queue's visibility timeout.
 */
export class EventBridge {
  readonly #jetstream: JetStreamClient;
  readonly #sqs: SQSClient;
  readonly #settings: NonNullable<BridgeSettings['events']>;
  readonly #direction: Direction;
  readonly #health: Pick<Health, 'isConnected'>;

  constructor(
    nats: NatsConnection,
    sqs: SQSClient,
    settings: NonNullable<BridgeSettings['events']>,
    direction: Direction,
    health: Pick<Health, 'isConnected'>,
  ) {
    this.#jetstream = jetstream(nats);
    this.#sqs = sqs;
    this.#settings = settings;
    this.#direction = direction;
    this.#health = health;
  }

  /** Runs until `stop` is aborted, and then finishes the calls in progress. */
  async run(stop: AbortSignal): Promise<void> {
    await Promise.all(Array.from({ length: LANES }, () => this.#lane(stop)));
  }

  async #lane(stop: AbortSignal): Promise<void> {
    let failures = 0;
    while (!stop.aborted) {
      // Receive events only while connected, because otherwise they cannot be published. Do not test the connection
      // with a flush: without a connection, a flush may never return.
      if (!this.#health.isConnected) {
        await pause(CONNECTED_POLL_MS, stop);
        continue;
      }
      const isDone = await this.#batch(stop);
      failures = isDone ? 0 : failures + 1;
      // SQS redelivers the events that JetStream did not store, after their visibility timeout.
      if (!isDone) await pause(Math.min(500 * 2 ** failures, LONGEST_WAIT_MS), stop);
    }
  }

  /** @returns false when anything failed */
  async #batch(stop: AbortSignal): Promise<boolean> {
    try {
      const { Messages = [] } = await this.#sqs.send(
        new ReceiveMessageCommand({
          QueueUrl: this.#settings.queueUrl,
          MaxNumberOfMessages: BATCH,
          WaitTimeSeconds: LONG_POLL_SECONDS,
        }),
        { abortSignal: stop },
      );
      const settled = await Promise.all(Messages.map((message) => this.#forward(message)));
      return !settled.includes(false);
    } catch (error) {
      if (!stop.aborted) this.#direction.failed(error);
      return false;
    }
  }

  async #forward({ Body = '', ReceiptHandle }: Message): Promise<boolean> {
    const begunAtMs = Date.now();
    try {
      const read = readEvent(Body);
      if (read === undefined) await this.#park(Body);
      else await this.#publish(read);
      await this.#sqs.send(new DeleteMessageCommand({ QueueUrl: this.#settings.queueUrl, ReceiptHandle }));
      return true;
    } catch (error) {
      this.#direction.failed(error, begunAtMs);
      return false;
    }
  }

  async #publish({ 'detail-type': name, detail }: z.output<typeof busEvent>): Promise<void> {
    const { duplicate } = await this.#jetstream.publish(
      `${this.#settings.prefix}.${detail.tenant}.${name}`,
      JSON.stringify(detail),
      { msgID: detail.event.id, timeout: PUBLISH_TIMEOUT_MS },
    );
    if (duplicate) this.#direction.redelivered += 1;
    this.#direction.succeeded();
  }

  /** Parks a message that is not a bus event, with the reason. The caller then deletes the original. */
  async #park(body: string): Promise<void> {
    const text = (value: string) => ({ DataType: 'String', StringValue: value });
    await this.#sqs.send(
      new SendMessageCommand({
        QueueUrl: this.#settings.parkingQueueUrl,
        MessageBody: body,
        MessageAttributes: { reason: text('malformed'), detail: text('not an event that can be published to NATS') },
      }),
    );
    this.#direction.parked += 1;
  }
}

function readEvent(body: string): z.output<typeof busEvent> | undefined {
  try {
    return busEvent.safeParse(JSON.parse(body)).data;
  } catch {
    return undefined;
  }
}

async function pause(ms: number, stop: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal: stop }).catch(() => undefined);
}
