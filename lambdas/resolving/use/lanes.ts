/** The time of a look is the answer of a processor, so some are made at once. Fewer than processors allow in a second. */
const AT_ONCE = 10;

/**
 * Handles the items in their order, some at once; those of one name one after another, because writes to one chain exclude each other.
 * It ends when all have ended.
 */
export async function inLanes<Item>(
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
