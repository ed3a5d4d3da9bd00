/**
 * Maximum number of items that are handled concurrently. The items mostly wait for a payment processor, and their
 * request rate stays below the processors' limits per second.
 */
const AT_ONCE = 10;

/**
 * Handles several items concurrently. Items with the same name form a group. Groups are started in order. Within a
 * group, items are handled one at a time, because two writes to one chain exclude each other. The promise resolves when
 * all items are completed.
 */
export async function inParallelByName<Item>(
  items: readonly Item[],
  nameOf: (item: Item) => string,
  handle: (item: Item) => Promise<void>,
): Promise<void> {
  const waiting = Map.groupBy(items, nameOf).values();
  const work = async (): Promise<void> => {
    for (const lane of waiting) for (const item of lane) await handle(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}
