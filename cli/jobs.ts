import type { Command } from 'commander';
import * as z from 'zod';
import { addAccess, askerOf, readAnswer } from './operator-api.ts';
import { isoTime, readCountOf, readSeconds, type Session, table } from './session.ts';

const MOST_RUNS = 100;

/** `payonce jobs`. */
export function addJobs(program: Command, session: Session): void {
  const jobs = program
    .command('jobs')
    .description('lists the scheduled jobs and their runs, and starts a run, with an operator’s key');
  addAccess(jobs);
  const ask = askerOf(session, jobs);

  jobs
    .command('list')
    .description('lists the jobs with their schedule, last run and next run')
    .action(async () => {
      const document = await ask('GET', '/v1/admin/jobs');
      const rows = readAnswer(jobList, document).data.map(
        ({ id, schedule, time_zone: zone, last_run: last, next_run: next }) => [
          id,
          zone === null || zone === 'UTC' ? schedule : `${schedule} ${zone}`,
          last === null ? 'never ran' : `${isoTime(last.scheduled_for * 1000)} ${last.status}`,
          next === null ? 'unknown' : isoTime(next * 1000),
        ],
      );
      session.show(document, table(['JOB', 'SCHEDULE', 'LAST RUN', 'NEXT RUN'], rows));
    });

  jobs
    .command('run <id>')
    .description('starts a run of a job, for now or for a missed time; there is one run for each time')
    .option('--scheduled-for <seconds>', 'the time of the run, in Unix seconds; the default is now', readSeconds)
    .action(async (id: string, { scheduledFor }: { scheduledFor?: number }) => {
      const document = await ask('POST', runsOf(id), scheduledFor === undefined ? {} : { scheduled_for: scheduledFor });
      session.show(document, runLines([readAnswer(jobRun, document)]));
    });

  jobs
    .command('runs <id>')
    .description('lists the runs of a job, latest first')
    .option('--most <n>', `how many, 1 to ${MOST_RUNS}`, readCountOf(MOST_RUNS), 10)
    .action(async (id: string, { most }: { most: number }) => {
      const document = await ask('GET', `${runsOf(id)}?limit=${most}`);
      session.show(document, runLines(readAnswer(jobRunList, document).data));
    });
}

function runsOf(id: string): string {
  return `/v1/admin/jobs/${encodeURIComponent(id)}/runs`;
}

const jobRun = z.object({
  id: z.string(),
  scheduled_for: z.int(),
  status: z.string(),
  duration: z.number().nullable(),
  done: z.int(),
  left: z.int(),
  failed: z.int(),
  skipped: z.int(),
  reason: z.string().nullable(),
});
const jobRunList = z.object({ data: z.array(jobRun) });
const jobList = z.object({
  data: z.array(
    z.object({
      id: z.string(),
      schedule: z.string(),
      time_zone: z.string().nullable(),
      last_run: jobRun.nullable(),
      next_run: z.int().nullable(),
    }),
  ),
});

function runLines(runs: readonly z.infer<typeof jobRun>[]): readonly string[] {
  if (runs.length === 0) return ['No runs.'];
  const rows = runs.map(({ id, status, duration, done, left, failed, skipped, reason }) => [
    id,
    status,
    duration === null ? '' : `${duration} s`,
    ...[done, left, failed, skipped].map(String),
    reason ?? '',
  ]);
  return table(['RUN', 'STATUS', 'TOOK', 'DONE', 'LEFT', 'FAILED', 'SKIPPED', 'REASON'], rows);
}
