import { found, type Handled, refusal } from '../../http/http-api.ts';
import { validateQuery } from '../../http/validate.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import { JOBS, type JobEntry } from '../../kernel/contract/jobs.ts';
import { invariant } from '../../kernel/invariant.ts';
import { emptyQuery } from '../../payments/http/payment-schemas.ts';
import type { JobRun } from '../domain/job-run.ts';
import { isoSeconds, jobRunObject } from '../domain/job-run-object.ts';
import { nextScheduled, readSchedule } from '../schedules.ts';
import type { Call, Route } from './route.ts';

export const getJobs: Route = { method: 'GET', path: '/v1/admin/jobs', scope: Scopes.admin, handle };

async function handle({ tools: { runs }, request, receivedAtMs }: Call): Promise<Handled> {
  const query = validateQuery(emptyQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  // As many reads as there are jobs, which is a dozen.
  const data = await Promise.all(
    JOBS.map(async (entry: JobEntry) => {
      const [last] = await runs.listRuns(entry.id, { limit: 1 });
      return jobObject(entry, last, receivedAtMs);
    }),
  );
  return found({ object: 'list', data, has_more: false });
}

function jobObject(entry: JobEntry, last: JobRun | undefined, nowMs: number): Record<string, unknown> {
  const { id, why, schedule, timeZone, overlap = 'forbid' } = entry;
  const read = readSchedule(schedule, timeZone);
  invariant(read.kind === 'read', 'schedules are checked before they are deployed');
  const nextMs = nextScheduled(read.schedule, nowMs, last?.scheduledForMs);
  return {
    id,
    object: 'job',
    why,
    schedule,
    time_zone: read.schedule.kind === 'rate' ? null : (timeZone ?? 'UTC'),
    overlap,
    last_run: last === undefined ? null : jobRunObject(last),
    next_run: nextMs === undefined ? null : isoSeconds(nextMs),
  };
}
