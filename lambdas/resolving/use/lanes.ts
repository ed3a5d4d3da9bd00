/**
 * Maximum number of concurrent items, which mostly wait for a payment processor. Below the rate that processors allow
 * per second.
 */
const AT_ONCE = 10;

/**
 * Handles the items in order, several concurrently. Items with the same name are handled in sequence, because writes to
 * one chain exclude each other. The promise resolves when all items have ended.
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
