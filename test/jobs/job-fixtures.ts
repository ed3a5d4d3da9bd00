import type { JobId } from '../../lambdas/jobs/contract/jobs.ts';
import { type JobRun, runIdOf } from '../../lambdas/jobs/domain/job-run.ts';
import { clockedRunOperation } from '../../lambdas/jobs/ids.ts';
import { type AcceptRun, acceptRun } from '../../lambdas/jobs/use/accept-run.ts';
import type { Job, JobCounts, JobItem } from '../../lambdas/jobs/use/job.ts';
import { ONE_DONE } from '../../lambdas/jobs/use/job.ts';
import type { RequestRunTools } from '../../lambdas/jobs/use/request-run.ts';
import type { JobObserver } from '../../lambdas/jobs/use/work-run.ts';
import { fingerprintOf } from '../../lambdas/kernel/fingerprint.ts';
import { type OperationId, ownerToken } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { EffectRecord } from '../../lambdas/once/domain/idempotency.ts';

import type { Actor } from '../support/fault-plan.ts';
import { portWithFaults } from '../support/faulty-ports.ts';
import type { World } from '../world/world.ts';

/** A job whose runs may take ten minutes and never overlap. */
export const JOB_ID = 'resolve' satisfies JobId;

/** A job whose runs may take four hours. */
export const LONG_JOB_ID = 'close-days' satisfies JobId;

/** Returns the record that the admin route stores when it accepts a run. */
export function recordOf({ runId, acceptedAtMs }: JobRun): EffectRecord {
  return { operationId: `job_${runId}` as OperationId, owner: ownerToken('route'), recordedAtMs: acceptedAtMs };
}

/** The cursor of an item is its number. */
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

export function recordingObserver(): JobObserver & {
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

/** A repeated firing sends an equal request. */
export function clocked(jobId: string, scheduledForMs: number): AcceptRun {
  return {
    operationId: clockedRunOperation(systemDigest, runIdOf(jobId, scheduledForMs)),
    fingerprint: fingerprintOf(systemDigest, { body: { scheduled_for: scheduledForMs }, query: {} }),
    jobId,
    scheduledForMs,
  };
}

/** The calls reach the route in a separate process. */
export function executorTools(world: World, actor: Actor): RequestRunTools {
  const routes: RequestRunTools['routes'] = {
    ask: async ({ runId, scheduledForMs }) => {
      const [jobId = ''] = runId.split(':');
      const { kind } = await acceptRun(world.toolsOf(world.actor('route')), clocked(jobId, scheduledForMs));
      invariant(kind === 'first' || kind === 'replay', `the route returned ${kind}`);
    },
  };
  return { ...world.toolsOf(actor), routes: portWithFaults(actor, routes, 'ask') };
}

export async function endRun({ clock, store: { jobRuns } }: World, run: JobRun): Promise<void> {
  const nowMs = clock.nowMs();
  const lock = await jobRuns.lock(run.jobId, run.runId, { nowMs, leaseExpiresAtMs: nowMs + 60_000 });
  invariant(lock !== undefined, 'another run holds the lock');
  const times = { startedAtMs: nowMs, endedAtMs: nowMs };
  const ended = { ...run, ...times, status: 'succeeded', version: run.version + 1 } as const;
  invariant(await jobRuns.save(ended, lock, nowMs), 'the run was not saved');
}
