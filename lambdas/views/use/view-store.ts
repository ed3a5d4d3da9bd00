import type { ViewKey, ViewRow } from '../domain/views.ts';

/** Some rows of one partition, in the order of their sort keys. */
export interface ViewRange {
  readonly partition: string;
  /** Inclusive. */
  readonly from: string;
  /** Exclusive. */
  readonly until: string;
  /** @default false: lowest first */
  readonly descending?: boolean;
  readonly limit: number;
  /** What was written is there; costs twice as much. @default false */
  readonly consistent?: boolean;
}

/** What one row is to become, and what it must be now. */
export interface RowChange {
  readonly key: ViewKey;
  /** As it was read; null when there must be none; left out when it does not matter. */
  readonly from?: ViewRow | null;
  /** Left out to remove it. */
  readonly to?: ViewRow;
}

/** Read models: all of it can be thrown away and made again. */
export interface ViewStore {
  /** Puts whole rows, by their keys, whatever is there. */
  put(rows: readonly ViewRow[]): Promise<void>;
  /** Consistent. */
  read(key: ViewKey): Promise<ViewRow | undefined>;
  /**
   * All or nothing.
   *
   * @returns false when a row is not what it must be; after a lost answer also when it was changed by this very call, so
   *   whoever is refused reads again
   */
  exchange(changes: readonly RowChange[]): Promise<boolean>;
  /** As many rows as asked for, unless there are no more. */
  range(range: ViewRange): Promise<readonly ViewRow[]>;
}

/** Where a walk goes on; its meaning is the store's own. */
export type WalkPosition = string;

export interface WalkStep {
  /** From 0. */
  readonly segment: number;
  readonly segments: number;
  readonly after?: WalkPosition;
}

export interface WalkPage<Found> {
  readonly found: readonly Found[];
  /** Left out at the end. */
  readonly next?: WalkPosition;
}

/** For commands alone: goes through all there is, in segments that several walkers may take at once. */
export interface ViewWalk {
  walk(step: WalkStep): Promise<WalkPage<ViewRow>>;
}
