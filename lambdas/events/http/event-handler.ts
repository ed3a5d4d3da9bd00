import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import type { EventOf, EventType } from './event-schemas.ts';
import { readEvent } from './event-schemas.ts';
import type { ConsumerTelemetry } from './event-telemetry.ts';

/** What a consumer wants, and what it does with it. */
export interface EventHandlerDefinition<Type extends EventType, Handle> {
  /** One type, a list, or all. */
  readonly event: Type | readonly Type[] | '*';
  /** The consumer's name, for ever: effects are remembered under it. */
  readonly handler: string;
  /** One effect for each of these, for ever, as `commission:<order>`. @default one effect for each event */
  readonly key?: (event: EventOf<Type>) => string;
  /** By `inOurTables(…)` or `outside(…)`. */
  readonly handle: Handle;
}

/** A message that nobody here can read, whole, with the reason. */
export interface ParkedMessage {
  readonly body: string;
  readonly reason: 'malformed' | 'unknown_type' | 'unknown_version';
  readonly detail: string;
}

/** What runs a consumer: the use case and its surroundings, put together in the function's folder. */
export interface EventHandlerParts<Event, Handle> {
  readonly consume: (
    consumer: { readonly handler: string; readonly key?: (event: Event) => string; readonly handle: Handle },
    event: Event,
  ) => Promise<{ readonly kind: 'done' | 'done_before' | 'busy' }>;
  /** Sets a message aside where people look. */
  readonly parking: { park(message: ParkedMessage): Promise<void> };
  readonly telemetry: ConsumerTelemetry;
}

type SqsHandler = (event: SQSEvent) => Promise<SQSBatchResponse>;
type Came = 'done' | 'done_before' | 'not_asked_for' | 'parked' | 'busy' | 'failed';

/**
 * The one way to consume events: a function behind the queue of an `EventConsumer`. Each message of a batch goes by
 * itself: one that fails comes again alone, one that cannot be read is parked with its reason, and neither holds up the
 * others.
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
      // `isWanted` says that it is of these types.
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

/** EventBridge puts its own envelope around the event. @returns undefined when it is not there */
function detailOf(body: string): unknown {
  try {
    const envelope: unknown = JSON.parse(body);
    return typeof envelope === 'object' && envelope !== null && 'detail' in envelope ? envelope.detail : undefined;
  } catch {
    return undefined;
  }
}
