import { PROVING } from './slice.ts';

/** How many cases (histories, orders of events, drawn inputs) one test file may play in `npm test`. `npm run prove` plays all. */
const CASES_PER_FILE = 3_000;

/** Rooms whose cases are much slower or faster than one or two milliseconds. */
const CASES_PER_FILE_OF: Readonly<Record<string, number>> = {
  'api-docs': 1_000,
  'follow-ups': 4_000,
  orders: 1_200,
  resolving: 1_200,
  views: 500,
  webhooks: 1_200,
  // A history of the simulator takes half a second, a story a tenth of one.
  world: 150,
};

/** Each call goes to the emulator. */
const CASES_PER_FILE_OF_STORES = 200;

/** @param file in the folder of the project: `test/<room>/…` */
export function casesPerFile(file: string): number {
  if (PROVING) return Number.POSITIVE_INFINITY;
  if (file.endsWith('.stores.test.ts')) return CASES_PER_FILE_OF_STORES;
  return CASES_PER_FILE_OF[file.split('/')[1] ?? ''] ?? CASES_PER_FILE;
}
