import type { ActivityDraft } from '../activity/domain/activity.ts';
import { PostgresActivity } from '../activity/store/postgres-activity.ts';
import { erasePostgresDetails } from '../activity/store/postgres-erasure.ts';
import { COMMIT_SECONDS } from '../kernel/contract/timing.ts';
import type { Unreadable } from '../kernel/platform/queue-rows.ts';
import type { StoreTables } from '../once/store/transact-items.ts';
import { PostgresApprovals } from '../operators/store/postgres-approvals.ts';
import { PostgresExpiredRecords } from '../operators/store/postgres-expired-records.ts';
import { PostgresQueues } from '../operators/store/postgres-queues.ts';
import { ORDER_CHAIN, PostgresOrders } from '../orders/store/postgres-orders.ts';
import { LedgerCarrier, type LedgerCarrierTools, PAYMENT_CHAIN } from '../payments/store/postgres-carrier.ts';
import { PostgresEffects } from '../payments/store/postgres-effects.ts';
import { PostgresStore } from '../payments/store/postgres-store.ts';
import type { PostgresTools } from '../postgres/attempts.ts';
import { type CarryObserver, carryOrReport } from '../postgres/carry.ts';
import { PostgresHolds } from '../resolving/store/postgres-holds.ts';
import { PostgresUnfinishedWork } from '../resolving/store/postgres-unfinished.ts';

export interface PostgresStoresTools extends Pick<LedgerCarrierTools, 'database' | 'pacing' | 'client'> {
  readonly tables: StoreTables;
  readonly observer: CarryObserver;
}

export type PostgresStores = ReturnType<typeof postgresStores>;

export function postgresStores({ database, pacing, client, tables, observer }: PostgresStoresTools) {
  const chains = [PAYMENT_CHAIN, ORDER_CHAIN];
  const carrier = new LedgerCarrier({ database, pacing, client, tables, chains, observer });
  const tools: PostgresTools = {
    database,
    pacing,
    // A request reserves `COMMIT_SECONDS` for the commit and its copy together.
    committed: (id, beganMs) =>
      carryOrReport({ carrier: carrier.until(beganMs + COMMIT_SECONDS * 1000), observer }, id),
  };
  const store = new PostgresStore(tools);
  const approvals = new PostgresApprovals(tools, store);
  return {
    tools,
    carrier,
    store,
    orders: (unreadable?: Unreadable) => new PostgresOrders(tools, unreadable),
    effects: (unreadable?: Unreadable) => new PostgresEffects(tools, store, unreadable),
    approvals,
    effectRecords: approvals,
    activity: new PostgresActivity(tools),
    work: (unreadable: Unreadable) => new PostgresUnfinishedWork(tools, unreadable),
    holds: new PostgresHolds(tools),
    queues: new PostgresQueues(tools),
    expired: new PostgresExpiredRecords(tools),
    erase: (draft: ActivityDraft) => erasePostgresDetails(tools, carrier, draft),
  };
}
