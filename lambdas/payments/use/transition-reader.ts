import {
  detailsOf,
  type FirstDetails,
  type OutcomePlace,
  type Transition,
  type TransitionPlace,
} from '../domain/transition.ts';

export interface TransitionReader {
  /** A strongly consistent read. */
  readTransition(place: TransitionPlace): Promise<Transition | undefined>;
}

/** @returns the transition, and the details of its payment; undefined when there is no such transition */
export async function readDetailed(
  transitions: TransitionReader,
  place: TransitionPlace,
): Promise<{ readonly transition: Transition; readonly first: FirstDetails } | undefined> {
  const [transition, first] = await Promise.all([
    transitions.readTransition(place),
    transitions.readTransition({ ...place, sequence: 1 }),
  ]);
  return transition === undefined || first === undefined ? undefined : { transition, first: detailsOf(first) };
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
