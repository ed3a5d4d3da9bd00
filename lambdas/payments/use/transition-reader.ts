import {
  detailsOf,
  type FirstDetails,
  type OutcomePlace,
  type Transition,
  type TransitionPlace,
} from '../domain/transition.ts';

export interface TransitionReader {
  /** With strong consistency. */
  readTransition(place: TransitionPlace): Promise<Transition | undefined>;
}

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

/**
 * A position in the order of all outcomes: `<Unix milliseconds>` or `<Unix milliseconds>#<id>#<sequence>`. Positions
 * are compared as text.
 */
export type OutcomePosition = string;

export interface OutcomePage {
  /** Sorted by position. */
  readonly outcomes: readonly { readonly place: OutcomePlace; readonly position: OutcomePosition }[];
  /** False if more outcomes may follow. */
  readonly isLast: boolean;
}

export interface RecentOutcomes {
  /**
   * Lists the next outcomes after a position and before `untilMs`, from an index that may lag by seconds. The cost
   * grows with the number of outcomes, and with the number of days between `position` and `untilMs`.
   *
   * @param limit maximum number of outcomes; every page except the last has at least one outcome
   */
  outcomesAfter(position: OutcomePosition, untilMs: number, limit: number): Promise<OutcomePage>;
}

/** Returns the position before all outcomes of this time. */
export function positionAt(atMs: number): OutcomePosition {
  return String(atMs);
}

export function timeOf(position: OutcomePosition): number {
  return Number.parseInt(position, 10);
}

/** The events that one consumer has processed. */
export interface ProcessedEvents {
  unprocessed(places: readonly OutcomePlace[]): Promise<readonly OutcomePlace[]>;
}
