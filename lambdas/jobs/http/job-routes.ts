import {
  type ApiTools,
  apiFor,
  type Call as CallBy,
  found,
  type Handled,
  refusal,
} from '../../http/authenticated-api.ts';
import type { GatewayEvent, GatewayResult } from '../../http/gateway-request.ts';
import { problemAnswer } from '../../http/http-answer.ts';
import { readOptionalJsonObject } from '../../http/json-body.ts';
import { keyedCounts, payloadMismatch, readKeyedRequest, replayed } from '../../http/keyed-request.ts';
import { causedByOperator, type OperatorRoute } from '../../http/operator-api.ts';
import { type Parsed, problem, refused, valid } from '../../http/problems.ts';
import { emptyQuery, validateQuery } from '../../http/validate.ts';
import type { Answer } from '../../kernel/answer.ts';
import { defined } from '../../kernel/defined.ts';
import { fingerprintOf } from '../../kernel/fingerprint.ts';
import { invariant } from '../../kernel/invariant.ts';
import { RUN_RETENTION_DAYS } from '../../once/domain/idempotency.ts';
import type { IdentifyOperator } from '../../tenants/operators.ts';
import type { ListedJob } from '../contract/job-targets.ts';
import { JOBS, type JobEntry, jobEntry } from '../contract/jobs.ts';
import { type JobRun, type RunId, runIdOf } from '../domain/job-run.ts';
import { jobRunObject, unixSeconds } from '../domain/job-run-object.ts';
import { clockedRunOperation, deriveRunOperation } from '../ids.ts';
import { nextScheduled, readSchedule } from '../schedules.ts';
import { type AcceptRun, type AcceptRunOutcome, type AcceptRunTools, acceptRun } from '../use/accept-run.ts';
import { type JobRoute, type JobsCaller, roleOrCredential, type VerifyCredential } from './authenticate-jobs.ts';
import { DEFAULT_RUNS_PAGE, RUN_ID, runsQuery, startRunBody } from './job-schemas.ts';

type Tools = AcceptRunTools & Pick<JobsApiTools, 'listed'>;
type Call = CallBy<Tools, JobsCaller>;
type Route = OperatorRoute<Tools, JobsCaller> & JobRoute;
/** A job of Payonce, or one that another service runs. */
type Entry = JobEntry | ListedJob;

export interface JobsApiTools extends AcceptRunTools, ApiTools {
  readonly digest: AcceptRunTools['digest'];
  readonly clock: AcceptRunTools['clock'];
  readonly identify: IdentifyOperator;
  readonly verify: VerifyCredential;
  /** The jobs that other services run. */
  readonly listed: readonly ListedJob[];
}

/** Creates the jobs API, for any store and queues. */
export function jobsApi(tools: JobsApiTools): (event: GatewayEvent) => Promise<GatewayResult> {
  return apiFor(roleOrCredential(tools.identify, tools.verify), JOB_ROUTES, tools);
}

const getJobs: Route = { method: 'GET', path: '/v1/admin/jobs', role: 'viewer', handle: listJobs };

async function listJobs({ tools: { runs, listed }, request, receivedAtMs }: Call): Promise<Handled> {
  const query = validateQuery(emptyQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  // About a dozen reads: one for each job.
  const data = await Promise.all(
    [...JOBS, ...listed].map(async (entry: Entry) => {
      const [last] = await runs.listRuns(entry.id, { limit: 1 });
      return jobObject(entry, last, receivedAtMs);
    }),
  );
  return found({ object: 'list', data, has_more: false });
}

const getJob: Route = { method: 'GET', path: '/v1/admin/jobs/{id}', role: 'viewer', handle: showJob };

async function showJob(call: Call): Promise<Handled> {
  const { tools, request, receivedAtMs } = call;
  const query = validateQuery(emptyQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const entry = entryOf(call);
  if (entry === undefined) return noSuchJob(call);
  const [last] = await tools.runs.listRuns(entry.id, { limit: 1 });
  return found(jobObject(entry, last, receivedAtMs));
}

/**
 * Finds a job.
 *
 * @returns undefined when there is no such job
 */
function entryOf({ tools: { listed }, id }: Call): Entry | undefined {
  return jobEntry(id) ?? listed.find((entry) => entry.id === id);
}

function jobObject(entry: Entry, last: JobRun | undefined, nowMs: number): Record<string, unknown> {
  const { id, why, schedule, timeZone } = entry;
  const read = readSchedule(schedule, timeZone);
  invariant(read.kind === 'read', 'the schedule of a deployed job is invalid');
  const nextMs = nextScheduled(read.schedule, nowMs, last?.scheduledForMs);
  return {
    id,
    object: 'job',
    why,
    schedule,
    time_zone: read.schedule.kind === 'rate' ? null : (timeZone ?? 'UTC'),
    // Each run of another service's job is requested, even while an earlier run is in progress.
    overlap: 'target' in entry ? 'allow' : (entry.overlap ?? 'forbid'),
    target: 'target' in entry ? entry.target : null,
    last_run: last === undefined ? null : jobRunObject(last),
    next_run: nextMs === undefined ? null : unixSeconds(nextMs),
  };
}

const getRuns: Route = { method: 'GET', path: '/v1/admin/jobs/{id}/runs', role: 'viewer', handle: listRuns };

const getRun: Route = {
  method: 'GET',
  path: '/v1/admin/jobs/{id}/runs/{run}',
  role: 'viewer',
  handle: showRun,
};

async function listRuns(call: Call): Promise<Handled> {
  const { tools, request } = call;
  const query = validateQuery(runsQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const entry = entryOf(call);
  if (entry === undefined) return noSuchJob(call);
  const { limit = DEFAULT_RUNS_PAGE, starting_after: cursor, created_from: from, created_to: to } = query.value;
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
  const query = validateQuery(emptyQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const entry = entryOf(call);
  if (entry === undefined) return noSuchJob(call);
  const run = await namedRun(call, entry.id, pieces['run'] ?? '');
  if (run === undefined) return refusal(problem('not_found', 'This job has no such run.'), request);
  return found(jobRunObject(run));
}

/**
 * Finds the run that a request names.
 *
 * @returns undefined when `name` is not the id of an existing run of the job
 */
async function namedRun({ tools }: Call, jobId: string, name: string): Promise<JobRun | undefined> {
  return RUN_ID.test(name) ? tools.runs.readRun(jobId, name as RunId) : undefined;
}

const postRun: Route = {
  method: 'POST',
  path: '/v1/admin/jobs/{id}/runs',
  role: 'operator',
  isForExecutor: true,
  handle: startRun,
};

async function startRun(call: Call): Promise<Handled> {
  const { tools, request, id, logFields } = call;
  const parsed = readRequest(call, id);
  if (parsed.kind === 'refused') return refusal(parsed.problem, request);
  if (jobEntry(id) === undefined) {
    const detail = 'Runs of a job of another service are requested by its schedule only.';
    return entryOf(call) === undefined ? noSuchJob(call) : refusal(problem('invalid_request', detail), request);
  }
  logFields.operationId = parsed.value.operationId;
  const outcome = await acceptRun(tools, parsed.value);
  return { answer: outcomeAnswer(outcome, request.requestId), outcome: outcome.kind, counts: keyedCounts(outcome) };
}

function readRequest(call: Call, jobId: string): Parsed<AcceptRun> {
  const { tools, caller, request } = call;
  const read = readKeyedRequest(tools.digest, request, startRunBody, readOptionalJsonObject);
  if (read.kind === 'refused') return read;
  const { key, fingerprint, body } = read.value;
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
    const detail = 'This Idempotency-Key is the id of a run for another time than scheduled_for.';
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
  return refusal(problem('not_found', 'There is no such job.'), request);
}

/** The routes of the jobs API. */
export const JOB_ROUTES: readonly Route[] = [getJobs, getJob, postRun, getRuns, getRun];
