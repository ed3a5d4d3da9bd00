import { afterAll, beforeAll } from '@jest/globals';
import type { OpenDatabase } from '../../lambdas/postgres/connection.ts';
import { createDatabase, openTestDatabase } from '../postgres/store-database.ts';
import { storesOnPostgres } from '../world/postgres-stores.ts';
import { describePaymentsOn, MAX_CONNECTIONS } from './histories-on-store-suite.ts';

let database: OpenDatabase;
beforeAll(async () => {
  database = openTestDatabase(await createDatabase(), { connections: MAX_CONNECTIONS });
});
afterAll(() => database.close());

const stores = () => storesOnPostgres(database);
describePaymentsOn(
  { name: 'PostgreSQL', call: 'statement', stores },
  { calls: 'statements', stores, oneOf: [1, 17, 19], atLeast: 4_000 },
);
