import * as z from 'zod';
import { RUN_STATUSES } from '../domain/job-run.ts';
import { RUN_ID } from './job-schemas.ts';

/** Response schemas of jobs. */

const time = z.int().meta({ description: 'Unix time in seconds.', example: 1_772_366_400 });
const count = z.int().min(0);

export const jobRun = z
  .looseObject({
    id: z.string().regex(RUN_ID).meta({
      description: 'The job’s id and the scheduled time, the same for every caller.',
      example: 'close-days:2026-03-01T12:00:00Z',
    }),
    object: z.literal('job_run'),
    job: z.string(),
    scheduled_for: time.meta({ description: 'The scheduled time of the run, not the time of its start.' }),
    status: z.enum(RUN_STATUSES).meta({
      description:
        '`succeeded` when all items were processed, even if some failed: the next run retries those. For a job of another service: when it accepted the run.',
    }),
    created: time.meta({ description: 'Time at which the run was accepted.' }),
    started: time.nullable(),
    ended: time.nullable(),
    duration: z.number().min(0).nullable().meta({ description: 'From its beginning to its end, in seconds.' }),
    done: count,
    left: count.meta({ description: 'Checked, and not due or not possible yet.' }),
    failed: count.meta({ description: 'Failed and reported; a later run retries them.' }),
    skipped: count.meta({
      description: 'Failed items that crashed their worker repeatedly and were skipped.',
    }),
    skipped_items: z.array(z.string()).meta({ description: 'The ids of the first of these items.' }),
    failed_items: z.array(z.string()).meta({
      description: 'The ids of the first other items that failed, or their queues.',
    }),
    reason: z
      .string()
      .nullable()
      .meta({ description: 'The reason why the run failed, or why its target has not accepted it yet.' }),
  })
  .meta({ id: 'JobRun' });

export const job = z
  .looseObject({
    id: z.string(),
    object: z.literal('job'),
    why: z.string().meta({ description: 'The purpose of the job.' }),
    schedule: z.string().meta({
      description: 'In the syntax of EventBridge Scheduler: `rate(…)` or `cron(…)`.',
      example: 'cron(20 1 * * ? *)',
    }),
    time_zone: z.string().nullable().meta({ description: 'An IANA name; a rate has none.' }),
    overlap: z.enum(['forbid', 'allow']).meta({ description: 'Whether two of its runs may be in progress at once.' }),
    target: z.string().nullable().meta({
      description: 'The service that runs it, by its name in `payonce:jobTargets`; null for a job of Payonce.',
    }),
    last_run: jobRun.nullable().meta({ description: 'The run of the latest scheduled time.' }),
    next_run: time.nullable().meta({
      description: 'Null before the first run of a `rate(…)`, which counts from the latest run.',
    }),
  })
  .meta({ id: 'Job' });

export const jobList = z
  .looseObject({ object: z.literal('list'), data: z.array(job), has_more: z.literal(false) })
  .meta({ id: 'JobList' });

export const jobRunList = z
  .looseObject({
    object: z.literal('list'),
    data: z.array(jobRun).meta({ description: 'The latest scheduled time first.' }),
    has_more: z.boolean().meta({ description: 'Whether there are runs of earlier times.' }),
  })
  .meta({ id: 'JobRunList' });
