import { type Command, InvalidArgumentError } from 'commander';
import * as z from 'zod';
import { stackOutputs } from './deployment.ts';
import { CliFailure, ExitCode } from './failure.ts';
import { isoTime, readCountOf, readSeconds, type Session, table } from './session.ts';

interface ApiAccess {
  /** Without a trailing slash. */
  readonly url: string;
  /** An operator's. */
  readonly key: string;
}

interface Named {
  readonly url?: string;
  readonly key?: string;
}

/** Longer than the API's limit of 20 seconds for an answer. Milliseconds. */
const TIMEOUT_MS = 30_000;
const MOST_RUNS = 100;

/** `payonce jobs`. */
export function addJobs(program: Command, session: Session): void {
  const jobs = program
    .command('jobs')
    .description('lists the scheduled jobs and their runs, and starts a run, with an operator’s key')
    .option('--url <address>', 'base address of the API; the default is the output of the stack', withoutSlash)
    .option('--key <key>', 'the operator’s key; the default is the variable PAYONCE_OPERATOR_KEY');
  const ask = async (method: 'GET' | 'POST', path: string, body?: object): Promise<unknown> =>
    askApi(await locate(session, jobs.opts<Named>()), method, path, { freshKey: session.freshKey, body });

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

async function locate(session: Session, { url, key = process.env['PAYONCE_OPERATOR_KEY'] }: Named): Promise<ApiAccess> {
  // The message omits the key. `fetch` would show it in its error.
  if (key !== undefined && !/^[\x21-\x7e]*$/.test(key.trim()))
    throw new CliFailure(ExitCode.settings, 'The key contains invalid characters.');
  const local = await session.local();
  if (local !== undefined) return { url: url ?? local.apiUrl, key: key ?? local.operatorKey };
  if (key === undefined || key.trim() === '')
    throw new CliFailure(
      ExitCode.settings,
      'No key is set: set PAYONCE_OPERATOR_KEY or --key to the key of an operator.',
    );
  if (url !== undefined) return { url, key };
  const [apiUrl] = await stackOutputs(
    await session.aws(),
    'service',
    ['apiUrl'],
    'set the address of the API with --url.',
  );
  return { url: withoutSlash(apiUrl), key };
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

interface Request {
  readonly freshKey: () => string;
  readonly body?: object | undefined;
}

const problem = z.object({ code: z.string(), detail: z.string() });

/** @throws CliFailure with the API's code and detail when it refuses */
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
  throw new CliFailure(
    response.status === 404 ? ExitCode.notFound : ExitCode.refused,
    data === undefined ? `The API answered ${response.status}.` : `${data.code}: ${data.detail}`,
  );
}

/** @throws CliFailure when the answer does not have the form of this version's API */
function readAnswer<Shape>(schema: z.ZodType<Shape>, document: unknown): Shape {
  const { success, data } = schema.safeParse(document);
  if (success) return data;
  throw new CliFailure(ExitCode.settings, 'The answer is not from the API of this version of Payonce: check --url.');
}

function withoutSlash(address: string): string {
  if (!/^https?:\/\//.test(address) || !URL.canParse(address))
    throw new InvalidArgumentError(`${address} is not a URL, for example https://api.example.`);
  return address.replace(/\/+$/, '');
}
