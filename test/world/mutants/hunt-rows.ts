import { readFileSync, writeFileSync } from 'node:fs';
import type { Hunt, StoryFinding } from './find-mutants.ts';
import { MUTANTS } from './mutants.ts';

const FILE = new URL('../../../docs/proof/mutants.json', import.meta.url);

/** Findings about a mutant, as docs/proof/planted-faults.md reports them. */
export interface HuntRow {
  readonly mutant: string;
  readonly random?: RandomHunt;
  /** First saved story that violates an oracle, and the oracle. */
  readonly story?: { readonly name: string; readonly oracle: string };
}

interface RandomHunt {
  /**
   * Number of histories until each series found the fault, including skipped histories, in ascending order. Null for a
   * series that did not find the fault.
   */
  readonly histories: readonly (number | null)[];
  /** Per series. */
  readonly most: number;
  /** Profiles that the histories use in turn. */
  readonly profiles: readonly string[];
  /** Number of histories that ran the replaced code. */
  readonly reached: number;
  /** @default no history reveals the fault */
  readonly shown?: { readonly seed: number; readonly profile: string; readonly oracle: string };
}

export function readHuntRows(): readonly HuntRow[] {
  return JSON.parse(readFileSync(FILE, 'utf8')) as readonly HuntRow[];
}

export function writeHunt(
  { mutant, histories, oracle, seed, profile, reached }: Hunt,
  { most, profiles }: Pick<RandomHunt, 'most' | 'profiles'>,
): void {
  const isShown = oracle !== undefined && seed !== undefined && profile !== undefined;
  const random: RandomHunt = {
    histories: histories.map((count) => count ?? null),
    most,
    profiles,
    reached,
    ...(isShown ? { shown: { seed, profile, oracle } } : {}),
  };
  write(mutant, { random });
}

export function writeStoryFinding({ mutant, story, oracle }: StoryFinding): void {
  write(mutant, { story: story === undefined || oracle === undefined ? undefined : { name: story, oracle } });
}

/** Sorts the rows in the order of the mutants, and drops rows of deleted mutants. */
function write(mutant: string, news: { readonly [Name in 'random' | 'story']?: HuntRow[Name] | undefined }): void {
  const known = new Map(readHuntRows().map((row) => [row.mutant, row]));
  const rows = MUTANTS.flatMap(({ name }) => {
    const row = known.get(name);
    if (name === mutant) return [{ mutant, ...row, ...news }];
    return row === undefined ? [] : [row];
  });
  writeFileSync(FILE, `${JSON.stringify(rows, null, 2)}\n`);
}
