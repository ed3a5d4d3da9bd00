import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { Pacing } from '../adapters/dynamodb/attempts.ts';
import { DynamoDbExpiredRecords, DynamoDbTimeToLive } from '../adapters/dynamodb/dynamodb-expired-records.ts';
import { DynamoDbStore } from '../adapters/dynamodb/dynamodb-store.ts';
import { DynamoDbViews } from '../adapters/dynamodb/dynamodb-views.ts';
import { LedgerTransitions } from '../adapters/dynamodb/ledger-transitions.ts';
import { DynamoDbOwners } from '../adapters/dynamodb/tenant-owners.ts';
import { systemDigest } from '../adapters/system/platform.ts';
import { closeAllDays } from '../app/close-all-days.ts';
import type { Job } from '../app/job.ts';
import type { ProcessorBooks } from '../app/ports/processor.ts';
import { purgeExpired } from '../app/purge-expired.ts';
import { reconcileDays, reconcileRecent } from '../app/reconcile.ts';
import type { JobId } from '../contract/jobs.ts';
import { booksTelemetry } from '../runtime/books-telemetry.ts';

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
