import type { PutEventsResultEntry } from '@aws-sdk/client-eventbridge';
import { EventBridgeClient, EventBridgeServiceException, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { EVENT_SOURCE } from '../../kernel/contract/events.ts';
import { AmbiguousError, RetryableError, TerminalError } from '../../kernel/faults.ts';
import type { PayonceEvent } from '../domain/event.ts';
import { BUS_CALL_INVALID, type EventPublisher, type PublishOutcome } from '../use/event-publisher.ts';

/** A healthy call takes some ten milliseconds. */
const REQUEST_TIMEOUT_MS = 5_000;
const CONNECTION_TIMEOUT_MS = 1_000;

/** Of one entry that will be refused for ever (Amazon EventBridge API reference, "PutEventsResultEntry"). All others may pass. */
const REFUSALS: ReadonlySet<string> = new Set(['MalformedDetail', 'InvalidArgument']);
/** Of a whole call of which nothing was taken. */
const THROTTLES: ReadonlySet<string> = new Set([
  'ThrottlingException',
  'TooManyRequestsException',
  'LimitExceededException',
]);

/** A client that does not retry by itself: retries belong to one layer, which knows which entries failed. */
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

/** Events on a bus of EventBridge: `source` payonce, `detail-type` the event's type, `detail` the event. */
export class EventBridgePublisher implements EventPublisher {
  readonly #client: EventBridgeClient;
  readonly #bus: string;

  constructor(client: EventBridgeClient, bus: string) {
    this.#client = client;
    this.#bus = bus;
  }

  async publish(events: readonly PayonceEvent[]): Promise<readonly PublishOutcome[]> {
    const entries = events.map((event) => ({
      EventBusName: this.#bus,
      Source: EVENT_SOURCE,
      DetailType: event.event.type,
      Detail: JSON.stringify(event),
    }));
    const results = await this.#put(entries);
    if (results.length === events.length) return results.map(outcomeOf);
    throw new AmbiguousError('bus_ambiguous', `the bus told of ${results.length} entries out of ${events.length}`);
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
  // No answer at all: a timeout, a reset, a name that did not resolve.
  const isAnswer = cause instanceof EventBridgeServiceException;
  if (!isAnswer || (cause.$metadata.httpStatusCode ?? 500) >= 500) {
    return new AmbiguousError('bus_ambiguous', 'the bus did not say what it took', { cause });
  }
  if (cause.name === 'ValidationException') {
    return new TerminalError(BUS_CALL_INVALID, 'the bus refused what a call holds', { cause });
  }
  return THROTTLES.has(cause.name)
    ? new RetryableError('bus_throttled', 'the bus does not take this now', { cause })
    : new TerminalError('bus_refused', 'the bus refused a call', { cause });
}
