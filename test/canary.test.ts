import { expect, test } from '@jest/globals';

test('tests run as native ES modules on the Node that the functions run on', () => {
  expect(import.meta.url).toMatch(/canary\.test\.ts$/);
  expect(process.version).toMatch(/^v24\./);
});
