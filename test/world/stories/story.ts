import { readdirSync, readFileSync } from 'node:fs';
import type { History, Step } from '../simulator/contract.ts';

/**
 * History that once violated an oracle, or that shows required behavior. The recorded results of the steps show whether
 * the history still causes the situation that it was written for.
 */
interface StoryFile extends Omit<History, 'steps'> {
  readonly why: string;
  readonly steps: readonly (Step & { readonly end: string })[];
}

export interface Story {
  readonly why: string;
  readonly history: History;
  /** Sorted lines `<step id> <act>: <result>`. */
  readonly ends: readonly string[];
}

const ENDING = '.json';

/** Without the file extension. */
export const STORIES: readonly string[] = readdirSync(import.meta.dirname)
  .filter((name) => name.endsWith(ENDING))
  .map((name) => name.slice(0, -ENDING.length))
  .toSorted();

export function storyNamed(name: string): Story {
  const text = readFileSync(`${import.meta.dirname}/${name}${ENDING}`, 'utf8');
  const { why, steps, ...history } = JSON.parse(text) as StoryFile;
  return {
    why,
    history: { ...history, steps: steps.map(({ end: _end, ...step }) => step) },
    ends: steps.map(({ id, act, end }) => `${id} ${act}: ${end}`).toSorted(),
  };
}
