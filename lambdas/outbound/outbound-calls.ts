import type { OutboundMetric } from '../kernel/contract/metrics.ts';
import { AmbiguousError, RetryableError, TerminalError } from '../kernel/faults.ts';
import type { CallLimit } from '../kernel/world.ts';

export type Fault = RetryableError | AmbiguousError | TerminalError;

export function isFault(error: unknown): error is Fault {
  return error instanceof RetryableError || error instanceof AmbiguousError || error instanceof TerminalError;
}

export type Found<T> = { readonly kind: 'found'; readonly answer: T } | { readonly kind: 'absent' };

/**
 * Declares whether and how the vendor recognizes a repeated call. This determines how a send without a response is
 * handled.
 */
export type Resend<T> =
  /** The vendor recognizes the idempotency key and applies the call only once, so the call is sent again. */
  | { readonly idempotent: 'by_key' }
  /** Before the call is sent again, the vendor is searched for Payonce's reference. */
  | {
      readonly idempotent: 'by_lookup';
      readonly lookUp: (limit: CallLimit) => Promise<Found<T>>;
      /**
       * Time after a send during which a look-up may not find the call yet, in milliseconds. If a look-up after this
       * time finds nothing, the call was not applied.
       */
      readonly maxLagMs: number;
    }
  /** The call is not sent again. The caller determines the outcome, or reports it for review. */
  | { readonly idempotent: 'never' };

interface OutboundStep<T> {
  /** The name of the operation in dead letters, for example `email.send`. */
  readonly operation: string;
  /** Id of the object that the call is about, such as an order. Used in dead letters. @default none */
  readonly about?: string | undefined;
  /** Deadline of the call, in Unix milliseconds. The time limit of each attempt ends by then. */
  readonly deadlineMs: number;
  /** Whether an earlier process may have sent the call; a dead letter records this. @default false */
  readonly mayBeSent?: boolean;
  /** Sends the call, and must end within the limit. @throws only faults (`kernel/faults.ts`) */
  readonly send: (limit: CallLimit) => Promise<T>;
}

export type OutboundCall<T> = OutboundStep<T> & Resend<T>;

/** A call without effects. It may be sent again after any fault, and may be the breaker's probe. */
export type OutboundRead<T> = OutboundStep<T>;

/**
 * Handling of a call whose attempts have all failed. After a terminal fault, when a retry cannot help, every value
 * except `throw` dead-letters the call.
 *
 *   throw                  throws every fault, and stores nothing
 *   dead_letter            also dead-letters the call after any other fault
 *   dead_letter_terminal   throws any other fault
 *   delay                  after any other fault, a delayed message makes the last attempt; if it fails, the call is
 *                          dead-lettered
 */
export type OnGivenUp = 'throw' | 'dead_letter' | 'dead_letter_terminal' | 'delay';

/**
 * The outcome of a call that was stored in a queue after all its attempts failed. The call's fault is not thrown,
 * because no redelivery is needed.
 */
export interface DeadLettered {
  readonly kind: 'dead_lettered' | 'delayed';
  /** The fault's code. */
  readonly reason: string;
  readonly mayBeApplied: boolean;
}

export interface OutboundObserver {
  count(vendor: string, count: OutboundMetric): void;
}
