import { describe, expect, test } from '@jest/globals';
import { changesSimulation } from '../../run/turns.ts';
import { sliceOf } from '../../support/slice.ts';
import { countCells, reachedBy, reachedUnreachableCells } from '../simulator/coverage.ts';
import { play } from '../simulator/play.ts';
import { STORIES, storyNamed } from './story.ts';

const cells = countCells();
/** All stories if code that the simulator plays has changed, otherwise a fifth of them. */
const played = changesSimulation() ? STORIES : sliceOf(STORIES, 5);

describe('a story violates no oracle:', () => {
  test.each(played.map((name) => [storyNamed(name).why, name]))('%s', async (_why, name) => {
    const story = storyNamed(name);
    const { system, ends, violations } = await play(story.history);
    const reached = reachedBy(system, story.history, { cells, ends });
    expect([...violations, ...reachedUnreachableCells(reached)]).toEqual([]);
    expect(ends.map(({ step, end }) => `${step.id} ${step.act}: ${end}`).toSorted()).toEqual(story.ends);
  });
});
