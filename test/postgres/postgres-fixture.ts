import { Client } from 'pg';
import { type ConnectionOptions, type OpenDatabase, openDatabase } from '../../lambdas/postgres/connection.ts';
import type { Row, Statement } from '../../lambdas/postgres/database.ts';
import { parseServerUrl, type Server } from '../../lambdas/postgres/server.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { until } from '../support/until.ts';

export function fixed(server: Server): ConnectionOptions['credentials'] {
  return { current: async () => server, renewed: async () => undefined };
}

export function sql(text: string, ...values: readonly unknown[]): Statement {
  return { name: '', text, values };
}

export class Databases {
  readonly #open: OpenDatabase[] = [];

  open(url: string, options: Partial<ConnectionOptions> = {}): OpenDatabase {
    const database = openDatabase({ credentials: fixed(parseServerUrl(url)), clock: new SimulatedClock(), ...options });
    this.#open.push(database);
    return database;
  }

  async close(): Promise<void> {
    await Promise.all(this.#open.splice(0).map((each) => each.close()));
  }
}

/** A superuser's connection that observes and ends other sessions. */
export class Administrator {
  readonly #client: Client;

  private constructor(client: Client) {
    this.#client = client;
  }

  static async connect(url: string): Promise<Administrator> {
    const client = new Client({ connectionString: url });
    await client.connect();
    return new Administrator(client);
  }

  async query(text: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
    const { rows } = await this.#client.query<Row>(text, [...values]);
    return rows;
  }

  /** The sessions run a statement that contains `text`. `state` is their state or their type of wait. */
  async awaitSessions(text: string, state: string, count = 1): Promise<void> {
    await until(async () => {
      const rows = await this.query(
        `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
         AND query LIKE '%' || $1 || '%' AND (state = $2 OR wait_event_type = $2)`,
        [text, state],
      );
      return rows.length >= count || undefined;
    });
  }

  async endSessions(): Promise<void> {
    const others = 'FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()';
    await this.query(`SELECT pg_terminate_backend(pid) ${others}`);
    await until(async () => (await this.query(`SELECT pid ${others}`)).length === 0 || undefined);
  }

  async awaitNoSession(role: string): Promise<void> {
    const sessions = (): Promise<readonly Row[]> =>
      this.query('SELECT pid FROM pg_stat_activity WHERE usename = $1', [role]);
    await until(async () => (await sessions()).length === 0 || undefined);
  }

  async end(): Promise<void> {
    await this.#client.end();
  }
}
