import { IS_PROOF_RUN } from './slice.ts';

/** Cases are histories, orders of events, and generated inputs. `npm run prove` runs all cases. */
const CASES_PER_FILE = 2_000;

/** In these folders, each case takes longer than one or two milliseconds. */
const CASES_PER_FILE_OF: Readonly<Record<string, number>> = {
  'api-docs': 100,
  callbacks: 300,
  'follow-ups': 800,
  jobs: 600,
  once: 800,
  operators: 300,
  orders: 1_200,
  outbound: 300,
  resolving: 300,
  views: 500,
  webhooks: 600,
  // In this folder, a simulator history takes half a second, and a story takes a tenth of a second.
  world: 150,
};

/** Each call of a store test reaches the emulator. */
const CASES_PER_FILE_OF_STORES = 100;

/** @param file path in the project: `test/<folder>/…` */
export function casesPerFile(file: string): number {
  if (IS_PROOF_RUN) return Number.POSITIVE_INFINITY;
  if (file.endsWith('.stores.test.ts')) return CASES_PER_FILE_OF_STORES;
  return CASES_PER_FILE_OF[file.split('/')[1] ?? ''] ?? CASES_PER_FILE;
}
