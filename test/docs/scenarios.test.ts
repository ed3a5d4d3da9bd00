import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { loadFeature } from 'jest-cucumber';
import { features, scenariosPage } from '../../docs/generate/scenarios.ts';

describe('docs/proof/scenarios.md', () => {
  test('equals the output of "npm run docs:tables"', () => {
    expect(readFileSync('docs/proof/scenarios.md', 'utf8')).toBe(scenariosPage());
  });

  test('lists every scenario of every feature', () => {
    for (const { file, title, scenarios } of features()) {
      const read = loadFeature(`test/features/${file}`);
      const all = [...read.scenarios, ...read.scenarioOutlines].map((each) => each.title);
      expect([title, [...scenarios].sort()]).toEqual([read.title, all.sort()]);
      expect(all.length).toBeGreaterThan(0);
    }
  });
});
