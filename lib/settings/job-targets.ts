import type { JobTarget, JobTargets } from '../../lambdas/jobs/contract/job-targets.ts';
import { jobsOf } from '../../lambdas/jobs/contract/jobs.ts';
import { webUrl } from '../../lambdas/kernel/platform/web-url.ts';
import { checkTiming, JOB_ID, JOB_ID_ALLOWED } from '../job-registry.ts';
import { isLoopback, objectOf, PREFIX, WITH_QUERY } from './rules.ts';

/** The setting for jobs of other services, which Payonce starts on a schedule. */
export interface JobTargetSettings {
  /**
   * Services with scheduled jobs: a JSON object that maps each name to `{ "url", "jobs": [{ "id", "why", "schedule",
   * "every", "path", "scopes", "timeZone"?, "window"? }] }` (docs/guides/jobs.md, "Jobs of other services").
   * @default none
   */
  readonly jobTargets?: JobTargets;
}

export const JOB_TARGET_RULES = {
  jobTargets: {
    allowed: 'a JSON object that maps service names to a url and a list of jobs',
    read: objectOf(
      (value): value is JobTarget =>
        typeof value === 'object' &&
        value !== null &&
        'jobs' in value &&
        Array.isArray(value.jobs) &&
        value.jobs.every(isObject),
    ),
  },
};

/** Pattern of a target's name. The name is part of credentials, so it must not contain a space. */
const NAME = /^[a-z](?:-?[a-z0-9]){1,29}$/;
const PATH = /^(?:\/[A-Za-z0-9._~-]+)+$/;
const SCOPE = /^[a-z][a-z0-9_:.-]{0,59}$/;
const TARGET_FIELDS = ['url', 'jobs'];
const JOB_FIELDS = ['id', 'why', 'schedule', 'every', 'timeZone', 'path', 'scopes', 'window'];
const SHORTEST_WINDOW_SECONDS = 60;
const LONGEST_WINDOW_SECONDS = 24 * 60 * 60;
/**
 * Maximum size of all targets together, in characters. The targets are in the environment of one function, which is
 * limited to 4 KB (AWS: "Lambda quotas").
 */
const MAX_CHARACTERS = 2_000;

/**
 * Checks the job targets.
 * @param allowLoopback whether the address of a target may be a loopback address, with plain HTTP
 * @throws Error that lists all faults in one line, because the AWS CDK CLI and `payonce cost` print only the first
 * line. Each fault contains the target, the job, the field, the given value and the allowed values
 */
export function refuseBadTargets({ jobTargets = {} }: JobTargetSettings, allowLoopback: boolean): void {
  const ids = new Set<string>(jobsOf('postgres').map(({ id }) => id));
  const faults = Object.entries(jobTargets).flatMap(([name, target]) => faultsOf(name, target, ids, allowLoopback));
  if (JSON.stringify(jobTargets).length > MAX_CHARACTERS)
    faults.push(`all targets together must have at most ${MAX_CHARACTERS} characters of JSON`);
  if (faults.length > 0) throw new Error(`${PREFIX}jobTargets is invalid: ${faults.join('; ')}`);
}

function faultsOf(name: string, target: JobTarget, ids: Set<string>, allowLoopback: boolean): string[] {
  const faults: string[] = [];
  const checkOf =
    (where: string, given: object) =>
    (holds: boolean, field: string, allowed: string): void => {
      const shown = JSON.stringify((given as Record<string, unknown>)[field]) ?? '(missing)';
      if (!holds) faults.push(`${where}: ${field} ${shown} ${allowed}`);
    };
  if (!NAME.test(name))
    faults.push(
      `${name}: the name must be 2 to 30 lower-case letters and digits with single hyphens between them, beginning with a letter`,
    );
  const check = checkOf(name, target);
  for (const field of Object.keys(target)) check(TARGET_FIELDS.includes(field), field, 'is not a field of a target');
  check(
    isAddress(target.url, allowLoopback),
    'url',
    `must be an https address without a trailing slash, a query or a password, or, with ${PREFIX}allowLoopbackWebhooks, a loopback address`,
  );
  check(target.jobs.length > 0, 'jobs', 'must not be empty');
  for (const [index, job] of target.jobs.entries()) {
    const { id, why, path, scopes, window } = job;
    const checkJob = checkOf(`${name}.${typeof id === 'string' ? id : index}`, job);
    for (const field of Object.keys(job)) checkJob(JOB_FIELDS.includes(field), field, 'is not a field of a job');
    checkJob(typeof id === 'string' && JOB_ID.test(id), 'id', JOB_ID_ALLOWED);
    checkJob(!ids.has(id), 'id', 'must be unique among all jobs of the deployment');
    ids.add(id);
    checkJob(typeof why === 'string' && /^\S.{0,200}$/.test(why), 'why', 'must say in one line why the job exists');
    checkTiming(job, checkJob);
    checkJob(
      typeof path === 'string' && PATH.test(path),
      'path',
      'must be an absolute path without a query, for example /v1/admin/locks/release',
    );
    const isScopes =
      Array.isArray(scopes) &&
      scopes.length > 0 &&
      scopes.every((scope) => typeof scope === 'string' && SCOPE.test(scope));
    checkJob(isScopes, 'scopes', 'must be a list of scopes such as membership:admin');
    const isWindow =
      Number.isInteger(window) && Number(window) >= SHORTEST_WINDOW_SECONDS && Number(window) <= LONGEST_WINDOW_SECONDS;
    checkJob(
      window === undefined || isWindow,
      'window',
      `must be ${SHORTEST_WINDOW_SECONDS} to ${LONGEST_WINDOW_SECONDS} seconds`,
    );
  }
  return faults;
}

function isAddress(url: unknown, allowLoopback: boolean): boolean {
  const read = typeof url === 'string' && !url.endsWith('/') ? webUrl(url) : undefined;
  if (read === undefined) return false;
  if (WITH_QUERY.test(String(url))) return false;
  return read.protocol === 'https:' || (allowLoopback && isLoopback(String(url)));
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}
