import { Command, InvalidArgumentError } from 'commander';
import * as z from 'zod';

/** Where the API is, and with what one may ask it. */
export interface ApiAccess {
  /** Without a trailing slash. */
  readonly url: string;
  /** An operator's, with the scope `admin`. */
  readonly key: string;
}

export interface Target {
  readonly local?: boolean;
  readonly url?: string;
  readonly key?: string;
}

export interface JobsCommandTools {
  readonly locate: (target: Target) => Promise<ApiAccess>;
  readonly print: (line: string) => void;
  readonly freshKey: () => string;
}

/** A request is answered within twenty seconds, or not at all. Milliseconds. */
const TIMEOUT_MS = 30_000;
const MOST_RUNS = 100;

/** The command, as it reads its arguments. */
export function jobsProgram({ locate, print, freshKey }: JobsCommandTools): Command {
  const program = new Command('npm run jobs --')
    .description('The jobs that the clock runs, of a deployed stack, with an operator’s API key (scope admin).')
    .option('--local', 'the stack that "npm start" brought up, with its own key')
    .option(
      '--url <address>',
      'of the API; found by the stack, with your own AWS credentials, when left out',
      withoutSlash,
    )
    .option('--key <key>', 'the API key; the variable PAYONCE_API_KEY when left out');
  const ask = async (method: 'GET' | 'POST', path: string, body?: object): Promise<unknown> =>
    askApi(await locate(program.opts<Target>()), method, path, { freshKey, body });

  program
    .command('list')
    .description('shows each job, its schedule, its last run and when it comes next')
    .action(async () => {
      const { data } = jobList.parse(await ask('GET', '/v1/admin/jobs'));
      for (const { id, schedule, time_zone: zone, last_run: last, next_run: next } of data) {
        const when = zone === null || zone === 'UTC' ? schedule : `${schedule} ${zone}`;
        const before = last === null ? 'never ran' : `last ${last.scheduled_for} ${last.status}`;
        print(`${id}  ${when}  ${before}  next ${next ?? 'not known yet'}`);
      }
    });

  program
    .command('run <id>')
    .description('has a job run, now or for a time that was missed; there is one run for each time')
    .option('--at <time>', 'the time that the run is for, as 2026-03-01T12:00:00Z; now when left out', readTime)
    .action(async (id: string, { at }: { at?: string }) => {
      const run = jobRun.parse(await ask('POST', runsOf(id), at === undefined ? {} : { scheduled_for: at }));
      print(runLine(run));
    });

  program
    .command('runs <id>')
    .description('shows the runs of a job, the latest first')
    .option('--most <n>', `how many, 1 to ${MOST_RUNS}`, readCount, 10)
    .action(async (id: string, { most }: { most: number }) => {
      const { data } = jobRunList.parse(await ask('GET', `${runsOf(id)}?limit=${most}`));
      for (const run of data) print(runLine(run));
      if (data.length === 0) print('No runs.');
    });
  return program;
}

function runsOf(id: string): string {
  return `/v1/admin/jobs/${encodeURIComponent(id)}/runs`;
}

const jobRun = z.object({
  id: z.string(),
  scheduled_for: z.string(),
  status: z.string(),
  duration: z.number().nullable(),
  done: z.int(),
  left: z.int(),
  failed: z.int(),
  set_aside: z.int(),
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
      next_run: z.string().nullable(),
    }),
  ),
});

function runLine(run: z.infer<typeof jobRun>): string {
  const took = run.duration === null ? '' : `  ${run.duration} s`;
  const counts = `done ${run.done}  left ${run.left}  failed ${run.failed}  set aside ${run.set_aside}`;
  return `${run.id}  ${run.status}${took}  ${counts}${run.reason === null ? '' : `  ${run.reason}`}`;
}

interface Request {
  readonly freshKey: () => string;
  readonly body?: object | undefined;
}

const problem = z.object({ code: z.string(), detail: z.string() });

/** @throws Error in the API's own words when it refuses */
async function askApi(
  { url, key }: ApiAccess,
  method: 'GET' | 'POST',
  path: string,
  { freshKey, body }: Request,
): Promise<unknown> {
  const posting = { 'content-type': 'application/json', 'idempotency-key': freshKey() };
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(method === 'POST' ? posting : {}) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const answer: unknown = await response.json().catch(() => undefined);
  if (response.ok) return answer;
  const { data } = problem.safeParse(answer);
  throw new Error(data === undefined ? `The API answered ${response.status}.` : `${data.code}: ${data.detail}`);
}

const time = z.iso.datetime({ offset: true });

function readTime(text: string): string {
  if (time.safeParse(text).success) return text;
  throw new InvalidArgumentError(`${text} is no time; as 2026-03-01T12:00:00Z.`);
}

function withoutSlash(address: string): string {
  return address.replace(/\/+$/, '');
}

function readCount(text: string): number {
  const count = Number(text);
  if (!/^\d+$/.test(text) || count < 1 || count > MOST_RUNS) {
    throw new InvalidArgumentError(`${text} is not a number from 1 to ${MOST_RUNS}.`);
  }
  return count;
}
