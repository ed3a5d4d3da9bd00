import { describe, expect, test } from '@jest/globals';
import { type JobEntry, jobsOf } from '../../lambdas/jobs/contract/jobs.ts';
import { nextScheduled, readSchedule } from '../../lambdas/jobs/schedules.ts';
import { JOBS_RUN } from '../../lambdas/kernel/contract/api.ts';
import { checkJobs } from '../../lib/job-registry.ts';
import { whole } from '../support/slice.ts';

const good: JobEntry = {
  id: 'sweep-rooms',
  why: 'Sweeps the rooms.',
  schedule: 'cron(0 2 * * ? *)',
  every: 86_400,
  path: '/v1/admin/jobs/sweep-rooms/runs',
  scopes: [JOBS_RUN],
  worker: 'upkeep',
};
/** For a daily job, 200 times include a change to daylight saving time. */
const TIMES = whole(200, { slice: 50 });
/** The compiler does not check the changes. */
const wrong = (changes: Readonly<Record<string, unknown>>): JobEntry => ({ ...good, ...changes });

describe('the job registry', () => {
  test('is valid', () => {
    expect(() => checkJobs(jobsOf('postgres'))).not.toThrow();
  });

  test.each<JobEntry>(jobsOf('postgres'))(
    'has the schedule $schedule for $id, whose runs are at most $every seconds apart, as its alarm assumes',
    ({ schedule: text, timeZone, every }) => {
      const read = readSchedule(text, timeZone);
      if (read.kind !== 'read') throw new Error(read.reason);
      const times = [Date.UTC(2026, 0, 1)];
      while (times.length < TIMES) {
        const last = times.at(-1) ?? 0;
        times.push(nextScheduled(read.schedule, last, last) ?? last);
      }
      const gaps = times.slice(2).map((time, index) => time - (times[index + 1] ?? 0));
      expect(Math.max(...gaps)).toBe(every * 1000);
    },
  );

  test('accepts an entry with every field', () => {
    const full = { timeZone: 'Asia/Kolkata', overlap: 'allow', maxDuration: 60 };
    expect(() => checkJobs([wrong(full), { ...good, id: 'b2', path: '/v1/admin/jobs/b2/runs' }])).not.toThrow();
  });

  test.each<readonly [string, Readonly<Record<string, unknown>>, string]>([
    ['an empty id', { id: '', path: '/v1/admin/jobs//runs' }, '(no id): id "" must be 2 to 50 lower-case letters'],
    ['an upper-case id', { id: 'Sweep' }, 'Sweep: id "Sweep" must be 2 to 50 lower-case letters'],
    ['an id with a colon', { id: 'a:b' }, 'a:b: id "a:b" must be'],
    ['an id with two hyphens', { id: 'a--b' }, 'a--b: id "a--b" must be'],
    ['an id that is too long', { id: 'x'.repeat(51) }, 'must be 2 to 50'],
    ['an empty reason', { why: ' ' }, 'sweep-rooms: why " " must say in one line why the job exists'],
    ['a reason of two lines', { why: 'One.\nTwo.' }, 'sweep-rooms: why "One.\\nTwo." must say in one line'],
    ['an invalid schedule', { schedule: 'daily' }, 'sweep-rooms: schedule "daily" must be rate('],
    [
      'an interval longer than the longest alarm window',
      { every: 604_801 },
      'every 604801 must be a whole number of seconds up to 604800',
    ],
    [
      'an interval that contradicts the rate',
      { schedule: 'rate(1 hour)', every: 60 },
      'every 60 must be 3600, to match the rate',
    ],
    [
      'a path that does not match the id',
      { path: '/v1/payments' },
      'path "/v1/payments" must be /v1/admin/jobs/sweep-rooms/runs',
    ],
    [
      'an empty list of scopes',
      { scopes: [] },
      'sweep-rooms: scopes [] must not be empty: the route requires jobs:run',
    ],
    ['scopes without jobs:run', { scopes: ['admin'] }, 'scopes ["admin"] must contain jobs:run'],
    ['an unknown scope', { scopes: ['jobs:run', 'root'] }, 'scopes ["jobs:run","root"] must contain only jobs:run'],
    ['an unknown overlap policy', { overlap: 'maybe' }, 'overlap "maybe" must be forbid or allow'],
    [
      'a maximum duration shorter than a page of work needs',
      { maxDuration: 59 },
      'maxDuration 59 must be a whole number of seconds from 60',
    ],
    ['a maximum duration of more than a day', { maxDuration: 86_401 }, 'maxDuration 86401 must be'],
    ['a maximum duration with a fraction of a second', { maxDuration: 90.5 }, 'maxDuration 90.5 must be'],
    ['an unknown worker', { worker: 'cleaner' }, 'worker "cleaner" must be payments or upkeep'],
    ['an unknown time zone', { timeZone: 'Europe/Nowhere' }, 'timeZone "Europe/Nowhere" must be a name of the IANA'],
    ['an offset instead of a time zone', { timeZone: '+01:00' }, 'timeZone "+01:00" must be a name of the IANA'],
    ['a time zone in lower case', { timeZone: 'europe/berlin' }, 'timeZone "europe/berlin" must be a name'],
    [
      'a rate with a time zone',
      { schedule: 'rate(1 hour)', timeZone: 'Europe/Berlin' },
      'timeZone "Europe/Berlin" must be omitted: a rate has no time zone',
    ],
  ])('rejects %s, and names the field and the allowed values', (_what, changes, fault) => {
    expect(() => checkJobs([wrong(changes)])).toThrow(fault);
  });

  test('rejects two jobs with the same id', () => {
    expect(() => checkJobs([good, good])).toThrow('sweep-rooms: id "sweep-rooms" must be unique');
  });

  test('reports all errors together, in one line', () => {
    const check = () => checkJobs([wrong({ why: '', scopes: [] }), wrong({ id: 'other', path: '/x' })]);
    expect(check).toThrow(/^.*: sweep-rooms: why "".*; sweep-rooms: scopes \[\].*; other: path "\/x".*$/);
  });
});
