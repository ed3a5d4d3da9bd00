interface Placed {
  readonly at: string;
  readonly kind: string;
  readonly sequence: number | null;
}

/**
 * Sorts the entries by time, but the transitions by their sequence numbers, because the clocks of two processes can
 * differ. If a transition is moved behind its predecessor, later entries with the same sequence number move with it.
 */
export function inSequence<Entry extends Placed>(entries: readonly Entry[]): readonly Entry[] {
  const own = new Map<number, { readonly at: number; readonly shown: number }>();
  let last = Number.NEGATIVE_INFINITY;
  const isTransition = ({ kind }: Placed) => kind === 'transition';
  const numbered = entries
    .filter(isTransition)
    .toSorted((left, right) => Number(left.sequence) - Number(right.sequence));
  for (const { at, sequence } of numbered) {
    last = Math.max(last, Date.parse(at));
    own.set(Number(sequence), { at: Date.parse(at), shown: last });
  }
  const placeOf = ({ at, sequence }: Placed) => {
    const time = Date.parse(at);
    const transition = sequence === null ? undefined : own.get(sequence);
    return transition !== undefined && time >= transition.at ? Math.max(time, transition.shown) : time;
  };
  let number = 0;
  return entries
    .map((entry) => {
      number = entry.sequence ?? number;
      return { entry, place: placeOf(entry), number };
    })
    .toSorted((left, right) => left.place - right.place || left.number - right.number)
    .map(({ entry }) => entry);
}
