import { IS_PROOF_RUN } from './slice.ts';

/**
 * Number of cases (histories, orders of events, generated inputs) that one test file may run in `npm test`. `npm run
 * prove` runs all.
 */
const CASES_PER_FILE = 3_000;

/** Maximum numbers for folders whose cases take much more or much less than one or two milliseconds. */
const CASES_PER_FILE_OF: Readonly<Record<string, number>> = {
  'api-docs': 1_000,
  'follow-ups': 4_000,
  orders: 1_200,
  resolving: 1_200,
  views: 500,
  webhooks: 1_200,
  // A history of the simulator takes half a second, a story a tenth of a second.
  world: 150,
};

/** Budget of the store tests, where each call reaches the emulator. */
const CASES_PER_FILE_OF_STORES = 200;

/**
 * Returns the maximum number of cases of a test file.
 * @param file path in the project: `test/<folder>/…`
 */
export function casesPerFile(file: string): number {
  if (IS_PROOF_RUN) return Number.POSITIVE_INFINITY;
  if (file.endsWith('.stores.test.ts')) return CASES_PER_FILE_OF_STORES;
  return CASES_PER_FILE_OF[file.split('/')[1] ?? ''] ?? CASES_PER_FILE;
}
