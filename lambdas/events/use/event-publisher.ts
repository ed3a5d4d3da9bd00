import type { PayonceEvent } from '../domain/event.ts';

/** What became of one event. */
export type PublishOutcome =
  | { readonly kind: 'published' }
  /** Trying again may help. */
  | { readonly kind: 'not_now'; readonly code: string }
  /** It will never be taken as it is. */
  | { readonly kind: 'refused'; readonly code: string };

/** Puts events where everybody can subscribe to them. An event that is published twice is the same event: its id is. */
export interface EventPublisher {
  /**
   * @param events at most `MAX_ENTRIES`, and together at most `MAX_BYTES`
   * @returns an outcome for each, in their order
   * @throws RetryableError, AmbiguousError or TerminalError when nothing can be said of any
   */
  publish(events: readonly PayonceEvent[]): Promise<readonly PublishOutcome[]>;
}

/** The `code` of a TerminalError that is due to what the call holds, and not to who calls: nothing of it was taken. */
export const BUS_CALL_INVALID = 'bus_call_invalid';

/** One call takes so many (Amazon EventBridge API reference, "PutEvents"). */
export const MAX_ENTRIES = 10;
/** One call holds so much (Amazon EventBridge user guide, "Calculating PutEvents event entry size"). Bytes. */
export const MAX_BYTES = 256 * 1024;
