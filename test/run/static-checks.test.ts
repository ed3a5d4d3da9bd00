import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from '@jest/globals';

const PROJECT = resolve(import.meta.dirname, '..', '..');

// The linter also checks types. Files that it ignores are checked by `npm run types`, so each must belong to a project
// of that script.
test('the linter ignores no TypeScript except the generated types of the client and the console', () => {
  const { ignorePatterns } = JSON.parse(readFileSync(resolve(PROJECT, '.oxlintrc.json'), 'utf8')) as {
    readonly ignorePatterns: readonly string[];
  };
  expect(ignorePatterns.filter((pattern) => /\.[cm]?tsx?$/.test(pattern))).toEqual([
    'client/api-types.ts',
    'console/api-types.ts',
  ]);
});
