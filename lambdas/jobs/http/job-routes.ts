import * as z from 'zod';
import {
  type ApiTools,
  apiFor,
  type Call as CallBy,
  found,
  type Handled,
  type Handler,
  refusal,
} from '../../http/authenticated-api.ts';
import { type KeyedCall, keyed, type OperatorEndpoint, type ReadingCall, reading } from '../../http/endpoint.ts';
import { problemAnswer } from '../../http/http-answer.ts';
import { keyedCounts, payloadMismatch, replayed } from '../../http/keyed-request.ts';
import { causedByOperator } from '../../http/operator-api.ts';
import { type Parsed, problem, refused, valid } from '../../http/problems.ts';
import type { Answer } from '../../kernel/answer.ts';
import { defined } from '../../kernel/defined.ts';
import { fingerprintOf } from '../../kernel/fingerprint.ts';
import { invariant } from '../../kernel/invariant.ts';
import { RUN_RETENTION_DAYS } from '../../once/domain/idempotency.ts';
import type { IdentifyOperator } from '../../tenants/operators.ts';
import type { ListedJob } from '../contract/job-targets.ts';
import type { JobEntry } from '../contract/jobs.ts';
import { type JobRun, type RunId, runIdOf } from '../domain/job-run.ts';
import { jobRunObject, unixSeconds } from '../domain/job-run-object.ts';
import { clockedRunOperation, deriveRunOperation } from '../ids.ts';
import { nextScheduled, readSchedule } from '../schedules.ts';
import { type AcceptRun, type AcceptRunOutcome, type AcceptRunTools, acceptRun } from '../use/accept-run.ts';
import { type JobRoute, type JobsCaller, roleOrCredential, type VerifyCredential } from './authenticate-jobs.ts';
import { job, jobList, jobRun, jobRunList } from './job-answers.ts';
import { DEFAULT_RUNS_PAGE, RUN_ID, runsQuery, startRunBody } from './job-schemas.ts';

type Tools = AcceptRunTools & Pick<JobsApiTools, 'own' | 'listed' | 'telemetry'>;
type Call = CallBy<Tools, JobsCaller>;
type Read<Query extends z.ZodObject = z.ZodObject> = ReadingCall<Tools, Query, JobsCaller>;
type Entry = JobEntry | ListedJob;

export interface JobsApiTools extends AcceptRunTools, ApiTools {
  readonly digest: AcceptRunTools['digest'];
  readonly clock: AcceptRunTools['clock'];
  readonly identify: IdentifyOperator;
  readonly verify: VerifyCredential;
  readonly own: readonly JobEntry[];
  readonly listed: readonly ListedJob[];
}

export function jobsApi(tools: JobsApiTools): Handler {
  return apiFor(roleOrCredential(tools.identify, tools.verify), JOB_ROUTES, tools);
}

const ofJob = z.object({
  id: z
    .string()
    .regex(/^[a-z0-9-]{2,50}$/)
    .meta({ description: 'The id of the job.', example: 'close-days' }),
});

const getJobs = reading({
  path: '/v1/admin/jobs',
  role: 'viewer',
  handle: listJobs,
  docs: {
    operationId: 'listJobs',
    tag: 'Jobs',
    summary: 'List the scheduled jobs',
    description:
      'Lists the jobs, each with its last run and the time of its next run. Jobs belong to the deployment, not to a tenant.',
    answers: { 200: { description: 'The jobs.', schema: jobList } },
  },
});

async function listJobs({ tools: { runs, own, listed, telemetry }, request, receivedAtMs }: Call): Promise<Handled> {
  const data = await Promise.all(
    [...own, ...listed].map(async (entry: Entry) => {
      const latest = await runs.listRuns(entry.id, { limit: 1 }).catch((error): undefined => {
        telemetry.fault(request.requestId, error);
      });
      return jobObject(entry, latest, receivedAtMs);
    }),
  );
  return found({ object: 'list', data, has_more: false });
}

const getJob = reading({
  path: '/v1/admin/jobs/{id}',
  role: 'viewer',
  handle: showJob,
  docs: {
    operationId: 'getJob',
    tag: 'Jobs',
    summary: 'Retrieve a scheduled job',
    description: 'Returns the job with its last run and the time of its next run.',
    path: ofJob,
    answers: { 200: { description: 'The job.', schema: job } },
  },
});

async function showJob(call: Call): Promise<Handled> {
  const { tools, receivedAtMs } = call;
  const entry = entryOf(call);
  if (entry === undefined) return noSuchJob(call);
  return found(jobObject(entry, await tools.runs.listRuns(entry.id, { limit: 1 }), receivedAtMs));
}

function entryOf({ tools: { own, listed }, id }: Call): Entry | undefined {
  return [...own, ...listed].find((entry) => entry.id === id);
}

/** @param runs the latest run, if there is one; undefined if the runs cannot be read */
function jobObject(entry: Entry, runs: readonly JobRun[] | undefined, nowMs: number): Record<string, unknown> {
  const { id, why, schedule, timeZone } = entry;
  const last = runs?.[0];
  const read = readSchedule(schedule, timeZone);
  invariant(read.kind === 'read', 'the schedule of a deployed job is invalid');
  const nextMs = nextScheduled(read.schedule, nowMs, last?.scheduledForMs);
  return {
    id,
    object: 'job',
    why,
    schedule,
    time_zone: read.schedule.kind === 'rate' ? null : (timeZone ?? 'UTC'),
    // Runs of another service's job are requested even while an earlier run is in progress.
    overlap: 'target' in entry ? 'allow' : (entry.overlap ?? 'forbid'),
    target: 'target' in entry ? entry.target : null,
    last_run: last === undefined ? null : jobRunObject(last),
    runs_unread: runs === undefined,
    next_run: nextMs === undefined ? null : unixSeconds(nextMs),
  };
}

const getRuns = reading({
  path: '/v1/admin/jobs/{id}/runs',
  role: 'viewer',
  query: runsQuery,
  handle: listRuns,
  docs: {
    operationId: 'listJobRuns',
    tag: 'Jobs',
    summary: 'List the runs of a job',
    description: 'Sorted by scheduled time, latest first. Runs are kept for 30 days after their end.',
    path: ofJob,
    answers: { 200: { description: 'A page of runs.', schema: jobRunList } },
  },
});

const getRun = reading({
  path: '/v1/admin/jobs/{id}/runs/{run}',
  role: 'viewer',
  handle: showRun,
  docs: {
    operationId: 'getJobRun',
    tag: 'Jobs',
    summary: 'Retrieve a run of a job',
    description: 'Returns the current state of the run.',
    path: ofJob.extend({ run: jobRun.shape.id.meta({ description: 'The id of the run.' }) }),
    answers: { 200: { description: 'The run.', schema: jobRun } },
  },
});

async function listRuns(call: Read<typeof runsQuery>): Promise<Handled> {
  const { tools, request, query } = call;
  const entry = entryOf(call);
  if (entry === undefined) return noSuchJob(call);
  const { limit = DEFAULT_RUNS_PAGE, starting_after: cursor, created_from: from, created_to: to } = query;
  const after = cursor === undefined ? undefined : await namedRun(call, entry.id, cursor);
  if (cursor !== undefined && after === undefined) {
    const detail = 'starting_after must be the id of a run of this job.';
    return refusal(problem('invalid_request', detail, 'starting_after'), request);
  }
  const ends = [...(after === undefined ? [] : [after.scheduledForMs]), ...(to === undefined ? [] : [to * 1000])];
  const page = {
    limit: limit + 1,
    ...(from === undefined ? {} : { fromMs: from * 1000 }),
    ...(ends.length === 0 ? {} : { beforeMs: Math.min(...ends) }),
  };
  const runs = await tools.runs.listRuns(entry.id, page);
  return found({ object: 'list', data: runs.slice(0, limit).map(jobRunObject), has_more: runs.length > limit });
}

async function showRun(call: Call): Promise<Handled> {
  const { request, pieces } = call;
  const entry = entryOf(call);
  if (entry === undefined) return noSuchJob(call);
  const run = await namedRun(call, entry.id, pieces['run'] ?? '');
  if (run === undefined) return refusal(problem('not_found', 'This job has no such run.'), request);
  return found(jobRunObject(run));
}

async function namedRun({ tools }: Call, jobId: string, name: string): Promise<JobRun | undefined> {
  return RUN_ID.test(name) ? tools.runs.readRun(jobId, name as RunId) : undefined;
}

const postRun = {
  ...keyed({
    path: '/v1/admin/jobs/{id}/runs',
    role: 'operator',
    body: startRunBody,
    optionalBody: true,
    handle: startRun,
    docs: {
      operationId: 'startJobRun',
      tag: 'Jobs',
      summary: 'Start a run of a job',
      description:
        'Accepts the run, which a worker then executes. There is one run for each scheduled time, regardless of callers and keys. A run that has ' +
        'not ended is enqueued again. The schedule itself uses a credential that is valid for one run only.',
      path: ofJob,
      key: ['request', 'it starts no second run', ' The key is remembered for thirty days.'],
      located: true,
      expires: false,
      requests: {
        now: { summary: 'For the current time', value: {} },
        time: { summary: 'For a time that was missed', value: { scheduled_for: 1_772_366_400 } },
      },
      answers: {
        202: { description: 'The accepted run. Its progress is available at the URL in `Location`.', schema: jobRun },
      },
    },
  }),
  isForExecutor: true,
} as const;

type StartCall = KeyedCall<Tools, typeof startRunBody, JobsCaller>;

async function startRun(call: StartCall): Promise<Handled> {
  const { tools, request, id, logFields } = call;
  const parsed = requestedRun(call, id);
  if (parsed.kind === 'refused') return refusal(parsed.problem, request);
  const entry = entryOf(call);
  if (entry === undefined) return noSuchJob(call);
  if ('target' in entry) {
    const detail = 'Only the schedule can request runs of another service’s job.';
    return refusal(problem('invalid_request', detail), request);
  }
  logFields.operationId = parsed.value.operationId;
  const outcome = await acceptRun(tools, parsed.value);
  return { answer: outcomeAnswer(outcome, request.requestId), outcome: outcome.kind, counts: keyedCounts(outcome) };
}

function requestedRun(call: StartCall, jobId: string): Parsed<AcceptRun> {
  const { tools, caller, request, key, fingerprint, body } = call;
  const scheduledForMs = body.scheduled_for === undefined ? undefined : body.scheduled_for * 1000;
  if (caller.kind === 'executor') return clockedRequest(call, { jobId, key, scheduledForMs }, caller.runId);
  const { operator } = caller;
  const path = `/v1/admin/jobs/${jobId}/runs`;
  return valid({
    operationId: deriveRunOperation(tools.digest, { person: operator.person, method: 'POST', path, key }),
    fingerprint,
    jobId,
    ...defined({ scheduledForMs }),
    requestedBy: causedByOperator({ request, caller: operator }),
  });
}

interface ClockedRun {
  readonly jobId: string;
  readonly key: string;
  readonly scheduledForMs: number | undefined;
}

function clockedRequest({ tools: { digest } }: Call, asked: ClockedRun, credited: string): Parsed<AcceptRun> {
  const { jobId, key, scheduledForMs } = asked;
  if (scheduledForMs === undefined) {
    const detail = 'scheduled_for is missing: it must be the scheduled time of the run.';
    return refused('invalid_request', detail, 'scheduled_for');
  }
  if (key !== credited) {
    return refused('invalid_idempotency_key', 'The Idempotency-Key must be the run-id of the credential.');
  }
  if (key !== runIdOf(jobId, scheduledForMs)) {
    const detail = 'This Idempotency-Key is the id of a run whose scheduled time differs from scheduled_for.';
    return refused('idempotency_key_payload_mismatch', detail, 'scheduled_for');
  }
  return valid({
    operationId: clockedRunOperation(digest, key),
    fingerprint: fingerprintOf(digest, { body: { scheduled_for: unixSeconds(scheduledForMs) }, query: {} }),
    jobId,
    scheduledForMs,
  });
}

function outcomeAnswer(outcome: AcceptRunOutcome, requestId: string): Answer {
  switch (outcome.kind) {
    case 'first':
      return outcome.answer;
    case 'replay':
      return replayed(outcome.answer);
    case 'payload_mismatch':
      return payloadMismatch(requestId);
    case 'too_old': {
      const detail = `scheduled_for must be at most ${RUN_RETENTION_DAYS} days ago: records of older runs have expired.`;
      return problemAnswer(problem('invalid_request', detail, 'scheduled_for'), requestId);
    }
    case 'in_the_future': {
      const detail = 'scheduled_for must not be in the future: the schedule requests that run when it is due.';
      return problemAnswer(problem('invalid_request', detail, 'scheduled_for'), requestId);
    }
  }
}

function noSuchJob({ request }: Call): Handled {
  return refusal(problem('not_found', 'There is no such job: see the list of jobs.'), request);
}

export const JOB_ROUTES: readonly (OperatorEndpoint<Tools, JobsCaller> & JobRoute)[] = [
  getJobs,
  getJob,
  postRun,
  getRuns,
  getRun,
];
