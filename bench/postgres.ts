import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { createDatabase } from '../test/support/postgres.ts';
import { startServer } from '../test/support/server-process.ts';

const SCHEMA = join(import.meta.dirname, 'peers', 'schema.sql');

/** A database with the tables of `bench/peers/schema.sql`, on a separate PostgreSQL server. */
export interface Postgres {
  readonly port: number;
  /** The port belongs to the server, or to a proxy on this machine. */
  url(port: number): string;
  query(text: string, values?: readonly unknown[]): Promise<{ readonly rows: readonly Record<string, unknown>[] }>;
  stop(): Promise<void>;
}

/** @throws Error with the server's message if it does not start */
export async function startPostgres(): Promise<Postgres> {
  const { server, url: requests } = await startServer('postgres-server.ts');
  const end = async (): Promise<void> => {
    const ended = once(server, 'exit');
    server.disconnect();
    await ended;
  };
  try {
    const address = new URL((await createDatabase(requests)).url);
    const client = new Client({ connectionString: address.href });
    await client.connect();
    await client.query(readFileSync(SCHEMA, 'utf8'));
    return {
      port: Number(address.port),
      url: (port) => Object.assign(new URL(address), { port: String(port) }).href,
      query: (text, values = []) => client.query<Record<string, unknown>>(text, [...values]),
      stop: async () => {
        await client.end();
        await end();
      },
    };
  } catch (error) {
    await end();
    throw error;
  }
}
