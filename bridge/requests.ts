import { SendMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import {
  AckPolicy,
  type ConsumerMessages,
  DeliverPolicy,
  type JsMsg,
  jetstream,
  jetstreamManager,
} from '@nats-io/jetstream';
import { type NatsConnection, nanos } from '@nats-io/transport-node';
import type { Direction } from './health.ts';
import type { BridgeSettings } from './settings.ts';

type RequestSettings = NonNullable<BridgeSettings['requests']>;

/**
 * Maximum number of payload bytes to send. In base64, this payload has 240,000 characters, so that a message with its
 * attributes stays below 262,144 bytes, the limit of SQS queues created before August 2025 (Amazon SQS developer guide,
 * "Message quotas"). A longer payload cannot be a payment request; only its beginning is sent, and the handler parks
 * the message as too large.
 */
const LONGEST_SENT_BYTES = 180_000;
/** Matches text that SQS accepts (Amazon SQS API reference, "SendMessage"). */
const ACCEPTED_BY_SQS = /^[\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]+$/u;
/** The retry delay of a message that the queue did not accept starts at one second and doubles. */
const LONGEST_WAIT_MS = 30_000;
/**
 * Maximum number of unacknowledged messages of the consumer, over all processes of the bridge, including messages that
 * wait for redelivery.
 */
const MAX_ACK_PENDING = 1_000;
const PROGRESS_SIGNALS = 3;

/**
 * Carries messages from a NATS JetStream stream to the queue of payment requests. A message is acknowledged after the
 * queue has accepted it:
 *
 *     JetStream ──deliver──▶ bridge ──SendMessage──▶ SQS
 *     JetStream ◀───ack───── bridge ◀──────200────── SQS
 *
 * If the bridge stops between the SQS response and the acknowledgement, JetStream redelivers the message. The queue
 * then contains the message twice, but the handler of payment requests charges once, because the message contains the
 * payment's idempotency key.
 */
export class RequestBridge {
  readonly #nats: NatsConnection;
  readonly #sqs: SQSClient;
  readonly #settings: RequestSettings;
  readonly #direction: Direction;

  constructor(nats: NatsConnection, sqs: SQSClient, settings: RequestSettings, direction: Direction) {
    this.#nats = nats;
    this.#sqs = sqs;
    this.#settings = settings;
    this.#direction = direction;
  }

  /**
   * Runs until `stop` is aborted, and then finishes the calls in progress.
   *
   * @throws Error when the stream or its consumer does not exist or cannot be used
   */
  async run(stop: AbortSignal): Promise<void> {
    const { stream, consumer, inFlight } = this.#settings;
    await this.#makeConsumer();
    const durable = await jetstream(this.#nats).consumers.get(stream, consumer);
    // The client requests more messages as the iteration consumes them.
    const messages = await durable.consume({ max_messages: inFlight, abort_on_missing_resource: true });
    stop.addEventListener('abort', () => void messages.close());
    if (stop.aborted) await messages.close();
    await this.#forwardAll(messages);
    if (!stop.aborted) throw new Error(`the consumer ${consumer} of the stream ${stream} delivers no more messages`);
  }

  /** Its `max_deliver` is unlimited, so messages that the queue did not accept are redelivered without limit. */
  async #makeConsumer(): Promise<void> {
    const { stream, consumer, subjects, ackWaitSeconds } = this.#settings;
    const manager = await jetstreamManager(this.#nats);
    await manager.consumers.add(stream, {
      durable_name: consumer,
      deliver_policy: DeliverPolicy.All,
      ack_policy: AckPolicy.Explicit,
      ack_wait: nanos(ackWaitSeconds * 1_000),
      max_deliver: -1,
      max_ack_pending: MAX_ACK_PENDING,
      filter_subjects: [...subjects],
    });
  }

  async #forwardAll(messages: ConsumerMessages): Promise<void> {
    const underWay = new Set<Promise<void>>();
    for await (const message of messages) {
      const work = this.#forward(message).finally(() => underWay.delete(work));
      underWay.add(work);
      if (underWay.size >= this.#settings.inFlight) await Promise.race(underWay);
    }
    await Promise.all(underWay);
  }

  async #forward(message: JsMsg): Promise<void> {
    const { ackWaitSeconds } = this.#settings;
    const stillAtWork = setInterval(
      () => this.#signal(() => message.working()),
      (ackWaitSeconds * 1_000) / PROGRESS_SIGNALS,
    );
    if (message.redelivered) this.#direction.redelivered += 1;
    const begunAtMs = Date.now();
    try {
      await this.#sqs.send(new SendMessageCommand(this.#queueMessage(message)));
      this.#direction.succeeded();
      this.#signal(() => message.ack());
    } catch (error) {
      this.#direction.failed(error, begunAtMs);
      this.#signal(() =>
        message.nak(Math.min(1_000 * 2 ** Math.min(message.info.deliveryCount - 1, 10), LONGEST_WAIT_MS)),
      );
    } finally {
      clearInterval(stillAtWork);
    }
  }

  /** If the signal is lost, the server redelivers the message. */
  #signal(send: () => void): void {
    try {
      send();
    } catch (error) {
      this.#direction.failed(error);
    }
  }

  #queueMessage({ data, subject, seq }: JsMsg) {
    const text = (value: string) => ({ DataType: 'String', StringValue: value });
    const asText = data.length > LONGEST_SENT_BYTES ? undefined : textOf(data);
    return {
      QueueUrl: this.#settings.queueUrl,
      // SQS rejects empty bodies, so an empty payload is sent as `=`.
      MessageBody: asText ?? (Buffer.from(data.subarray(0, LONGEST_SENT_BYTES)).toString('base64') || '='),
      MessageAttributes: {
        // A subject with characters that SQS rejects belongs to no tenant. It is sent encoded, and the handler parks
        // the message.
        subject: text(ACCEPTED_BY_SQS.test(subject) ? subject : encodeURIComponent(subject)),
        ...(asText === undefined ? { encoding: text('base64') } : {}),
        stream: text(this.#settings.stream),
        sequence: text(String(seq)),
        bytes: text(String(data.length)),
      },
    };
  }
}

function textOf(data: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(data);
    return ACCEPTED_BY_SQS.test(text) ? text : undefined;
  } catch {
    return undefined;
  }
}
