import { NotBegunError, RetryableError } from '../kernel/faults.ts';
import type { TenantId } from '../kernel/ids.ts';
import { tenantOfChain } from '../payments/store/postgres-chains.ts';
import { DatabaseFault } from '../postgres/faults.ts';
import type { TenantPlace, TenantShards } from '../tenants/store/tenant-shards.ts';
import type { PostgresStores } from './postgres-stores.ts';
import { hasLeft } from './store/postgres-tenant-moves.ts';

export interface Shard {
  readonly name: string;
  readonly stores: PostgresStores;
}

export interface ShardsTools {
  /** The first database has the callbacks without a payment, and the operators' actions that concern no payment. */
  readonly databases: readonly [Shard, ...Shard[]];
  readonly tenants: Pick<TenantShards, 'of'>;
  /** Called with the error of a database that could not be read. The work on the other databases continues. */
  readonly unavailable: (shard: string, error: unknown) => void;
  /**
   * Called when the first database has responded to a query. Resolves after the maximum wait for the other databases.
   * @default waits until they respond
   */
  readonly waitForOthers?: () => Promise<void>;
}

export interface Subject {
  readonly tenantId?: TenantId | undefined;
  readonly chainId?: string | undefined;
}

/**
 * Whether a call reads or writes. Reads continue while a tenant is moved, because the database that the tenant's row
 * names always has all of the tenant's rows.
 */
export type Use = 'read' | 'write';

const MAX_CACHED = 10_000;
const RETRY_AFTER_SECONDS = 60;
const NOTHING = new Error('the database has no such row');

interface Place {
  readonly tenantId: TenantId;
  readonly shard: Shard;
}

/**
 * All rows of a tenant are in one database, which the tenant's row names. The id of a payment names no tenant, so all
 * databases are queried. Calls for a payment that is not in its tenant's database are refused, because its next
 * transition would be written without the transitions before it.
 */
export class Shards {
  readonly databases: readonly Shard[];
  readonly first: Shard;
  readonly #tools: ShardsTools;
  readonly #places = new Map<string, Place>();
  /**
   * Rows of tenants that were checked: the database that the row names has confirmed that the tenant was not moved
   * away. A tenant's row is read again after a minute, and the check is then repeated.
   */
  readonly #checked = new WeakSet<TenantPlace>();

  constructor(tools: ShardsTools) {
    this.databases = tools.databases;
    [this.first] = tools.databases;
    this.#tools = tools;
  }

  /**
   * Refuses a database from which the tenant was moved. Otherwise, after a restore of the Registry, that database would
   * accept idempotency keys whose records are in the other database:
   *
   *   move     ── rows of b copied to c and deleted ── tenant's row: c
   *   restore  ──────────────────────────────────────────────────────── tenant's row: b
   *   retry    ────────────────────────────────────────────────────────────────────────── key K is not in b ✗
   *
   * @throws NotBegunError if the tenant's row cannot be read, if its database is not in the settings, if the tenant was
   * moved to another database, or for a write while a command moves the tenant
   */
  async ofTenant(id: TenantId, use: Use = 'write'): Promise<Shard> {
    const place = await this.#tools.tenants.of(id).catch((cause: unknown) => {
      if (!(cause instanceof RetryableError)) throw cause;
      throw new NotBegunError(cause.code, 'the database of the tenant cannot be read', { cause });
    });
    const { shard, move } = place;
    const options = { retryAfterSeconds: RETRY_AFTER_SECONDS };
    const found = this.databases.find(({ name }) => name === shard);
    if (move !== undefined && use === 'write')
      throw new NotBegunError('tenant_moving', `${id} is being moved from ${move.from} to ${move.to}`, options);
    if (found === undefined)
      throw new NotBegunError(
        'shard_unknown',
        `${id} is in the database ${shard}, which is not in the settings`,
        options,
      );
    if (this.#checked.has(place)) return found;
    if (await hasLeft(found.stores.tools, id))
      throw new NotBegunError('shard_differs', `${id} was moved from ${shard} to another database`, options);
    this.#checked.add(place);
    return found;
  }

  /** @throws NotBegunError as {@link ofTenant}, and if the payment or order is not in its tenant's database */
  async ofChain(id: string, use: Use = 'write'): Promise<Shard | undefined> {
    const { tenantId, shard } = this.#places.get(id) ?? (await this.#ask(id)) ?? {};
    if (tenantId === undefined) return undefined;
    const own = await this.ofTenant(tenantId, use);
    if (own === shard) return own;
    this.#places.delete(id);
    if ((await tenantOfChain(own.stores.tools, id)) === tenantId) return this.#keep(id, { tenantId, shard: own });
    throw new NotBegunError('shard_differs', `${id} is not in ${own.name}, the database of its tenant`, {
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    });
  }

  /**
   * Returns the first database if no database has the payment or order, or if the subject is empty.
   * @throws NotBegunError as {@link ofChain}
   */
  async of({ tenantId, chainId }: Subject, use: Use = 'write'): Promise<Shard> {
    if (tenantId !== undefined) return this.ofTenant(tenantId, use);
    return (chainId === undefined ? undefined : await this.ofChain(chainId, use)) ?? this.first;
  }

  /**
   * At most one database has the row, or two while a command moves its tenant.
   * @throws a fault if no database has the row and one did not respond
   */
  async one<Found>(ask: (shard: Shard) => Promise<Found | undefined>): Promise<Found | undefined> {
    return this.#firstOf(this.databases.map(ask), (faults) => {
      if (faults[0] !== undefined) throw faults[0].error;
    });
  }

  /** Queries all databases for a row, and reports those that do not respond. @throws a fault if none responds */
  async oneResponding<Found>(ask: (shard: Shard) => Promise<Found | undefined>): Promise<Found | undefined> {
    return this.#firstOf(this.#limited(this.databases.map(ask)), (faults) => {
      if (faults.length === this.databases.length) throw faults[0]?.error;
      for (const { shard, error } of faults) this.unavailable(shard, error);
    });
  }

  async #firstOf<Found>(
    started: readonly Promise<Found | undefined>[],
    judge: (faults: readonly { readonly shard: Shard | undefined; readonly error: unknown }[]) => void,
  ): Promise<Found | undefined> {
    return Promise.any(started.map(async (asked) => (await asked) ?? Promise.reject(NOTHING))).catch(
      ({ errors }: AggregateError) => {
        const all = errors.map((error: unknown, index) => ({ shard: this.databases[index], error }));
        judge(all.filter(({ error }) => error !== NOTHING));
        return undefined;
      },
    );
  }

  async each<Read>(read: (shard: Shard) => Promise<Read>): Promise<readonly Read[]> {
    return Promise.all(this.databases.map(read));
  }

  /** Reads from all databases, and reports those that do not respond. @throws a fault if none responds */
  async responding<Read>(read: (shard: Shard) => Promise<Read>): Promise<readonly Read[]> {
    const results = await Promise.allSettled(this.#limited(this.databases.map(read)));
    const found = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    const faults = results.flatMap((result, index) =>
      result.status === 'rejected' ? [{ shard: this.databases[index], error: result.reason as unknown }] : [],
    );
    if (found.length === 0) throw faults[0]?.error;
    for (const { shard, error } of faults) this.unavailable(shard, error);
    return found;
  }

  /**
   * Limits how long the reads of all databases may take after one of them has ended, so that a call does not wait for
   * an unresponsive database:
   *
   *   first  ── response
   *   b      ── no response ── unavailable
   */
  #limited<Read>(started: readonly Promise<Read>[]): readonly Promise<Read>[] {
    const { waitForOthers } = this.#tools;
    if (waitForOthers === undefined) return started;
    const late = Promise.race(started.map((read) => read.catch(() => undefined)))
      .then(waitForOthers)
      .then(() =>
        Promise.reject(new RetryableError(DatabaseFault.unavailable, 'the database did not respond in time')),
      );
    late.catch(() => undefined);
    return started.map((read) => Promise.race([read, late]));
  }

  unavailable(shard: Shard | undefined, error: unknown): void {
    this.#tools.unavailable(shard?.name ?? '', error);
  }

  async #ask(id: string): Promise<Place | undefined> {
    const place = await this.one(async (shard) => {
      const tenantId = await tenantOfChain(shard.stores.tools, id);
      return tenantId === undefined ? undefined : { tenantId, shard };
    });
    if (place !== undefined) this.#keep(id, place);
    return place;
  }

  #keep(id: string, place: Place): Shard {
    if (this.#places.size >= MAX_CACHED) this.#places.clear();
    this.#places.set(id, place);
    return place.shard;
  }
}
