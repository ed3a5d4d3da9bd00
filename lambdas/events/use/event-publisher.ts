import type { AnyEvent } from '../domain/event.ts';

export type PublishOutcome =
  | { readonly kind: 'published' }
  | { readonly kind: 'not_now'; readonly code: string }
  | { readonly kind: 'refused'; readonly code: string };

/** An event that is published twice has the same id, so consumers recognize it. */
export interface EventPublisher {
  /**
   * @param events at most `MAX_ENTRIES` events, with at most `MAX_BYTES` in total
   * @param traces the X-Ray headers of the executions that caused the events @default the trace of the execution that
   * publishes
   * @throws RetryableError, AmbiguousError or TerminalError when the whole request failed
   */
  publish(events: readonly AnyEvent[], traces?: Traces): Promise<readonly PublishOutcome[]>;
}

export type Traces = ReadonlyMap<AnyEvent, string>;

/**
 * Code of the TerminalError for a request that the SDK could not send, or whose entries the bus found invalid. No entry
 * was accepted, so the events can be retried one by one.
 */
export const BUS_CALL_INVALID = 'bus_call_invalid';

/** Maximum number of entries per request (Amazon EventBridge API reference, "PutEvents"). */
export const MAX_ENTRIES = 10;
/** Maximum size of a request, in bytes (Amazon EventBridge user guide, "Calculating PutEvents event entry size"). */
export const MAX_BYTES = 256 * 1024;
