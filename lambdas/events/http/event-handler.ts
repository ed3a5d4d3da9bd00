import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import * as z from 'zod';
import { LONGEST_MESSAGE_SECONDS } from '../../kernel/contract/timing.ts';
import { defined } from '../../kernel/defined.ts';
import type { EventName } from '../contract.ts';
import type { MessageParking } from '../use/ledger-stream.ts';
import { type EventOf, readEvent } from './event-schemas.ts';
import type { ConsumerTelemetry } from './event-telemetry.ts';
import { afterFailure, eachMessage, type FailedMessageState, type RemainingTime } from './message-batch.ts';

export interface EventHandlerDefinition<Name extends EventName, Handle> {
  /** The events that the consumer's rule selects. */
  readonly events: readonly Name[];
  /** Must never change, because the records of effects contain it. */
  readonly handler: string;
  /**
   * Returns the business key, for example `commission:<order>`. Of all events with the same key, only one ever takes
   * effect.
   * @default the event's id
   */
  readonly key?: (event: EventOf<Name>) => string;
  /** Created with `inOwnTables(…)` or `outside(…)`. */
  readonly handle: Handle;
}

export interface EventHandlerParts<Event, Handle> {
  readonly consume: (
    consumer: { readonly handler: string; readonly key?: (event: Event) => string; readonly handle: Handle },
    event: Event,
  ) => Promise<{ readonly kind: 'done' | 'done_before' | 'busy' }>;
  /**
   * Parks the complete message and the reason for operators. `malformed`: the message or its event has no valid form.
   * `unexpected`: the rule selected an event that the consumer does not list. `failed`: every attempt failed.
   */
  readonly parking: MessageParking;
  readonly telemetry: ConsumerTelemetry;
}

type SqsHandler = (event: SQSEvent, context?: RemainingTime) => Promise<SQSBatchResponse>;

interface MessageResult {
  readonly result: 'done' | 'done_before' | 'parked' | 'busy' | 'failed';
  readonly state?: FailedMessageState;
  readonly occurredAtMs?: number;
}

/**
 * The messages of a batch are independent: a failed message is redelivered alone, an unreadable message is parked with
 * the reason, and neither blocks other messages. A message is also parked after `CONSUMER_ATTEMPTS` failures, but never
 * because of an outage, which is not counted as a failure.
 */
export function createEventHandler<Name extends EventName, Handle>(
  { events, handler, key, handle }: EventHandlerDefinition<Name, Handle>,
  parts: EventHandlerParts<EventOf<Name>, Handle>,
): SqsHandler {
  const consumer = { handler, handle, ...defined({ key }) };

  const consumeBody = async (body: string): Promise<MessageResult> => {
    const message = messageOf(body);
    const name = events.find((each) => each === message?.name);
    const read = name === undefined ? unexpected(message?.name) : readEvent(name, message?.detail);
    if (read.kind !== 'event') {
      await parts.parking.park({ body, reason: read.kind, detail: read.detail });
      return { result: 'parked' };
    }
    const { kind } = await parts.consume(consumer, read.event);
    return { result: kind, occurredAtMs: read.event.occurredAtMs };
  };

  const settle = async (record: SQSRecord): Promise<MessageResult> => {
    try {
      return await consumeBody(record.body);
    } catch (error) {
      parts.telemetry.fault(record.messageId, error);
      const state = await afterFailure(parts.parking, record, error);
      return { result: state === 'parked' ? 'parked' : 'failed', state };
    }
  };
  const staysInQueue = ({ result, state }: MessageResult): boolean => result === 'busy' || state === 'waits';
  const notHandled: MessageResult = { result: 'busy' };

  return async ({ Records }, context) => {
    const { parking } = parts;
    const time = { neededMs: LONGEST_MESSAGE_SECONDS.consumed * 1000, context };
    const settled = await eachMessage(Records, { handle: settle, staysInQueue, notHandled, ...time, parking });
    parts.telemetry.batch(settled.map(({ result }) => result));
    const failed = settled.filter(({ result }) => staysInQueue(result));
    return { batchItemFailures: failed.map(({ messageId }) => ({ itemIdentifier: messageId })) };
  };
}

const envelope = z.looseObject({ 'detail-type': z.string(), detail: z.looseObject({}) });

function messageOf(body: string): { readonly name: string; readonly detail: unknown } | undefined {
  try {
    const { 'detail-type': name, detail } = envelope.parse(JSON.parse(body));
    return { name, detail };
  } catch {
    return undefined;
  }
}

function unexpected(name: string | undefined) {
  return name === undefined
    ? { kind: 'malformed' as const, detail: 'the envelope: is not valid' }
    : { kind: 'unexpected' as const, detail: name };
}
