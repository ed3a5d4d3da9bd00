import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { retentionPage } from '../../docs/generate/retention.ts';

test('docs/reference/retention.md is current (to update it: npm run docs:tables)', () => {
  expect(readFileSync(new URL('../../docs/reference/retention.md', import.meta.url), 'utf8')).toBe(retentionPage());
});
