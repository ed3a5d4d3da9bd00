import { afterAll, beforeAll } from '@jest/globals';
import type { OpenDatabase } from '../../lambdas/postgres/connection.ts';
import { createDatabase, openTestDatabase } from '../postgres/store-database.ts';
import { storesOnPostgres } from '../world/postgres-stores.ts';
import { describeChangesOn, MAX_CONNECTIONS } from './histories-on-store-suite.ts';

let database: OpenDatabase;
beforeAll(async () => {
  database = openTestDatabase(await createDatabase(), { connections: MAX_CONNECTIONS });
});
afterAll(() => database.close());

const stores = () => storesOnPostgres(database);
describeChangesOn(
  { name: 'PostgreSQL', call: 'statement', stores },
  { calls: 'statements', stores, oneOf: [1, 31, 37], atLeast: 2_500 },
);
