import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { bundleFolder } from '../support/bundle-folder.ts';
import { sliceOf, whole } from '../support/slice.ts';
import { surveyDeployed } from './deployed-charges.ts';

let folder: string;
beforeAll(async () => {
  folder = bundleFolder('python-deployed');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('Python processes that call the deployed API', () => {
  const STORES = ['file', 'sqlite'] as const;

  test.each(sliceOf(STORES, 2))(
    'charge once if they crash between any two steps, with their keys in %s',
    async (store) => {
      const plan = { store, crashes: whole(2, { slice: 1 }), folder: join(folder, `crashes-${store}`) };
      const { findings, histories } = await surveyDeployed(plan);
      expect(findings).toEqual([]);
      // A process can crash before and after each of three actions, which store the key, send the request and store the
      // response.
      expect(histories).toBeGreaterThanOrEqual(6);
    },
  );

  test.each(sliceOf(STORES, 2))('charge once if they pay concurrently, with their keys in %s', async (store) => {
    const rounds = whole(10, { slice: 1 });
    const plan = { store, crashes: 0, racers: 3, rounds, folder: join(folder, `races-${store}`) };
    expect((await surveyDeployed(plan)).findings).toEqual([]);
  });
});
