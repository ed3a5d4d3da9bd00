import { type Answer, JSON_TYPE } from '../../kernel/answer.ts';
import type { JobRun } from './job-run.ts';

/** Times are Unix seconds. */
export function jobRunObject(run: JobRun): Record<string, unknown> {
  const { startedAtMs, endedAtMs } = run;
  return {
    id: run.runId,
    object: 'job_run',
    job: run.jobId,
    scheduled_for: unixSeconds(run.scheduledForMs),
    status: run.status,
    created: unixSeconds(run.acceptedAtMs),
    started: startedAtMs === undefined ? null : unixSeconds(startedAtMs),
    ended: endedAtMs === undefined ? null : unixSeconds(endedAtMs),
    // In seconds. Zero if clock skew would make the duration negative.
    duration:
      startedAtMs === undefined || endedAtMs === undefined ? null : Math.max(0, (endedAtMs - startedAtMs) / 1000),
    done: run.done,
    left: run.left,
    failed: run.failed,
    skipped: run.skipped.length,
    skipped_items: run.skipped,
    failed_items: run.failedItems ?? [],
    reason: run.reason ?? null,
  };
}

/** A replay returns the stored response, which describes the run at its acceptance. */
export function acceptedAnswer(run: JobRun): Answer {
  return {
    status: 202,
    headers: { 'content-type': JSON_TYPE, location: `/v1/admin/jobs/${run.jobId}/runs/${run.runId}` },
    body: JSON.stringify(jobRunObject(run)),
  };
}

export function unixSeconds(timeMs: number): number {
  return Math.floor(timeMs / 1000);
}
