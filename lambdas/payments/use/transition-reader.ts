import type { PaymentId } from '../../kernel/ids.ts';
import type { Transition } from '../domain/transition.ts';

/** A transition's place. */
export interface OutcomePlace {
  readonly paymentId: PaymentId;
  readonly sequence: number;
}

export interface TransitionReader {
  /** Consistent: what was committed is there. */
  readTransition(place: OutcomePlace): Promise<Transition | undefined>;
}

export interface RecentOutcomes {
  /** All outcomes of one minute of UTC, in no order. An index tells, which may lag by seconds. */
  outcomesOfMinute(minuteMs: number): Promise<readonly OutcomePlace[]>;
}

export interface LedgerAge {
  /** Before this time there is no outcome, whatever clocks say; 0 when nobody can tell. Unix milliseconds. */
  emptyBeforeMs(): Promise<number>;
}

/** What some consumer has taken in already. */
export interface SeenEvents {
  /** @returns those that it has not */
  unseen(places: readonly OutcomePlace[]): Promise<readonly OutcomePlace[]>;
}
