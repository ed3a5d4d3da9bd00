/** Every order of the items. */
export function permutations<Item>(items: readonly Item[]): readonly (readonly Item[])[] {
  if (items.length <= 1) return [items];
  return items.flatMap((first, index) => permutations(items.toSpliced(index, 1)).map((others) => [first, ...others]));
}
