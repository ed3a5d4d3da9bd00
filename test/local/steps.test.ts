import { expect, test } from '@jest/globals';
import { Steps } from '../../local/steps.ts';

test('a start shows how long each of its steps took, and all steps together', () => {
  let nowMs = 5_000;
  const steps = new Steps(() => nowMs);
  for (const [step, ms] of [
    ['Python environment', 400],
    ['Local AWS', 100],
    ['Local AWS', 2_950],
    ['Stacks', 61_000],
  ] as const) {
    steps.begin(step);
    nowMs += ms;
  }
  expect(steps.summary()).toBe('Ready after 64.5 s: Python environment 0.4 s, Local AWS 3.0 s, Stacks 61.0 s.');
});
