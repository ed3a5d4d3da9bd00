import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import type { History, Step } from '../simulator/contract.ts';
import { play } from '../simulator/play.ts';

/**
 * A history that once violated an oracle, or that shows how the system must behave. The ends of its steps show that the story
 * still happens.
 */
interface Story extends Omit<History, 'steps'> {
  readonly why: string;
  readonly steps: readonly (Step & { readonly end: string })[];
}

const FILES = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.json'));

function storyIn(file: string): Story {
  return JSON.parse(readFileSync(`${import.meta.dirname}/${file}`, 'utf8')) as Story;
}

describe('a story violates no oracle:', () => {
  test.each(FILES.map((file) => [storyIn(file).why, file]))('%s', async (_why, file) => {
    const { steps, ...story } = storyIn(file);
    const { ends, violations } = await play({ ...story, steps: steps.map(({ end: _end, ...step }) => step) });
    expect(violations).toEqual([]);
    expect(ends.map(({ step, end }) => `${step.id} ${step.act}: ${end}`).toSorted()).toEqual(
      steps.map(({ id, act, end }) => `${id} ${act}: ${end}`).toSorted(),
    );
  });
});
