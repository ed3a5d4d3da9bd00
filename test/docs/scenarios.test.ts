import { expect, test } from '@jest/globals';
import { loadFeature } from 'jest-cucumber';
import { features } from '../../docs/generate/scenarios.ts';

test('the page of scenarios lists every scenario of every feature', () => {
  for (const { file, title, scenarios } of features()) {
    const read = loadFeature(`test/features/${file}`);
    const all = [...read.scenarios, ...read.scenarioOutlines].map((each) => each.title);
    expect([title, [...scenarios].sort()]).toEqual([read.title, all.sort()]);
    expect(all.length).toBeGreaterThan(0);
  }
});
