import * as z from 'zod';
import { RUN_STATUSES } from '../domain/job-run.ts';
import { RUN_ID } from './job-schemas.ts';

const time = z.int().meta({ description: 'Unix time in seconds.', example: 1_772_366_400 });
const count = z.int().min(0);

export const jobRun = z
  .looseObject({
    id: z.string().regex(RUN_ID).meta({
      description: 'The job’s id and the scheduled time. The same for every caller.',
      example: 'close-days:2026-03-01T12:00:00Z',
    }),
    object: z.literal('job_run'),
    job: z.string(),
    scheduled_for: time.meta({ description: 'The scheduled time of the run, not the time of its start.' }),
    status: z.enum(RUN_STATUSES).meta({
      description:
        '`succeeded`: all items were processed; the next run retries any items that failed. For a job of another service: the service accepted the run.',
    }),
    created: time.meta({ description: 'Time at which the run was accepted.' }),
    started: time.nullable(),
    ended: time.nullable(),
    duration: z
      .number()
      .min(0)
      .nullable()
      .meta({ description: 'The time from the start of the run to its end, in seconds.' }),
    done: count,
    left: count.meta({ description: 'Items that were not due, or could not be processed yet.' }),
    failed: count.meta({ description: 'Items that failed and were reported. A later run retries them.' }),
    skipped: count.meta({
      description: 'Failed items that crashed their worker repeatedly and were skipped.',
    }),
    skipped_items: z.array(z.string()).meta({ description: 'The names of the first skipped items.' }),
    failed_items: z.array(z.string()).meta({
      description:
        'The names of the first items that failed and were not skipped: ids, or parts of the work, for example a queue.',
    }),
    reason: z
      .string()
      .nullable()
      .meta({ description: 'Why the run failed, or why its target has not accepted it yet.' }),
  })
  .meta({ id: 'JobRun' });

export const job = z
  .looseObject({
    id: z.string(),
    object: z.literal('job'),
    why: z.string().meta({ description: 'The purpose of the job.' }),
    schedule: z.string().meta({
      description: 'The schedule, in the syntax of EventBridge Scheduler: `rate(…)` or `cron(…)`.',
      example: 'cron(20 1 * * ? *)',
    }),
    time_zone: z.string().nullable().meta({ description: 'The IANA name of the time zone. Null for a `rate(…)`.' }),
    overlap: z
      .enum(['forbid', 'allow'])
      .meta({ description: 'Whether two runs of the job may be in progress at the same time.' }),
    target: z.string().nullable().meta({
      description: 'The service that runs the job, by its name in `payonce:jobTargets`. Null for Payonce’s own jobs.',
    }),
    last_run: jobRun.nullable().meta({ description: 'The run with the latest scheduled time.' }),
    runs_unread: z
      .boolean()
      .meta({ description: 'Whether the runs could not be read, so that `last_run` and `next_run` may be unknown.' }),
    next_run: time.nullable().meta({
      description:
        'The time of the next run. For a `rate(…)`, it is computed from the latest run, and is null before the first run.',
    }),
  })
  .meta({ id: 'Job' });

export const jobList = z
  .looseObject({ object: z.literal('list'), data: z.array(job), has_more: z.literal(false) })
  .meta({ id: 'JobList' });

export const jobRunList = z
  .looseObject({
    object: z.literal('list'),
    data: z.array(jobRun).meta({ description: 'Sorted by scheduled time, latest first.' }),
    has_more: z.boolean().meta({ description: 'Whether there are earlier runs.' }),
  })
  .meta({ id: 'JobRunList' });
