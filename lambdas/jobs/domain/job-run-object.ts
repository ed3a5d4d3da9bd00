import { type Answer, JSON_TYPE } from '../../kernel/answer.ts';
import type { JobRun } from './job-run.ts';

/** A run as the API shows it; its times are ISO 8601 to the second, as in its id. */
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
    // Seconds. Clocks differ: nothing takes less than none.
    duration:
      startedAtMs === undefined || endedAtMs === undefined ? null : Math.max(0, (endedAtMs - startedAtMs) / 1000),
    done: run.done,
    left: run.left,
    failed: run.failed,
    set_aside: run.setAside.length,
    reason: run.reason ?? null,
  };
}

/** What is answered, and stored, for a request that a run was accepted by: how it stood then. */
export function acceptedAnswer(run: JobRun): Answer {
  return {
    status: 202,
    headers: { 'content-type': JSON_TYPE, location: `/v1/admin/jobs/${run.jobId}/runs/${run.runId}` },
    body: JSON.stringify(jobRunObject(run)),
  };
}

/** `2026-01-01T00:00:00Z`; parts of a second are cut off. */
export function isoSeconds(timeMs: number): string {
  return `${new Date(timeMs).toISOString().slice(0, 19)}Z`;
}
