import { randomUUID } from 'node:crypto';

/** Environment variable with the address of the process that starts PostgreSQL, set by the run's global setup. */
export const POSTGRES_URL = 'PAYONCE_TEST_POSTGRES_URL';

export interface TestDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

/** The first call of a run starts the server. */
export async function startPostgres(): Promise<TestDatabase> {
  const address = process.env[POSTGRES_URL];
  if (address === undefined)
    throw new Error('PostgreSQL is not available: run this test through Jest, whose global setup starts it');
  return createDatabase(address);
}

/**
 * @param address URL of a process of `postgres-server.ts`
 *
 * @throws Error with the text of the response if PostgreSQL does not start
 */
export async function createDatabase(address: string): Promise<TestDatabase> {
  const response = await fetch(address);
  const server = await response.text();
  if (!response.ok) throw new Error(server);
  const name = `t${randomUUID().replaceAll('-', '')}`;
  await runOn(server, `CREATE DATABASE ${name}`);
  const url = new URL(server);
  url.pathname = name;
  return { url: url.href, drop: () => runOn(server, `DROP DATABASE ${name} WITH (FORCE)`) };
}

export function asUser(url: string, username: string, password: string): string {
  return Object.assign(new URL(url), { username, password }).href;
}

async function runOn(url: string, text: string): Promise<void> {
  // Imported here, because the global setup of every project imports this file, but only for the constant above.
  const { Client } = await import('pg');
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}
