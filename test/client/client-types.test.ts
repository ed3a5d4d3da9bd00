import { readFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { clientTypes } from '../../docs/generate/client-types.ts';

test('the types of the client are those of the API’s description: npm run docs:tables', async () => {
  expect(await readFile('client/api-types.ts', 'utf8')).toBe(await clientTypes());
});
