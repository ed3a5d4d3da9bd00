import { JOB_PAGE_SECONDS, type JobEntry } from '../lambdas/jobs/contract/jobs.ts';
import { isTimeZone, readSchedule } from '../lambdas/jobs/schedules.ts';
import { JOBS_RUN } from '../lambdas/kernel/contract/api.ts';

/**
 * Format of job ids. A job id is part of a run id, and a run id is used as an idempotency key of at most 128
 * characters.
 */
export const JOB_ID = /^[a-z](?:-?[a-z0-9]){1,49}$/;
export const JOB_ID_ALLOWED =
  'must be 2 to 50 lower-case letters and digits with single hyphens between them, beginning with a letter';
/** Maximum duration of a run, in seconds. A nightly run must end before the next nightly run is due. */
const LONGEST_RUN_SECONDS = 24 * 60 * 60;
/**
 * Maximum interval of a schedule, in seconds. Runs are kept for only some weeks, and the check for overdue jobs must
 * still find a job's last run.
 */
const RAREST_SECONDS = 7 * 24 * 60 * 60;
const WORKERS: readonly string[] = ['payments', 'upkeep'];
const OVERLAPS: readonly string[] = ['forbid', 'allow'];

/**
 * @throws Error that lists all faults in one line, because the AWS CDK CLI and `payonce cost` print only the first
 * line. Each fault contains the entry, the field, the given value and the allowed values
 */
export function checkJobs(entries: readonly JobEntry[]): void {
  const faults = entries.flatMap((entry, index) => faultsOf(entry, entries.slice(0, index)));
  if (faults.length === 0) return;
  throw new Error(`The registry of jobs (lambdas/jobs/contract/jobs.ts) is invalid: ${faults.join('; ')}`);
}

function faultsOf(entry: JobEntry, earlier: readonly JobEntry[]): readonly string[] {
  const { id, why, path, scopes, overlap, maxDuration, worker } = entry;
  const faults: string[] = [];
  const check = (holds: boolean, field: keyof JobEntry, allowed: string): void => {
    if (!holds) faults.push(`${id === '' ? '(no id)' : id}: ${field} ${JSON.stringify(entry[field])} ${allowed}`);
  };
  check(JOB_ID.test(id), 'id', JOB_ID_ALLOWED);
  check(!earlier.some((other) => other.id === id), 'id', 'must be unique');
  check(/^\S.*$/.test(why), 'why', 'must say in one line why the job exists');
  checkTiming(entry, check);
  const route = `/v1/admin/jobs/${id}/runs`;
  check(path === route, 'path', `must be ${route}`);
  check(scopes.length > 0, 'scopes', `must not be empty: the route requires ${JOBS_RUN}`);
  check(scopes.length === 0 || scopes.includes(JOBS_RUN), 'scopes', `must contain ${JOBS_RUN}`);
  check(
    scopes.every((scope) => scope === JOBS_RUN),
    'scopes',
    `must contain only ${JOBS_RUN}`,
  );
  check(overlap === undefined || OVERLAPS.includes(overlap), 'overlap', `must be ${OVERLAPS.join(' or ')}`);
  const range = `must be a whole number of seconds from ${JOB_PAGE_SECONDS} (one page) to ${LONGEST_RUN_SECONDS} (one day)`;
  const inRange = (seconds: number): boolean =>
    Number.isInteger(seconds) && seconds >= JOB_PAGE_SECONDS && seconds <= LONGEST_RUN_SECONDS;
  check(maxDuration === undefined || inRange(maxDuration), 'maxDuration', range);
  check(WORKERS.includes(worker), 'worker', `must be ${WORKERS.join(' or ')}`);
  return faults;
}

type Timing = Pick<JobEntry, 'schedule' | 'timeZone' | 'every'>;

/** @param check called for each condition; reports a fault of the field when `holds` is false */
export function checkTiming(
  { schedule, timeZone, every }: Timing,
  check: (holds: boolean, field: keyof Timing, allowed: string) => void,
): void {
  const isZone = timeZone === undefined || isTimeZone(timeZone);
  check(isZone, 'timeZone', 'must be a name of the IANA time zone database, for example Europe/Berlin');
  const read = readSchedule(schedule, isZone ? timeZone : undefined);
  if (read.kind === 'invalid') check(false, 'schedule', read.reason);
  check(
    Number.isInteger(every) && every > 0 && every <= RAREST_SECONDS,
    'every',
    `must be a whole number of seconds up to ${RAREST_SECONDS} (one week)`,
  );
  const rate = read.kind === 'read' && read.schedule.kind === 'rate' ? read.schedule.everyMs / 1000 : undefined;
  check(rate === undefined || rate === every, 'every', `must be ${rate}, to match the rate`);
  check(rate === undefined || timeZone === undefined, 'timeZone', 'must be omitted: a rate has no time zone');
}
