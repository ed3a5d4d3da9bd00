import type { EventPublisher, PublishOutcome } from '../../app/ports/event-publisher.ts';
import { EVENT_SOURCE } from '../../contract/events.ts';
import type { PayonceEvent } from '../../core/event.ts';
import { AmbiguousError, RetryableError, TerminalError } from '../../core/faults.ts';
import { EventBridgeFault, type PutEvents, type PutEventsResult } from './put-events.ts';

/** Of one entry that will be refused for ever (Amazon EventBridge API reference, "PutEventsResultEntry"). All others may pass. */
const REFUSALS: ReadonlySet<string> = new Set(['MalformedDetail', 'InvalidArgument']);
/** Of a whole call of which nothing was taken. */
const THROTTLES: ReadonlySet<string> = new Set([
  'ThrottlingException',
  'TooManyRequestsException',
  'LimitExceededException',
]);

/** Events on a bus of EventBridge: `source` payonce, `detail-type` the event's type, `detail` the event. */
export class EventBridgePublisher implements EventPublisher {
  readonly #putEvents: PutEvents;
  readonly #bus: string;

  constructor(putEvents: PutEvents, bus: string) {
    this.#putEvents = putEvents;
    this.#bus = bus;
  }

  async publish(events: readonly PayonceEvent[]): Promise<readonly PublishOutcome[]> {
    const entries = events.map((event) => ({
      EventBusName: this.#bus,
      Source: EVENT_SOURCE,
      DetailType: event.event.type,
      Detail: JSON.stringify(event),
    }));
    try {
      return (await this.#putEvents(entries)).map(outcomeOf);
    } catch (error) {
      throw error instanceof EventBridgeFault ? faultOf(error, events.length) : error;
    }
  }
}

function outcomeOf({ EventId, ErrorCode }: PutEventsResult): PublishOutcome {
  if (EventId !== undefined) return { kind: 'published' };
  const code = ErrorCode ?? 'Unknown';
  return { kind: REFUSALS.has(code) ? 'refused' : 'not_now', code };
}

function faultOf(cause: EventBridgeFault, entries: number): Error {
  const { code, status } = cause;
  if (THROTTLES.has(code)) return new RetryableError('bus_throttled', 'the bus does not take this now', { cause });
  if (status === undefined || status >= 500) {
    return new AmbiguousError('bus_ambiguous', 'the bus did not say what it took', { cause });
  }
  return new TerminalError('bus_refused', `the bus refused ${entries} entries`, { cause });
}
