/**
 * Returns the entries in the order of the transitions, whose numbers do not depend on the clocks of several processes.
 * An entry without a transition stays after the entries that are older.
 */
export function inSequence<Entry extends { readonly sequence: number | null }>(
  entries: readonly Entry[],
): readonly Entry[] {
  let last = 0;
  return entries
    .map((entry) => {
      last = Math.max(last, entry.sequence ?? last);
      return { entry, place: entry.sequence ?? last };
    })
    .toSorted((left, right) => left.place - right.place)
    .map(({ entry }) => entry);
}
