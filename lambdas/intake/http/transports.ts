import type { MSKEvent, SelfManagedKafkaEvent, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import * as z from 'zod';
import type { ConsumedMessage, ConsumerTelemetry } from '../../events/http/event-telemetry.ts';
import {
  afterFailure,
  eachMessage,
  type FailedMessageState,
  failuresOf,
  type RemainingTime,
} from '../../events/http/message-batch.ts';
import type { MessageParking } from '../../events/use/ledger-stream.ts';
import { isTransient } from '../../http/http-answer.ts';
import { parseStrictJson } from '../../http/strict-json.ts';
import { RETRY_DELAY_SECONDS } from '../../kernel/contract/events.ts';
import { LONGEST_MESSAGE_SECONDS } from '../../kernel/contract/timing.ts';
import { PAYMENT_REQUESTED, RequestAttribute, senderName } from '../contract.ts';
import type { RequestMessage } from '../use/request-queue.ts';
import { type IntakeTools, readMessage, takeRequest } from './take-request.ts';

/**
 * Handlers for payment requests from SQS and Kafka. The requests from all transports are parsed into the same kind of
 * message. A request is acknowledged as soon as it is settled or stored in a queue.
 */

export interface TransportTools extends Omit<IntakeTools, 'telemetry'>, Pick<MessageParking, 'acknowledge'> {
  /** Maps the ARN of each single-sender queue to its sender. */
  readonly queues: ReadonlyMap<string, string>;
  readonly telemetry: IntakeTools['telemetry'] & Pick<ConsumerTelemetry, 'batch'>;
}

type KafkaEvent = MSKEvent | SelfManagedKafkaEvent;
type KafkaRecord = KafkaEvent['records'][string][number];

const AGAIN_SECONDS = 30;

export function paymentRequests(tools: TransportTools) {
  return async (event: SQSEvent | KafkaEvent, context?: RemainingTime): Promise<SQSBatchResponse | undefined> =>
    'Records' in event ? takeFromQueue(tools, event.Records, context) : takeFromTopics(tools, event);
}

// -------------------------------------------------------------------------------------------------------------------- SQS

/** Each message's failures are counted in an attribute of the message. */
async function takeFromQueue(
  tools: TransportTools,
  records: readonly SQSRecord[],
  context: RemainingTime | undefined,
): Promise<SQSBatchResponse> {
  const settle = async (record: SQSRecord): Promise<Settled> => {
    const read = readMessage(readQueued(tools, record));
    try {
      return { result: resultOf(await takeRequest(tools, read)) };
    } catch (error) {
      tools.telemetry.fault(record.messageId, error);
      const state = await afterFailure(parkingOf(tools, read.message), record, error, read.message.failures);
      return { result: state === 'parked' ? 'parked' : 'failed', state };
    }
  };
  const settled = await eachMessage(records, {
    handle: settle,
    staysInQueue: ({ state }) => state === 'waits',
    notHandled: { result: 'busy', state: 'waits' },
    neededMs: LONGEST_MESSAGE_SECONDS.paymentRequest * 1000,
    context,
    parking: tools,
  });
  tools.telemetry.batch(settled.map(({ result }) => result));
  const waiting = settled.filter(({ result: { state } }) => state === 'waits');
  return { batchItemFailures: waiting.map(({ messageId }) => ({ itemIdentifier: messageId })) };
}

interface Settled extends ConsumedMessage {
  readonly state?: FailedMessageState;
}

/** Both functions include the message's sender. */
function parkingOf(
  { requests }: Pick<TransportTools, 'requests'>,
  message: RequestMessage,
): Pick<MessageParking, 'requeue' | 'park'> {
  return {
    park: ({ detail }) => requests.park(message, 'failed', detail),
    requeue: (_, failures) => requests.later({ ...message, failures }, RETRY_DELAY_SECONDS),
  };
}

/**
 * Only Payonce, the bus and the NATS bridge can write to Payonce's own queue, so the attributes of its messages are
 * trusted. All other queues have a single sender, who sets the attributes, so the attributes are ignored.
 */
function readQueued({ queues }: Pick<TransportTools, 'queues'>, record: SQSRecord): RequestMessage {
  const { body, attributes, eventSourceARN } = record;
  const sentAtMs = Number(attributes.SentTimestamp);
  const only = queues.get(eventSourceARN);
  if (only !== undefined) return { sender: only, payload: Buffer.from(body), sentAtMs, failures: 0 };
  const failures = failuresOf(record);
  const named = (name: string) => record.messageAttributes[name]?.stringValue;
  const payload = Buffer.from(body, named(RequestAttribute.encoding) === 'base64' ? 'base64' : 'utf8');
  const subject = named(RequestAttribute.subject);
  const sender = subject === undefined ? named(RequestAttribute.sender) : senderName.subject(subject);
  if (sender === undefined) return readOnBus(body, sentAtMs);
  return { sender, payload, sentAtMs: Number(named(RequestAttribute.sentAt) ?? sentAtMs), failures };
}

const envelope = z.looseObject({
  'detail-type': z.literal(PAYMENT_REQUESTED),
  source: z.string(),
  account: z.string(),
  time: z.iso.datetime({ offset: true }),
  detail: z.looseObject({}),
});

/**
 * EventBridge sets the account, so a sender cannot claim another account. If the JSON is ambiguous, for example because
 * a key occurs twice, the payload is the whole text. The request is then refused as malformed, under its sender's name.
 */
function readOnBus(body: string, sentAtMs: number): RequestMessage {
  const json = parseStrictJson(body);
  const read = envelope.safeParse(json.kind === 'valid' ? json.value : looselyParsed(body));
  if (!read.success) return { sender: senderName.bus('', ''), payload: Buffer.from(body), sentAtMs };
  const { source, account, time, detail } = read.data;
  const payload = Buffer.from(json.kind === 'valid' ? JSON.stringify(detail) : body);
  return { sender: senderName.bus(source, account), payload, sentAtMs: Date.parse(time) };
}

function looselyParsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// ------------------------------------------------------------------------------------------------------------------ Kafka

/**
 * Lambda retries a failed batch until the batch's records expire, and reads no later record during that time. Without
 * provisioned mode, Lambda ignores partial responses of the function (AWS Lambda developer guide, "Configuring error
 * handling controls for Kafka event sources"). Therefore, a record that cannot be settled now is sent to the queue and
 * redelivered from there.
 *
 * @throws when a record can neither be processed nor sent to the queue; the whole batch is then redelivered
 */
async function takeFromTopics(tools: TransportTools, { records }: KafkaEvent): Promise<undefined> {
  const settle = async (record: KafkaRecord): Promise<ConsumedMessage> => {
    const read = readMessage(readInTopic(record));
    try {
      return { result: resultOf(await takeRequest(tools, read)) };
    } catch (error) {
      tools.telemetry.fault(`${record.topic}-${record.partition}@${record.offset}`, error);
      await tools.requests.later({ ...read.message, failures: isTransient(error) ? 0 : 1 }, AGAIN_SECONDS);
      return { result: 'failed' };
    }
  };
  const settled = await Promise.allSettled(Object.values(records).flat().map(settle));
  tools.telemetry.batch(settled.map((each) => (each.status === 'fulfilled' ? each.value : { result: 'failed' })));
  const lost = settled.find((each) => each.status === 'rejected');
  if (lost !== undefined) throw lost.reason;
}

function readInTopic({ topic, value, timestamp }: KafkaRecord): RequestMessage {
  // Lambda omits the field `value` of a record without a value, although the type requires the field.
  const payload = Buffer.from(value ?? '', 'base64');
  return { sender: senderName.topic(topic), payload, sentAtMs: timestamp };
}

function resultOf(taken: Awaited<ReturnType<typeof takeRequest>>): ConsumedMessage['result'] {
  return taken === 'waits' ? 'busy' : taken;
}
