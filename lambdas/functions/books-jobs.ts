import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { Job } from '../jobs/use/job.ts';
import type { JobId } from '../kernel/contract/jobs.ts';
import type { Pacing } from '../kernel/platform/attempts.ts';
import { systemDigest } from '../kernel/platform/platform.ts';
import { DynamoDbStore } from '../payments/store/dynamodb-store.ts';
import { LedgerTransitions } from '../payments/store/ledger-transitions.ts';
import type { ProcessorBooks } from '../payments/use/processor.ts';
import { booksTelemetry } from '../reconciling/http/books-telemetry.ts';
import { DynamoDbExpiredRecords, DynamoDbTimeToLive } from '../reconciling/store/dynamodb-expired-records.ts';
import { purgeExpired } from '../reconciling/use/purge-expired.ts';
import { reconcileDays, reconcileRecent } from '../reconciling/use/reconcile.ts';
import { DynamoDbOwners } from '../tenants/store/tenant-owners.ts';
import { DynamoDbViews } from '../views/store/dynamodb-views.ts';
import { closeAllDays } from '../views/use/close-all-days.ts';

export interface BooksJobsTools extends Pacing {
  readonly client: DynamoDBDocumentClient;
  /** By their names. */
  readonly tables: {
    readonly idempotency: string;
    readonly ledger: string;
    readonly registry: string;
    readonly views: string;
  };
  /** Of every processor that is called here. */
  readonly books: readonly ProcessorBooks[];
}

/** The jobs that keep the books: compare them, add them up, and clear away what is over. */
export function booksJobs({ client, tables, books, clock, entropy }: BooksJobsTools) {
  const pacing = { clock, entropy };
  const views = new DynamoDbViews(client, tables.views, pacing);
  const observer = booksTelemetry();
  const reconcileTools = {
    books,
    outcomes: new LedgerTransitions(client, tables.ledger, pacing),
    effects: new DynamoDbStore(client, tables, pacing),
    views,
    digest: systemDigest,
    clock,
    observer,
  };
  return {
    'reconcile-recent': reconcileRecent(reconcileTools),
    'reconcile-days': reconcileDays(reconcileTools),
    'close-days': closeAllDays({
      owners: new DynamoDbOwners(client, tables.registry, pacing),
      views,
      clock,
      entropy,
    }),
    'purge-expired': purgeExpired({
      records: new DynamoDbExpiredRecords(client, tables.idempotency, pacing),
      timeToLive: new DynamoDbTimeToLive(
        client,
        { idempotency: tables.idempotency, registry: tables.registry },
        pacing,
      ),
      clock,
      observer,
    }),
  } satisfies Partial<Record<JobId, Job>>;
}
