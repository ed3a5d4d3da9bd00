/**
 * Sorts the entries by the numbers of their transitions, because the clocks of several processes can differ. An entry
 * without a transition stays after all entries that precede it.
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
