import type { PaymentId } from '../../kernel/ids.ts';
import type { Transition } from '../domain/transition.ts';

/** The position of a transition in the Ledger. */
export interface OutcomePlace {
  readonly paymentId: PaymentId;
  readonly sequence: number;
}

export interface TransitionReader {
  /** A strongly consistent read. */
  readTransition(place: OutcomePlace): Promise<Transition | undefined>;
}

export interface RecentOutcomes {
  /** All outcomes of one UTC minute, in no order. Read from an index that may lag by seconds. */
  outcomesOfMinute(minuteMs: number): Promise<readonly OutcomePlace[]>;
}

export interface LedgerAge {
  /** No outcome is older than this, clock skew included. 0 when it is not known. Unix milliseconds. */
  emptyBeforeMs(): Promise<number>;
}

/** The events that one consumer has processed. */
export interface SeenEvents {
  /** @returns the places that it has not processed */
  unseen(places: readonly OutcomePlace[]): Promise<readonly OutcomePlace[]>;
}
