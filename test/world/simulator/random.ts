/**
 * Draws random decisions by name. A decision does not depend on earlier decisions, so removing a step from a history
 * does not change the other decisions.
 */

/** From 0 up to, but not including, 1. Always the same for the same seed and label. */
export function fractionOf(seed: number, label: string): number {
  let high = 0xdeadbeef ^ seed;
  let low = 0x41c6ce57 ^ Math.floor(seed / 2 ** 32);
  for (let index = 0; index < label.length; index += 1) {
    const code = label.charCodeAt(index);
    high = Math.imul(high ^ code, 2_654_435_761);
    low = Math.imul(low ^ code, 1_597_334_677);
  }
  high = Math.imul(high ^ (high >>> 16), 2_246_822_507) ^ Math.imul(low ^ (low >>> 13), 3_266_489_909);
  low = Math.imul(low ^ (low >>> 16), 2_246_822_507) ^ Math.imul(high ^ (high >>> 13), 3_266_489_909);
  return ((low & 0x1f_ffff) * 2 ** 32 + (high >>> 0)) / 2 ** 53;
}

/** Each draw depends only on the seed, the name and the number of earlier draws. */
export class Dice {
  readonly #seed: number;
  readonly #name: string;
  #draws = 0;

  constructor(seed: number, name: string) {
    this.#seed = seed;
    this.#name = name;
  }

  /** The draws of the new object do not depend on the draws of this object. */
  named(name: string): Dice {
    return new Dice(this.#seed, `${this.#name}/${name}`);
  }

  fraction(): number {
    this.#draws += 1;
    return fractionOf(this.#seed, `${this.#name}#${this.#draws}`);
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  /** Both limits are included. */
  whole(from: number, to: number): number {
    return from + Math.floor(this.fraction() * (to - from + 1));
  }

  /** From `from` (at least 1) to `to`, both included, with a uniformly distributed order of magnitude. */
  magnitude(from: number, to: number): number {
    return Math.min(to, Math.floor(from * ((to + 1) / from) ** this.fraction()));
  }

  /** @throws Error when the list is empty */
  pick<Item>(items: readonly Item[]): Item {
    return this.weighted(items, () => 1);
  }

  /** @throws Error when no item has a positive weight */
  weighted<Item>(items: readonly Item[], weightOf: (item: Item) => number): Item {
    let left = this.fraction() * items.reduce((sum, item) => sum + weightOf(item), 0);
    for (const item of items) {
      left -= weightOf(item);
      if (left < 0) return item;
    }
    throw new Error('no item has a positive weight');
  }
}
