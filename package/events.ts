/** `payonce/events`: the events on the bus, and the handler for your own consumers. */
import './node-version.ts';
import type { EventName } from '../lambdas/events/contract.ts';
import { typeOfEvent } from '../lambdas/events/domain/event.ts';
import { type EventOf, readEvent } from '../lambdas/events/http/event-schemas.ts';
import type { TransactItem } from '../lambdas/once/store/transact-items.ts';
import {
  type BusEvent,
  createOnce,
  type EventHandler,
  type OnceOptions,
  type ParkedMessage,
  type PostgresEffect,
  type PostgresOnceOptions,
} from '../lambdas/services/once.ts';
import { UnreadableEvent } from '../lambdas/services/use/consume-event.ts';

export {
  ALL_EVENTS,
  ENDPOINT_EVENTS,
  type EventName,
  EventNames,
  PUBLIC_EVENTS,
  type TypeOfEvent,
} from '../lambdas/events/contract.ts';
export { type EventOf, EventSchemas, type ReadEvent, readEvent } from '../lambdas/events/http/event-schemas.ts';

interface ConsumerOptions<Name extends EventName> {
  /** The events that the consumer's rule selects, by their names in `addConsumer`. */
  readonly events: readonly Name[];
  /** The handler name, in lower case with hyphens. Records contain it, so it must never change. */
  readonly handler: string;
  /**
   * Returns the business key, for example the order's id. Each key takes effect only once, because its record never
   * expires. An event whose key is empty fails.
   * @default the event's id, whose record is kept for the retention of the scope `events`, 30 days by default
   */
  readonly key?: (event: EventOf<Name>) => string;
  /**
   * Stores a Kafka or NATS message that can never be processed: it matches no schema of these events, is too old, or
   * its business key is empty.
   * @default none: the message fails at each redelivery
   */
  readonly park?: (message: ParkedMessage) => Promise<void>;
}

/** Options of a consumer with records in a DynamoDB table. */
export interface EventHandlerOptions<Name extends EventName>
  extends ConsumerOptions<Name>,
    Pick<OnceOptions, 'table' | 'client' | 'retentionHours'> {
  /**
   * Returns the writes for an event, at most 99. They are committed in one transaction with the event's record. Called
   * again if a condition failed.
   */
  readonly handle: (event: EventOf<Name>) => Promise<readonly TransactItem[]>;
}

/** Options of a consumer with records in a PostgreSQL database. */
export interface PostgresEventHandlerOptions<Name extends EventName>
  extends ConsumerOptions<Name>,
    PostgresOnceOptions {
  /**
   * Writes the rows for an event with `tx`. They are committed in one transaction with the event's record. Called again
   * after a conflict or a lost connection.
   */
  readonly handle: (event: EventOf<Name>, effect: PostgresEffect) => Promise<void>;
}

/**
 * Creates a handler for Payonce's events from EventBridge, SQS, Kafka or NATS. Each event takes effect only once,
 * however often and over however many transports it is delivered. A message that fails, or that matches no schema of
 * these events, is redelivered; SQS redelivers each message separately, and finally moves it to the dead-letter queue.
 *
 * @throws Error when an option is not valid
 */
export function createEventHandler<const Name extends EventName>(
  options: PostgresEventHandlerOptions<Name>,
): EventHandler;
export function createEventHandler<const Name extends EventName>(options: EventHandlerOptions<Name>): EventHandler;
export function createEventHandler<const Name extends EventName>(
  options: EventHandlerOptions<Name> | PostgresEventHandlerOptions<Name>,
): EventHandler {
  const { events, handler, key, park } = options;
  const read = (given: BusEvent): EventOf<Name> => {
    const name = events.find((each) => typeOfEvent(each) === given.event.type);
    if (name === undefined)
      throw new UnreadableEvent(
        `${handler} does not handle ${given.event.type}: its rule selects more events than its handler.`,
      );
    const known = readEvent(name, given);
    if (known.kind === 'event') return known.event;
    throw new UnreadableEvent(`${given.event.id} is ${known.kind}: ${known.detail}`);
  };
  const consumer = {
    handler,
    ...(key === undefined ? {} : { key: (given: BusEvent) => key(read(given)) }),
    ...(park === undefined ? {} : { park }),
  };
  if ('postgres' in options) {
    const { handle, ...rest } = options;
    return createOnce(rest).createEventHandler({
      ...consumer,
      handle: async (given, effect) => handle(read(given), effect),
    });
  }
  const { handle, ...rest } = options;
  return createOnce(rest).createEventHandler({ ...consumer, handle: async (given) => handle(read(given)) });
}
