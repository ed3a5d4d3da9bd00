import type { JobRun } from '../../lambdas/jobs/domain/job-run.ts';
import type { Job, JobCounts, JobItem } from '../../lambdas/jobs/use/job.ts';
import { ONE_DONE } from '../../lambdas/jobs/use/job.ts';
import type { JobObserver } from '../../lambdas/jobs/use/work-run.ts';
import type { JobId } from '../../lambdas/kernel/contract/jobs.ts';
import { type OperationId, ownerToken } from '../../lambdas/kernel/ids.ts';
import type { EffectRecord } from '../../lambdas/once/domain/idempotency.ts';

/** May take ten minutes, and never overlaps. */
export const JOB_ID = 'resolve' satisfies JobId;

/** May take four hours. */
export const LONG_JOB_ID = 'close-days' satisfies JobId;

/** As the admin route accepts a run: one record for each. */
export function recordOf({ runId, acceptedAtMs }: JobRun): EffectRecord {
  return { operationId: `job_${runId}` as OperationId, owner: ownerToken('route'), recordedAtMs: acceptedAtMs };
}

/** Items `0` to `count - 1`, whose cursors are their numbers. */
export function countingJob(
  count: number,
  handle: (item: string, deadlineMs: number) => Promise<JobCounts> = async () => ONE_DONE,
): Job<string> {
  return {
    page: async (cursor, limit) => {
      const from = cursor === undefined ? 0 : Number(cursor) + 1;
      const items: JobItem<string>[] = Array.from(
        { length: Math.max(0, Math.min(limit, count - from)) },
        (_, index) => {
          const name = String(from + index);
          return { thing: name, name, after: name };
        },
      );
      const last = items.at(-1);
      return last !== undefined && from + items.length < count ? { items, next: last.after } : { items };
    },
    handle: (item, { deadlineMs }) => handle(item, deadlineMs),
  };
}

/** Remembers what it was told. */
export function hearing(): JobObserver & {
  readonly counts: Record<string, number>;
  readonly reports: (readonly [string | undefined, unknown])[];
} {
  const counts: Record<string, number> = {};
  const reports: (readonly [string | undefined, unknown])[] = [];
  return {
    counts,
    reports,
    count: (_jobId, metric, times) => {
      counts[metric] = (counts[metric] ?? 0) + times;
    },
    report: (error, _run, item) => void reports.push([item, error]),
  };
}
