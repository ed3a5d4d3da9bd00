import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import * as z from 'zod';
import { CliFailure, ExitCode } from './failure.ts';
import { type AskApi, addAccess, askerOf, readAnswer } from './operator-api.ts';
import { isoTime, readCountOf, readSeconds, type Session, table } from './session.ts';

const MAX_RUNS = 100;
/** Maximum wait. A run has pages of at most a minute, and most runs have one. Milliseconds. */
const LONGEST_WAIT_MS = 15 * 60_000;
const POLL_INTERVAL_MS = 1_000;
/** Statuses of a run before its end. */
const UNFINISHED = new Set(['accepted', 'running']);

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
    .option('--wait', `wait for its end, at most ${LONGEST_WAIT_MS / 60_000} minutes`)
    .action(async (id: string, { scheduledFor, wait = false }: { scheduledFor?: number; wait?: boolean }) => {
      const asked = await ask('POST', runsOf(id), scheduledFor === undefined ? {} : { scheduled_for: scheduledFor });
      const document = wait ? await session.during(`Running ${id}`, (report) => endOf(ask, id, asked, report)) : asked;
      const run = readAnswer(jobRun, document);
      session.show(document, runLines([run]));
      const { status, failed } = run;
      if (wait && (status !== 'succeeded' || failed > 0))
        throw new CliFailure(ExitCode.incomplete, `The run ${run.id} is ${status}, with ${failed} failed items.`);
    });

  jobs
    .command('runs <id>')
    .description('lists the runs of a job, latest first')
    .option('--most <n>', `how many, 1 to ${MAX_RUNS}`, readCountOf(MAX_RUNS), 10)
    .option('--items', 'also the items that failed, and those that a run skipped, because they crashed its worker')
    .action(async (id: string, { most, items = false }: { most: number; items?: boolean }) => {
      const document = await ask('GET', `${runsOf(id)}?limit=${most}`);
      const runs = readAnswer(jobRunList, document).data;
      session.show(document, [...runLines(runs), ...(items ? itemLines(runs) : [])]);
    });
}

/** The run when it has ended, or when the time to wait is over. */
async function endOf(ask: AskApi, job: string, asked: unknown, report: (progress: string) => void): Promise<unknown> {
  let document = asked;
  for (let waitedMs = 0; waitedMs < LONGEST_WAIT_MS; waitedMs += POLL_INTERVAL_MS) {
    const { id, status, done, left } = readAnswer(jobRun, document);
    if (!UNFINISHED.has(status)) return document;
    report(`${status}, ${done} done, ${left} left`);
    await sleep(POLL_INTERVAL_MS);
    document = await ask('GET', `${runsOf(job)}/${encodeURIComponent(id)}`);
  }
  return document;
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
  skipped_items: z.array(z.string()),
  failed_items: z.array(z.string()),
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

function itemLines(runs: readonly z.infer<typeof jobRun>[]): readonly string[] {
  const rows = runs.flatMap(({ id, skipped_items: skipped, failed_items: failed }) => [
    ...skipped.map((item) => [id, item, 'skipped']),
    ...failed.map((item) => [id, item, 'failed']),
  ]);
  return rows.length === 0 ? ['No item failed.'] : table(['RUN', 'ITEM', 'WAS'], rows);
}

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
