import { Pool, type PoolConfig } from 'pg';
import { SERVICE_SCHEMA } from '../../lambdas/postgres/contract.ts';
import { migrate } from '../../lambdas/postgres/migrate.ts';
import { readMigrations } from '../../lambdas/postgres/migrations.ts';
import { Administrator, Databases } from '../postgres/postgres-fixture.ts';
import { createRole } from '../postgres/store-database.ts';
import { asUser, startPostgres, type TestDatabase } from '../support/postgres.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';

const ROLE = 'payonce_service';

/** Contains the tables of the service library, and the service's own table `points`. */
export class ServiceDatabase {
  readonly administrator: Administrator;
  /** The service's role may create tables in the schema `public`. */
  readonly url: string;
  readonly #server: TestDatabase;
  readonly #pools: Pool[] = [];

  private constructor(server: TestDatabase, administrator: Administrator) {
    this.#server = server;
    this.url = asUser(server.url, ROLE, ROLE);
    this.administrator = administrator;
  }

  static async create(schemas: readonly string[] = [SERVICE_SCHEMA]): Promise<ServiceDatabase> {
    const server = await startPostgres();
    const databases = new Databases();
    for (const schema of schemas) {
      const database = databases.open(server.url, { schema });
      await createRole(database, ROLE);
      await migrate({
        database,
        clock: new SimulatedClock(),
        migrations: readMigrations('service'),
        schema,
        role: ROLE,
      });
    }
    await databases.close();
    const administrator = await Administrator.connect(server.url);
    await administrator.query('CREATE TABLE points (member text PRIMARY KEY, points integer NOT NULL)');
    await administrator.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON points TO ${ROLE}`);
    await administrator.query(`GRANT CREATE ON SCHEMA public TO ${ROLE}`);
    return new ServiceDatabase(server, administrator);
  }

  pool(config: PoolConfig = {}): Pool {
    const pool = new Pool({ connectionString: this.url, max: 25, ...config });
    pool.on('error', () => undefined);
    this.#pools.push(pool);
    return pool;
  }

  /** Number of connections in use, over all pools. */
  get handedOut(): number {
    return this.#pools.reduce((sum, { totalCount, idleCount }) => sum + totalCount - idleCount, 0);
  }

  async pointsOf(member: string): Promise<number | undefined> {
    const [row] = await this.administrator.query('SELECT points FROM points WHERE member = $1', [member]);
    return row === undefined ? undefined : Number(row['points']);
  }

  /** The row stays locked until the returned function is called. */
  async hold(member: string): Promise<() => Promise<void>> {
    const holder = await Administrator.connect(this.url);
    await this.administrator.query('INSERT INTO points VALUES ($1, 0) ON CONFLICT DO NOTHING', [member]);
    await holder.query('BEGIN');
    await holder.query('SELECT points FROM points WHERE member = $1 FOR UPDATE', [member]);
    return async () => {
      await holder.query('COMMIT');
      await holder.end();
    };
  }

  async close(): Promise<void> {
    await Promise.all(this.#pools.filter(({ ended }) => !ended).map((pool) => pool.end()));
    await this.administrator.end();
    await this.#server.drop();
  }
}

export const ADD_POINT = `INSERT INTO points VALUES ($1, 1)
  ON CONFLICT (member) DO UPDATE SET points = points.points + 1`;
