import * as z from 'zod';
import { RegistryRow, SortKey } from '../../kernel/contract/rows.ts';
import { IdempotencyTable, KeyAttribute } from '../../kernel/contract/tables.ts';
import { defined } from '../../kernel/defined.ts';
import { type Item, itemSchema } from '../../kernel/platform/items.ts';
import { RUN_RETENTION_DAYS } from '../../once/domain/idempotency.ts';
import { type JobRun, RUN_STATUSES, type RunId, runIdOf } from '../domain/job-run.ts';
import type { JobLock } from '../use/job-runs.ts';

const RETENTION_SECONDS = RUN_RETENTION_DAYS * 24 * 60 * 60;

const runItem = itemSchema<JobRun>()({
  jobId: z.string(),
  runId: z.string().transform((id) => id as RunId),
  scheduledForMs: z.int(),
  status: z.enum(RUN_STATUSES),
  acceptedAtMs: z.int(),
  startedAtMs: z.int().exactOptional(),
  endedAtMs: z.int().exactOptional(),
  cursor: z.string().exactOptional(),
  attempts: z.int().min(0),
  begunAtMs: z.int().exactOptional(),
  oneByOne: z.int().min(1).exactOptional(),
  done: z.int().min(0),
  left: z.int().min(0),
  failed: z.int().min(0),
  skipped: z.array(z.string()),
  failedItems: z.array(z.string()).exactOptional(),
  reason: z.string().exactOptional(),
  version: z.int().min(1),
});

const lockItem = z.object({ token: z.int().min(1) });

export function runsPartition(jobId: string): string {
  return `${RegistryRow.jobRuns}${jobId}`;
}

/**
 * Returns the sort key of a run.
 *
 * @param scheduledForMs Unix milliseconds; must be a whole second
 */
export function runSortKey(jobId: string, scheduledForMs: number): string {
  return sortKeyOf(jobId, runIdOf(jobId, scheduledForMs));
}

export function runKey(jobId: string, runId: RunId): Item {
  return { [KeyAttribute.partition]: runsPartition(jobId), [KeyAttribute.sort]: sortKeyOf(jobId, runId) };
}

function sortKeyOf(jobId: string, runId: RunId): string {
  return `${SortKey.run}${runId.slice(jobId.length + 1)}`;
}

/**
 * Runs that never began or never ended also expire: the retention far exceeds the one day that a run may take plus the
 * 14 days that its message may stay in the dead-letter queue.
 *
 * @param writtenUnder lock and token by which the writer recognizes its own write; absent for an accepted run
 */
export function runRow(run: JobRun, writtenUnder?: string): Item {
  return {
    ...runKey(run.jobId, run.runId),
    ...run,
    ...defined({ writtenUnder }),
    [IdempotencyTable.timeToLiveAttribute]: expirySeconds(run.endedAtMs ?? run.acceptedAtMs),
  };
}

export function parseRun(item: Item): JobRun {
  return runItem.parse(item);
}

export function lockAcquisitionId({ name, token }: JobLock): string {
  return `${name}#${token}`;
}

export function isWriteOf(item: Item, run: JobRun, lock: JobLock): boolean {
  return item['version'] === run.version && item['writtenUnder'] === lockAcquisitionId(lock);
}

export function lockKey(name: string): Item {
  return { [KeyAttribute.partition]: `${RegistryRow.jobLock}${name}`, [KeyAttribute.sort]: 'LOCK' };
}

export function tokenOf(item: Item | undefined): number {
  return lockItem.parse(item).token;
}

/** Unix seconds, the unit of DynamoDB's time to live. */
export function expirySeconds(sinceMs: number): number {
  return Math.ceil(sinceMs / 1000) + RETENTION_SECONDS;
}
