import type { History } from '../simulator/contract.ts';

/** A history must reveal the fault. */
export interface Mutant {
  /** Name in lower case, with hyphens. */
  readonly name: string;
  /** In one line. */
  readonly fault: string;
  /**
   * Id of a past finding that the fault reintroduces, for example `B01`.
   *
   * @default the fault is not from a finding
   */
  readonly finding?: string;
  readonly edits: readonly Edit[];
  /**
   * Steps that a history needs to reveal the fault; other histories are skipped. Each entry is the name of an act, or
   * several alternative names separated by `|`. An entry that occurs twice requires two steps.
   *
   * @default every history is played
   */
  readonly needs?: readonly string[];
}

export interface Edit {
  /** Path from the root of the repository. */
  readonly file: string;
  /** Text to replace, which must occur exactly once in the file. */
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
