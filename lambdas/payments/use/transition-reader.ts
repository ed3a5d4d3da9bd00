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

/** A position in the order of all outcomes: `<Unix milliseconds>`, or `<Unix milliseconds>#<id>#<sequence>`. Compared as text. */
export type OutcomePosition = string;

export interface OutcomePage {
  /** In their order. */
  readonly outcomes: readonly { readonly place: OutcomePlace; readonly position: OutcomePosition }[];
  /** False when there may be more outcomes after these. */
  readonly isLast: boolean;
}

export interface RecentOutcomes {
  /**
   * The next outcomes after a position and before `untilMs`. Read from an index that may lag by seconds. The cost grows
   * with the number of outcomes and of days.
   *
   * @param limit maximum number of outcomes; every page but the last has at least one
   */
  outcomesAfter(position: OutcomePosition, untilMs: number, limit: number): Promise<OutcomePage>;
}

/** The position before all outcomes of this time. */
export function positionAt(atMs: number): OutcomePosition {
  return String(atMs);
}

/** Unix milliseconds. */
export function timeOf(position: OutcomePosition): number {
  return Number.parseInt(position, 10);
}

/** The events that one consumer has processed. */
export interface ProcessedEvents {
  /** @returns the places that it has not processed */
  unprocessed(places: readonly OutcomePlace[]): Promise<readonly OutcomePlace[]>;
}
