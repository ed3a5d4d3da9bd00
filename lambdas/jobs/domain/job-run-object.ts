import { type Answer, JSON_TYPE } from '../../kernel/answer.ts';
import type { JobRun } from './job-run.ts';

/** A run as the API shows it. Times are ISO 8601 in whole seconds, as in the run-id. */
export function jobRunObject(run: JobRun): Record<string, unknown> {
  const { startedAtMs, endedAtMs } = run;
  return {
    id: run.runId,
    object: 'job_run',
    job: run.jobId,
    scheduled_for: isoSeconds(run.scheduledForMs),
    status: run.status,
    accepted_at: isoSeconds(run.acceptedAtMs),
    started_at: startedAtMs === undefined ? null : isoSeconds(startedAtMs),
    ended_at: endedAtMs === undefined ? null : isoSeconds(endedAtMs),
    // Seconds. Clock skew can make the difference negative.
    duration:
      startedAtMs === undefined || endedAtMs === undefined ? null : Math.max(0, (endedAtMs - startedAtMs) / 1000),
    done: run.done,
    left: run.left,
    failed: run.failed,
    set_aside: run.setAside.length,
    reason: run.reason ?? null,
  };
}

/** The answer to the request that accepted a run, and the stored answer: the run as it was then. */
export function acceptedAnswer(run: JobRun): Answer {
  return {
    status: 202,
    headers: { 'content-type': JSON_TYPE, location: `/v1/admin/jobs/${run.jobId}/runs/${run.runId}` },
    body: JSON.stringify(jobRunObject(run)),
  };
}

/** `2026-01-01T00:00:00Z`, cut to whole seconds. */
export function isoSeconds(timeMs: number): string {
  return `${new Date(timeMs).toISOString().slice(0, 19)}Z`;
}
