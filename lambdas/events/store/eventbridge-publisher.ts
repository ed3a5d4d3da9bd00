import type { PutEventsResultEntry } from '@aws-sdk/client-eventbridge';
import { EventBridgeClient, EventBridgeServiceException, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { EVENT_SOURCE } from '../../kernel/contract/events.ts';
import { defined } from '../../kernel/defined.ts';
import { AmbiguousError, RetryableError, TerminalError } from '../../kernel/faults.ts';
import { isAfterAttempt } from '../../kernel/platform/sdk-errors.ts';
import { type AnyEvent, nameOfEvent } from '../domain/event.ts';
import { BUS_CALL_INVALID, type EventPublisher, type PublishOutcome, type Traces } from '../use/event-publisher.ts';

/** Timeout of one request, in milliseconds. A request usually takes about 10 ms. */
const REQUEST_TIMEOUT_MS = 5_000;
const CONNECTION_TIMEOUT_MS = 1_000;

/**
 * Error codes of entries that the bus refuses permanently (Amazon EventBridge API reference, "PutEventsResultEntry").
 */
const REFUSALS: ReadonlySet<string> = new Set(['MalformedDetail', 'InvalidArgument']);
/** Error codes with which the bus throttles a whole request. It then accepted none of the entries. */
const THROTTLES: ReadonlySet<string> = new Set([
  'ThrottlingException',
  'TooManyRequestsException',
  'LimitExceededException',
]);

/** `publishAll` retries, because it knows which entries failed. */
export function eventBridgeClient(): EventBridgeClient {
  return new EventBridgeClient({
    maxAttempts: 1,
    requestHandler: {
      requestTimeout: REQUEST_TIMEOUT_MS,
      throwOnRequestTimeout: true,
      connectionTimeout: CONNECTION_TIMEOUT_MS,
    },
  });
}

export class EventBridgePublisher implements EventPublisher {
  readonly #client: EventBridgeClient;
  readonly #bus: string;

  constructor(client: EventBridgeClient, bus: string) {
    this.#client = client;
    this.#bus = bus;
  }

  async publish(events: readonly AnyEvent[], traces?: Traces): Promise<readonly PublishOutcome[]> {
    const entries = events.map((event) => {
      const TraceHeader = traces?.get(event);
      return {
        EventBusName: this.#bus,
        Source: EVENT_SOURCE,
        DetailType: nameOfEvent(event.event),
        Detail: JSON.stringify(event),
        ...defined({ TraceHeader }),
      };
    });
    const results = await this.#put(entries);
    if (results.length === events.length) return results.map(outcomeOf);
    throw new AmbiguousError(
      'bus_ambiguous',
      `the bus returned ${results.length} results for ${events.length} entries`,
    );
  }

  async #put(
    Entries: ConstructorParameters<typeof PutEventsCommand>[0]['Entries'],
  ): Promise<readonly PutEventsResultEntry[]> {
    try {
      const { Entries: results = [] } = await this.#client.send(new PutEventsCommand({ Entries }));
      return results;
    } catch (error) {
      throw faultOf(error);
    }
  }
}

function outcomeOf({ EventId, ErrorCode }: PutEventsResultEntry): PublishOutcome {
  if (EventId !== undefined) return { kind: 'published' };
  const code = ErrorCode ?? 'Unknown';
  return { kind: REFUSALS.has(code) ? 'refused' : 'not_now', code };
}

function faultOf(cause: unknown): Error {
  if (!isAfterAttempt(cause))
    return new TerminalError(BUS_CALL_INVALID, 'a call to the bus could not be sent', { cause });
  // False if no response arrived, for example after a timeout, a connection reset or a DNS failure.
  const isAnswer = cause instanceof EventBridgeServiceException;
  if (!isAnswer || (cause.$metadata.httpStatusCode ?? 500) >= 500) {
    return new AmbiguousError('bus_ambiguous', 'the bus gave no usable response', { cause });
  }
  if (cause.name === 'ValidationException') {
    return new TerminalError(BUS_CALL_INVALID, 'the bus refused the entries of a call', { cause });
  }
  return THROTTLES.has(cause.name)
    ? new RetryableError('bus_throttled', 'the bus throttled a call', { cause })
    : new TerminalError('bus_refused', 'the bus refused a call', { cause });
}
