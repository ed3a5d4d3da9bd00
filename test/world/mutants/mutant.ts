import type { History } from '../simulator/contract.ts';

/** A planted fault: text of the product that is replaced. A history must show it. */
export interface Mutant {
  /** Lower case, with hyphens. */
  readonly name: string;
  /** What goes wrong, in one line. */
  readonly fault: string;
  /** The finding that is open again, for example `B01`. @default a kind of fault that no finding names */
  readonly finding?: string;
  readonly edits: readonly Edit[];
  /**
   * Without these steps a history cannot show the fault, so it is not played with it. Each is the name of an act, or some with `|`
   * between them; one that is there twice needs two steps. @default any history can
   */
  readonly needs?: readonly string[];
}

export interface Edit {
  /** Path from the root of the repository. */
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly find: string;
  readonly replace: string;
}

export function hasNeeded({ needs = [] }: Mutant, { steps }: Pick<History, 'steps'>): boolean {
  const left = steps.map(({ act }) => act);
  return needs.every((acts) => {
    const place = left.findIndex((act) => acts.split('|').includes(act));
    if (place !== -1) left.splice(place, 1);
    return place !== -1;
  });
}

/** @throws Error unless each `find` occurs exactly once */
export function edited(source: string, edits: readonly Edit[]): string {
  return edits.reduce((text, { file, find, replace }) => {
    const [before, after, ...more] = text.split(find);
    if (before === undefined || after === undefined || more.length > 0) {
      throw new Error(`${file}: the text to replace occurs ${more.length === 0 ? 'never' : 'more than once'}: ${find}`);
    }
    return `${before}${replace}${after}`;
  }, source);
}
