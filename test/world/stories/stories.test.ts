import { describe, expect, test } from '@jest/globals';
import { play } from '../simulator/play.ts';
import { STORIES, storyNamed } from './story.ts';

describe('a story violates no oracle:', () => {
  test.each(STORIES.map((name) => [storyNamed(name).why, name]))('%s', async (_why, name) => {
    const story = storyNamed(name);
    const { ends, violations } = await play(story.history);
    expect(violations).toEqual([]);
    expect(ends.map(({ step, end }) => `${step.id} ${step.act}: ${end}`).toSorted()).toEqual(story.ends);
  });
});
