import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import type { EventOf, EventType } from './event-schemas.ts';
import { readEvent } from './event-schemas.ts';
import type { ConsumerTelemetry } from './event-telemetry.ts';

/** A consumer: the types of its events, and what it does with them. */
export interface EventHandlerDefinition<Type extends EventType, Handle> {
  /** One type, a list, or all. */
  readonly event: Type | readonly Type[] | '*';
  /** The handler name. It must never change: the records of effects contain it. */
  readonly handler: string;
  /** The business key, for example `commission:<order>`. Each key has one effect, permanently. @default the event's id */
  readonly key?: (event: EventOf<Type>) => string;
  /** Made by `inOurTables(…)` or `outside(…)`. */
  readonly handle: Handle;
}

/** A message that this code cannot read, complete and with the reason. */
export interface ParkedMessage {
  readonly body: string;
  readonly reason: 'malformed' | 'unknown_type' | 'unknown_version';
  readonly detail: string;
}

/** The parts of a consumer, wired in its function. */
export interface EventHandlerParts<Event, Handle> {
  readonly consume: (
    consumer: { readonly handler: string; readonly key?: (event: Event) => string; readonly handle: Handle },
    event: Event,
  ) => Promise<{ readonly kind: 'done' | 'done_before' | 'busy' }>;
  /** Parks a message for operators. */
  readonly parking: { park(message: ParkedMessage): Promise<void> };
  readonly telemetry: ConsumerTelemetry;
}

type SqsHandler = (event: SQSEvent) => Promise<SQSBatchResponse>;
type Came = 'done' | 'done_before' | 'not_asked_for' | 'parked' | 'busy' | 'failed';

/**
 * The handler of every `EventConsumer`'s queue. The messages of a batch are independent: a failed message is delivered again
 * alone, an unreadable message is parked with the reason, and neither blocks the others.
 */
export function createEventHandler<Type extends EventType, Handle>(
  definition: EventHandlerDefinition<Type, Handle>,
  parts: EventHandlerParts<EventOf<Type>, Handle>,
): SqsHandler {
  const { event: wanted, handler, key, handle } = definition;
  const consumer = { handler, handle, ...(key === undefined ? {} : { key }) };
  const isWanted = (type: string): boolean =>
    wanted === '*' || (typeof wanted === 'string' ? wanted === type : wanted.some((each) => each === type));

  const takeIn = async (body: string): Promise<{ readonly came: Came; readonly occurredAtMs?: number }> => {
    const read = readEvent(detailOf(body));
    if (read.kind === 'event') {
      const { event } = read;
      const { occurredAtMs } = event;
      if (!isWanted(event.event.type)) return { came: 'not_asked_for' };
      // `isWanted` has checked the type.
      const { kind } = await parts.consume(consumer, event as unknown as EventOf<Type>);
      return { came: kind, occurredAtMs };
    }
    if (read.type !== undefined && !isWanted(read.type)) return { came: 'not_asked_for' };
    const detail =
      read.kind === 'malformed' ? read.detail : read.kind === 'unknown_version' ? `version ${read.version}` : read.type;
    await parts.parking.park({ body, reason: read.kind, detail });
    return { came: 'parked' };
  };

  const settle = async ({ messageId, body }: SQSRecord) => {
    try {
      return { messageId, ...(await takeIn(body)) };
    } catch (error) {
      parts.telemetry.fault(messageId, error);
      return { messageId, came: 'failed' as const };
    }
  };

  return async ({ Records }) => {
    const settled = await Promise.all(Records.map(settle));
    parts.telemetry.batch(settled);
    const failed = settled.filter(({ came }) => came === 'busy' || came === 'failed');
    return { batchItemFailures: failed.map(({ messageId }) => ({ itemIdentifier: messageId })) };
  };
}

/** The `detail` of EventBridge's envelope. @returns undefined when there is none */
function detailOf(body: string): unknown {
  try {
    const envelope: unknown = JSON.parse(body);
    return typeof envelope === 'object' && envelope !== null && 'detail' in envelope ? envelope.detail : undefined;
  } catch {
    return undefined;
  }
}
