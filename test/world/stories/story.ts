import { readdirSync, readFileSync } from 'node:fs';
import type { History, Step } from '../simulator/contract.ts';

/**
 * A history that once violated an oracle, or that shows how the system must behave. The ends of its steps show that the story
 * still happens.
 */
interface StoryFile extends Omit<History, 'steps'> {
  readonly why: string;
  readonly steps: readonly (Step & { readonly end: string })[];
}

export interface Story {
  readonly why: string;
  readonly history: History;
  /** `<step> <act>: <end>`, sorted. */
  readonly ends: readonly string[];
}

const ENDING = '.json';

/** The names of the stories, without their ending. */
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
