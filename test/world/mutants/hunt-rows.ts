import { readFileSync, writeFileSync } from 'node:fs';
import type { Hunt, StoryFinding } from './find-mutants.ts';
import { MUTANTS } from './mutants.ts';

const FILE = new URL('../../../docs/proof/mutants.json', import.meta.url);

/** What is known of a mutant, as docs/proof.md tells it. */
export interface HuntRow {
  readonly mutant: string;
  readonly random?: RandomHunt;
  /** A kept story that shows it, and the oracle. */
  readonly story?: { readonly name: string; readonly oracle: string };
}

interface RandomHunt {
  /** Histories until it was found, of each row of histories; null when it was not found. Sorted. */
  readonly histories: readonly (number | null)[];
  /** Histories of one row, at most. */
  readonly most: number;
  /** The profiles of the histories, in turn. */
  readonly profiles: readonly string[];
  /** Histories in which the replaced text was run. */
  readonly reached: number;
  /** The history that shows the fault. @default none does */
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

/** A story that shows the mutant no more is taken out of its row. */
export function writeStoryFinding({ mutant, story, oracle }: StoryFinding): void {
  write(mutant, { story: story === undefined || oracle === undefined ? undefined : { name: story, oracle } });
}

/** Puts what is new into the mutant's row. Rows are in the order of the mutants; those of mutants that are no more are dropped. */
function write(mutant: string, news: { readonly [Name in 'random' | 'story']?: HuntRow[Name] | undefined }): void {
  const known = new Map(readHuntRows().map((row) => [row.mutant, row]));
  const rows = MUTANTS.flatMap(({ name }) => {
    const row = known.get(name);
    if (name === mutant) return [{ mutant, ...row, ...news }];
    return row === undefined ? [] : [row];
  });
  writeFileSync(FILE, `${JSON.stringify(rows, null, 2)}\n`);
}
