import { found, type Handled, refusal } from '../../http/http-api.ts';
import { problem } from '../../http/problems.ts';
import { validateQuery } from '../../http/validate.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import { jobEntry } from '../../kernel/contract/jobs.ts';
import { emptyQuery } from '../../payments/http/payment-schemas.ts';
import type { JobRun, RunId } from '../domain/job-run.ts';
import { jobRunObject } from '../domain/job-run-object.ts';
import { DEFAULT_RUNS_PAGE, runsQuery } from './job-schemas.ts';
import { type Call, noSuchJob, type Route } from './route.ts';

export const getRuns: Route = { method: 'GET', path: '/v1/admin/jobs/{id}/runs', scope: Scopes.admin, handle: list };

export const getRun: Route = {
  method: 'GET',
  path: '/v1/admin/jobs/{id}/runs/{run}',
  scope: Scopes.admin,
  handle: show,
};

async function list(call: Call): Promise<Handled> {
  const { tools, request, id } = call;
  const entry = jobEntry(id);
  if (entry === undefined) return noSuchJob(call);
  const query = validateQuery(runsQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const { limit = DEFAULT_RUNS_PAGE, starting_after: cursor } = query.value;
  const after = cursor === undefined ? undefined : await namedRun(call, entry.id, cursor);
  if (cursor !== undefined && after === undefined) {
    const detail = 'starting_after must be the id of a run of this job.';
    return refusal(problem('invalid_request', detail, 'starting_after'), request);
  }
  const page = { limit: limit + 1, ...(after === undefined ? {} : { beforeMs: after.scheduledForMs }) };
  const runs = await tools.runs.listRuns(entry.id, page);
  return found({ object: 'list', data: runs.slice(0, limit).map(jobRunObject), has_more: runs.length > limit });
}

async function show(call: Call): Promise<Handled> {
  const { request, id, pieces } = call;
  const entry = jobEntry(id);
  if (entry === undefined) return noSuchJob(call);
  const query = validateQuery(emptyQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const run = await namedRun(call, entry.id, pieces['run'] ?? '');
  if (run === undefined) return refusal(problem('not_found', 'This job has no such run.'), request);
  return found(jobRunObject(run));
}

const RUN_ID = /^[a-z0-9-]{2,50}:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

/** Only what is there can be named: an id that somebody made up leads nowhere. */
async function namedRun({ tools }: Call, jobId: string, name: string): Promise<JobRun | undefined> {
  return RUN_ID.test(name) ? tools.runs.readRun(jobId, name as RunId) : undefined;
}
