import { expect, test } from '@jest/globals';

test('tests run as native ES modules on the Node version of the functions', () => {
  expect(import.meta.url).toMatch(/canary\.test\.ts$/);
  expect(process.version).toMatch(/^v24\./);
});
