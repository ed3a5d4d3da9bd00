import type { Processor } from '../../payments/use/processor.ts';

/**
 * Number of lanes for items that have just started, and number of lanes for each system. Items mostly wait for a
 * payment processor. With this many lanes, the requests per second stay below the processors' limits.
 */
const AT_ONCE = 10;

/**
 * Frees the item's current lane, waits until the system (for example, a payment processor) has a free lane, and
 * occupies that lane until the item is handled. A slow system therefore delays no item that waits for another system.
 *
 * @param system the name of the system for which the item is about to wait
 * @returns whether the item had to wait for the lane
 */
export type EnterLane = (system: string) => Promise<boolean>;

export function laneOf({ name, mode }: Pick<Processor, 'name' | 'mode'>): string {
  return `${name} ${mode}`;
}

/**
 * Items with the same name form a group. Groups are started in order. Within a group, items are handled one at a time,
 * because one of two concurrent writes to a chain fails.
 */
export async function inParallelByName<Item>(
  items: readonly Item[],
  nameOf: (item: Item) => string,
  handle: (item: Item, enter: EnterLane) => Promise<void>,
): Promise<void> {
  const beginning = new Lanes();
  const systems = new Map<string, Lanes>();
  const inLane = async (item: Item): Promise<void> => {
    let held = beginning;
    await held.take();
    const enter: EnterLane = async (system) => {
      const lanes = systems.get(system) ?? new Lanes();
      systems.set(system, lanes);
      if (lanes === held) return false;
      held.release();
      held = lanes;
      return lanes.take();
    };
    try {
      await handle(item, enter);
    } finally {
      held.release();
    }
  };
  const groups = [...Map.groupBy(items, nameOf).values()];
  await Promise.all(
    groups.map(async (group) => {
      for (const item of group) await inLane(item);
    }),
  );
}

class Lanes {
  readonly #waiting: (() => void)[] = [];
  #free = AT_ONCE;

  /** Occupies a lane, in the order of the calls. @returns whether the caller had to wait */
  async take(): Promise<boolean> {
    if (this.#free > 0) {
      this.#free -= 1;
      return false;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    await promise;
    return true;
  }

  release(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}
