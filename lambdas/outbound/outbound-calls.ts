import type { OutboundMetric } from '../kernel/contract/metrics.ts';
import { AmbiguousError, RetryableError, TerminalError } from '../kernel/faults.ts';
import type { CallLimit } from '../kernel/world.ts';

export type Fault = RetryableError | AmbiguousError | TerminalError;

export function isFault(error: unknown): error is Fault {
  return error instanceof RetryableError || error instanceof AmbiguousError || error instanceof TerminalError;
}

export type Found<T> = { readonly kind: 'found'; readonly answer: T } | { readonly kind: 'absent' };

/** What the vendor can do about a call that it may have got already: it decides what follows a send without an answer. */
export type Resend<T> =
  /** The vendor knows our key and answers as it did the first time: sending again is the question. */
  | { readonly idempotent: 'by_key' }
  /** Nothing is sent again before the vendor has been asked for our reference. */
  | {
      readonly idempotent: 'by_lookup';
      readonly lookUp: (limit: CallLimit) => Promise<Found<T>>;
      /** So long after the send, a look-up may still miss it; only after that is its absence a proof. */
      readonly maxLagMs: number;
    }
  /** Sent once; whoever calls finds out, or asks a person. */
  | { readonly idempotent: 'never' };

interface OutboundStep<T> {
  /** For dead letters: `email.send`. */
  readonly operation: string;
  /** Unix milliseconds. Nothing is begun that could end later. */
  readonly deadlineMs: number;
  /** Must keep to its limit. @throws faults only, see `core/faults.ts` */
  readonly send: (limit: CallLimit) => Promise<T>;
}

export type OutboundCall<T> = OutboundStep<T> & Resend<T>;

/** A call that changes nothing: it may be sent again after anything, and may be the breaker's probe. */
export type OutboundRead<T> = OutboundStep<T>;

/** What becomes of a call that is given up: all of it is thrown, set aside, or set aside only where trying again cannot help. */
export type GivenUp = 'throw' | 'set_aside' | 'set_aside_terminal';

/** Whoever asked for it gets this in the place of a fault: the work is kept, and no redelivery is needed. */
export interface SetAside {
  readonly kind: 'set_aside';
  /** The fault's code. */
  readonly reason: string;
  readonly mayBeApplied: boolean;
}

export interface OutboundObserver {
  count(vendor: string, count: OutboundMetric): void;
}
