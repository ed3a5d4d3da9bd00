import { readFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { clientTypes } from '../../docs/generate/client-types.ts';

test('the client types equal the types of the API description (to update them: npm run docs:tables)', async () => {
  expect(await readFile('client/api-types.ts', 'utf8')).toBe(await clientTypes());
});
