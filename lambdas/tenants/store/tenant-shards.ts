import { type DynamoDBDocumentClient, GetCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { FIRST_SHARD } from '../../kernel/contract/tables.ts';
import { RetryableError } from '../../kernel/faults.ts';
import type { TenantId } from '../../kernel/ids.ts';
import { type Pacing, readWithRetries } from '../../kernel/platform/attempts.ts';
import { tenantRowKey } from './tenant-owners.ts';

const placeItem = z.object({
  shard: z.string().default(FIRST_SHARD),
  /** Number of runs of the command that moves the tenant. */
  moves: z.int().default(0),
  /**
   * The move in progress, with the names of both databases. Until the move ends, nothing may be written for the tenant.
   */
  move: z.object({ from: z.string(), to: z.string() }).exactOptional(),
});

/** The placement of a tenant, as its row states it: its database, and its moves between databases. */
export type TenantPlace = Readonly<z.infer<typeof placeItem>>;

export const TENANT_MISSING = 'tenant_missing';

const MAX_CACHED = 10_000;

export class TenantShards {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;
  readonly #pacing: Pacing;
  readonly #validMs: number;
  readonly #known = new Map<TenantId, { readonly read: Promise<TenantPlace>; readonly atMs: number }>();

  constructor(client: DynamoDBDocumentClient, registryTable: string, pacing: Pacing, validMs: number) {
    this.#client = client;
    this.#table = registryTable;
    this.#pacing = pacing;
    this.#validMs = validMs;
  }

  /** @throws RetryableError if the row does not exist (`TENANT_MISSING`) or cannot be read */
  async of(id: TenantId): Promise<TenantPlace> {
    const atMs = this.#pacing.clock.nowMs();
    const known = this.#known.get(id);
    if (known !== undefined && Math.abs(atMs - known.atMs) < this.#validMs) return known.read;
    const reading = { read: this.#read(id), atMs };
    reading.read.catch(() => {
      if (this.#known.get(id) === reading) this.#known.delete(id);
    });
    if (this.#known.size >= MAX_CACHED) this.#known.clear();
    this.#known.set(id, reading);
    return reading.read;
  }

  async #read(id: TenantId): Promise<TenantPlace> {
    const get = { TableName: this.#table, Key: tenantRowKey(id), ConsistentRead: true };
    const { Item } = await readWithRetries(this.#pacing, () => this.#client.send(new GetCommand(get)));
    // A restored table can lack the row. Until the row exists, it is unknown which database has the tenant.
    if (Item === undefined) throw new RetryableError(TENANT_MISSING, `the registry has no tenant ${id}`);
    return parseTenantPlace(Item);
  }
}

export function parseTenantPlace(item: Record<string, unknown>): TenantPlace {
  return placeItem.parse(item);
}
