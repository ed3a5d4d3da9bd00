import { type DynamoDBDocumentClient, GetCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { RegistryRow } from '../../kernel/contract/rows.ts';
import { KeyAttribute } from '../../kernel/contract/tables.ts';
import { AUTHORITY_CHANGED, NotBegunError } from '../../kernel/faults.ts';
import { type Pacing, readWithRetries } from '../../kernel/platform/attempts.ts';
import { ROW_IS_NEW, transactOnce } from '../../once/store/transact-items.ts';
import type { Runner } from '../../postgres/database.ts';
import { readIdentityIfUsed } from '../../postgres/identity.ts';
import { orNotBegun } from './authority-state.ts';

const databaseItem = z.object({ identity: z.number() });

export interface KnownDatabaseTools {
  readonly client: DynamoDBDocumentClient;
  readonly registryTable: string;
  readonly pacing: Pacing;
}

const RETRY_AFTER_SECONDS = 60;

/**
 * Records to which database a name in the settings refers, and refuses any other database under this name. Another
 * database lacks the idempotency keys, so a retry would charge again:
 *
 *   shard b = host 1  ── claim of key K ── charge ── [the settings change: shard b = host 2]
 *   shard b = host 2  ───────────────────────────────────────────── retry of key K: another database ✗
 */
export class KnownDatabase {
  readonly #tools: KnownDatabaseTools;
  readonly #name: string;
  #identity: number | undefined;

  constructor(tools: KnownDatabaseTools, name: string) {
    this.#tools = tools;
    this.#name = name;
  }

  /**
   * Checks the database that a connection has reached. Until an identity is recorded, every database is accepted.
   * @throws NotBegunError for another database, or if the recorded identity cannot be read
   */
  async check(identity: number | undefined): Promise<void> {
    let known = await orNotBegun(this.read());
    if (known === undefined || known === identity) return;
    this.#identity = undefined;
    known = await orNotBegun(this.read());
    if (known === identity) return;
    throw new NotBegunError(AUTHORITY_CHANGED, `the payments of ${this.#name} are in another database`, {
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    });
  }

  /**
   * Records the identity of the database permanently if the database has a payment or an order. Until then, the name
   * may refer to another database.
   */
  async record(database: Runner): Promise<void> {
    if ((await this.read()) === undefined) await this.#write(database, { ConditionExpression: ROW_IS_NEW });
  }

  /** Replaces the recorded identity after an operator has recovered the payments into another database. */
  async replace(database: Runner): Promise<void> {
    await this.#write(database, {});
  }

  async #write(database: Runner, condition: { readonly ConditionExpression?: string }): Promise<void> {
    const identity = await readIdentityIfUsed(database);
    if (identity === undefined) return;
    const { client, registryTable: TableName, pacing } = this.#tools;
    await transactOnce(client, pacing, [{ Put: { TableName, Item: { ...this.#key(), identity }, ...condition } }]);
  }

  async read(): Promise<number | undefined> {
    if (this.#identity !== undefined) return this.#identity;
    const { client, registryTable: TableName, pacing } = this.#tools;
    const get = { TableName, Key: this.#key(), ConsistentRead: true };
    const { Item } = await readWithRetries(pacing, () => client.send(new GetCommand(get)));
    this.#identity = Item === undefined ? undefined : parseKnownDatabase(Item);
    return this.#identity;
  }

  #key() {
    return { [KeyAttribute.partition]: RegistryRow.databases, [KeyAttribute.sort]: this.#name };
  }
}

export function parseKnownDatabase(item: Record<string, unknown>): number {
  return databaseItem.parse(item).identity;
}
