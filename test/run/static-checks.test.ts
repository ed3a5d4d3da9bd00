import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from '@jest/globals';

const PROJECT = resolve(import.meta.dirname, '..', '..');

// The linter also checks types. `npm run types` checks the files that the linter ignores, so each ignored file must be
// in a project of that script.
test('the linter checks all TypeScript files except the generated types of the API', () => {
  const { ignorePatterns } = JSON.parse(readFileSync(resolve(PROJECT, '.oxlintrc.json'), 'utf8')) as {
    readonly ignorePatterns: readonly string[];
  };
  expect(ignorePatterns.filter((pattern) => /\.[cm]?tsx?$/.test(pattern))).toEqual(['generated/api-types.ts']);
});
