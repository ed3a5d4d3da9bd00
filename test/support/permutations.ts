/** Each order counts as a case of the file's budget. */
export function permutations<Item>(items: readonly Item[]): readonly (readonly Item[])[] {
  const orders = ordersOf(items);
  globalThis.spendCases?.(orders.length);
  return orders;
}

function ordersOf<Item>(items: readonly Item[]): readonly (readonly Item[])[] {
  if (items.length <= 1) return [items];
  return items.flatMap((first, index) => ordersOf(items.toSpliced(index, 1)).map((others) => [first, ...others]));
}
