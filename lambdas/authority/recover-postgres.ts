import { DynamoDbLedgerRows } from '../archive/store/dynamodb-ledger-rows.ts';
import { type LedgerRows, partitionOfChain } from '../archive/use/ledger-rows.ts';
import type { TenantId } from '../kernel/ids.ts';
import type { DetailsTools } from '../once/store/details-rows.ts';
import type { StoreTables } from '../once/store/transact-items.ts';
import { ORDER_CHAIN, PostgresOrders } from '../orders/store/postgres-orders.ts';
import type { ChainId } from '../payments/ids.ts';
import { PAYMENT_CHAIN } from '../payments/store/postgres-carrier.ts';
import { PostgresStore } from '../payments/store/postgres-store.ts';
import { type PostgresTools, readRows } from '../postgres/attempts.ts';
import { PostgresImpliedRows } from '../resolving/store/postgres-implied-rows.ts';
import { initialQueueRebuildState, type QueueRebuildState, rebuildQueues } from '../resolving/use/rebuild-queues.ts';
import { DynamoDbLedgerScan } from '../views/store/dynamodb-ledger-scan.ts';
import type { LedgerScan } from '../views/use/ledger-scan.ts';
import { type RecoveredChains, recoverChains } from './recover-chains.ts';

const CHAINS = [PAYMENT_CHAIN, ORDER_CHAIN];

type Owns = (tenant: TenantId) => Promise<boolean | undefined>;

interface RecoverPostgresTools extends PostgresTools {
  readonly client: DetailsTools['client'];
  readonly tables: StoreTables;
  /**
   * Returns whether the database has the payments of a tenant; undefined if the tenant has no row.
   * @default the database has the payments of all tenants
   */
  readonly owns?: Owns;
}

interface RecoveredPostgres extends RecoveredChains, Pick<QueueRebuildState, 'missing' | 'broken'> {
  /** Tenants that were moved to another database after the restored time. Their rows are in this database again. */
  readonly elsewhere: readonly TenantId[];
  /**
   * Tenants whose row in the Registry is missing. Only that row names the tenant's database, so nothing was recovered
   * for them.
   */
  readonly withoutRow: readonly TenantId[];
}

/**
 * Reads the whole Ledger twice. Safe to repeat.
 *
 * @param progress called after every page, with the number of payments and orders that were read
 */
export async function recoverPostgres(
  tools: RecoverPostgresTools,
  segments: number,
  progress: (read: number) => void,
): Promise<RecoveredPostgres> {
  const { client, tables, pacing, owns } = tools;
  const ledger = new DynamoDbLedgerRows(client, tables.ledger, pacing);
  const whole = new DynamoDbLedgerScan(client, tables.ledger, pacing);
  const withoutRow = new Set<TenantId>();
  const scan = owns === undefined ? whole : scanOfTenants(whole, ledger, owns, withoutRow);
  const chains = await recoverChains(
    {
      ...tools,
      scan,
      ledger,
      details: { client, registry: tables.registry, pacing },
      chains: CHAINS,
    },
    segments,
    progress,
  );
  const { missing, broken, unreadable } = await rebuildQueues(
    {
      store: new PostgresStore(tools),
      orders: new PostgresOrders(tools),
      ledger: scan,
      rows: new PostgresImpliedRows(tools),
      clock: pacing.clock,
      // Commissions are in DynamoDB.
      commission: async () => false,
    },
    initialQueueRebuildState(segments),
    async ({ read }) => progress(chains.read + read),
  );
  const all: ReadonlySet<ChainId> = new Set([...chains.unreadable, ...unreadable]);
  const elsewhere = owns === undefined ? [] : await tenantsElsewhere(tools, owns);
  return { ...chains, missing, broken, unreadable: [...all], elsewhere, withoutRow: [...withoutRow] };
}

async function tenantsElsewhere(tools: PostgresTools, owns: Owns) {
  const text = 'SELECT DISTINCT tenant_id FROM transition WHERE sequence = 1 ORDER BY tenant_id';
  const rows = await readRows(tools, { name: 'recover-tenants', text, values: [] });
  const ids = rows.map(({ tenant_id: id }) => id as TenantId);
  const isOwn = await Promise.all(ids.map(owns));
  return ids.filter((_, index) => isOwn[index] === false);
}

/**
 * Returns a scan of only those payments and orders whose tenant's database is this one. Includes those whose first row
 * is unreadable, so that they are reported.
 *
 * @param withoutRow receives the tenants without a row
 */
function scanOfTenants(
  scan: LedgerScan,
  ledger: Pick<LedgerRows, 'chain'>,
  owns: Owns,
  withoutRow: Set<TenantId>,
): LedgerScan {
  const isOwn = async (id: ChainId): Promise<boolean> => {
    const [first] = (await ledger.chain(partitionOfChain(id), undefined)).rows;
    const chain = CHAINS.find((each) => each.owns(id));
    if (first === undefined || chain === undefined) return true;
    let tenant: TenantId;
    try {
      tenant = chain.rowsOfCopy(first.item).transition['tenant_id'] as TenantId;
    } catch {
      return true;
    }
    const owned = await owns(tenant);
    if (owned === undefined) withoutRow.add(tenant);
    return owned === true;
  };
  return {
    chains: async (step) => {
      const page = await scan.chains(step);
      const kept = await Promise.all(page.found.map(isOwn));
      return { ...page, found: page.found.filter((_, index) => kept[index]) };
    },
  };
}
