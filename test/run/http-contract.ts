/**
 * The test files of the HTTP API and of the use cases behind it. `npm run prove` runs them with PostgreSQL as the
 * authority, too.
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const TEST = join(import.meta.dirname, '..');

/** Modules that create the stores of a test on the authority of the run. */
const API = 'world/api.ts';
const WORLD = 'world/world.ts';

/** For each room (folder of `test/`) of the contract, the module that its test files import, directly or indirectly. */
const MODULE_OF_ROOM: Readonly<Record<string, string>> = {
  'api-docs': API,
  callbacks: WORLD,
  client: API,
  events: API,
  exports: API,
  'follow-ups': WORLD,
  http: API,
  intake: WORLD,
  jobs: WORLD,
  kernel: API,
  operators: WORLD,
  orders: WORLD,
  payments: WORLD,
  processors: API,
  reconciliation: WORLD,
  resolving: WORLD,
  services: API,
  tenants: API,
  views: API,
  webhooks: WORLD,
};

export const ONLY_ON_DYNAMODB: Readonly<Record<string, string>> = {
  'operators/erasure-races.test.ts': 'runs on PostgreSQL as postgres-erasure-races.stores.test.ts',
  'payments/change-cost.test.ts': 'counts the calls and write units of DynamoDB',
  'payments/many-reasons.test.ts': 'counts the calls of DynamoDB',
  'payments/summed-chain.test.ts': 'deletes and rewrites rows of the Ledger table',
  'payments/summed-histories.test.ts': 'deletes and rewrites rows of the Ledger table',
  'resolving/long-due-queues.test.ts': 'writes the rows of the queues to the Registry table',
  'resolving/long-queues.test.ts': 'writes the rows of the queues to the Registry table',
  'resolving/lost-queues.test.ts': 'rebuilds the queues of the Registry table',
  'resolving/rebuild-queues.test.ts': 'restores the Registry table',
  'resolving/restored-halves.test.ts': 'restores the DynamoDB tables',
};

/** Paths are relative to `test/`. */
export function contractFiles(files: readonly string[]): readonly string[] {
  return worldFiles(files).filter((file) => !(file in ONLY_ON_DYNAMODB));
}

/** Includes the files that run only on DynamoDB. */
export function worldFiles(files: readonly string[]): readonly string[] {
  return files.filter((file) => {
    const module = MODULE_OF_ROOM[file.split('/')[0] ?? ''];
    return module !== undefined && imported(file).has(module);
  });
}

/** The files of `test/` that each file imports, directly or indirectly. */
const found = new Map<string, ReadonlySet<string>>();

function imported(file: string): ReadonlySet<string> {
  const known = found.get(file);
  if (known !== undefined) return known;
  const all = new Set<string>();
  // Set before the search, so that the search ends even if imports form a cycle.
  found.set(file, all);
  for (const next of importsOf(file)) {
    all.add(next);
    for (const further of imported(next)) all.add(further);
  }
  return all;
}

function importsOf(file: string): readonly string[] {
  const text = readFileSync(join(TEST, file), 'utf8');
  return [...text.matchAll(/^(?:import|export)(?! type)[^']*'(\.[^']+\.ts)'|import\('(\.[^']+\.ts)'\)/gm)]
    .map(([, loaded, lazily]) => join(dirname(file), loaded ?? lazily ?? ''))
    .filter((path) => !path.startsWith('..'));
}
