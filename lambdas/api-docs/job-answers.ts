import * as z from 'zod';
import { RUN_STATUSES } from '../jobs/domain/job-run.ts';
import { RUN_ID } from '../jobs/http/job-schemas.ts';
import { JOBS } from '../kernel/contract/jobs.ts';

/** What the routes of jobs answer. */

const time = z.int().meta({ description: 'Unix time in seconds.', example: 1_772_366_400 });
const count = z.int().min(0);

export const jobRun = z
  .looseObject({
    id: z.string().regex(RUN_ID).meta({
      description: 'The job’s id and the scheduled time: the same run, whoever asks for it.',
      example: 'close-days:2026-03-01T12:00:00Z',
    }),
    object: z.literal('job_run'),
    job: z.string(),
    scheduled_for: time.meta({ description: 'The time that the run is for, not the one at which it came.' }),
    status: z.enum(RUN_STATUSES).meta({
      description: '`succeeded` when all was looked at, also if some of it failed: the next run has that again.',
    }),
    created: time.meta({ description: 'When the run was accepted.' }),
    started: time.nullable(),
    ended: time.nullable(),
    duration: z.number().min(0).nullable().meta({ description: 'From its beginning to its end, in seconds.' }),
    done: count,
    left: count.meta({ description: 'Looked at, and not due or not possible yet.' }),
    failed: count.meta({ description: 'Went wrong and was reported; a later run has it again.' }),
    skipped: count.meta({
      description: 'Of those that failed: killed their worker again and again, and were passed over.',
    }),
    reason: z.string().nullable().meta({ description: 'Why the run failed.' }),
  })
  .meta({ id: 'JobRun' });

const job = z
  .looseObject({
    id: z.enum(JOBS.map(({ id }) => id)),
    object: z.literal('job'),
    why: z.string().meta({ description: 'Why it exists.' }),
    schedule: z.string().meta({
      description: 'As EventBridge Scheduler writes it: `rate(…)` or `cron(…)`.',
      example: 'cron(20 1 * * ? *)',
    }),
    time_zone: z.string().nullable().meta({ description: 'An IANA name; a rate has none.' }),
    overlap: z.enum(['forbid', 'allow']).meta({ description: 'Whether two of its runs may be under way at once.' }),
    last_run: jobRun.nullable().meta({ description: 'The one for the latest time.' }),
    next_run: time.nullable().meta({
      description: 'A rate counts from the latest run: it cannot be told before there was one.',
    }),
  })
  .meta({ id: 'Job' });

export const jobList = z
  .looseObject({ object: z.literal('list'), data: z.array(job), has_more: z.literal(false) })
  .meta({ id: 'JobList' });

export const jobRunList = z
  .looseObject({
    object: z.literal('list'),
    data: z.array(jobRun).meta({ description: 'For the latest time first.' }),
    has_more: z.boolean().meta({ description: 'Whether there are more for earlier times.' }),
  })
  .meta({ id: 'JobRunList' });
