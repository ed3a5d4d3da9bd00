import { problemAnswer } from '../../http/http-answer.ts';
import { type Handled, refusal } from '../../http/http-api.ts';
import { keyedCounts, payloadMismatch, replayed } from '../../http/idempotency-http.ts';
import { readOptionalJsonObject } from '../../http/json-body.ts';
import { readKeyedRequest } from '../../http/keyed-request.ts';
import { type Parsed, problem, refused, valid } from '../../http/problems.ts';
import type { Answer } from '../../kernel/answer.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import { jobEntry, RUN_RETENTION_DAYS } from '../../kernel/contract/jobs.ts';
import { fingerprintOf } from '../../kernel/fingerprint.ts';
import { clockedRunOperation, deriveRunOperation } from '../../kernel/ids.ts';
import { runIdOf } from '../domain/job-run.ts';
import { isoSeconds } from '../domain/job-run-object.ts';
import { type AcceptRun, type AcceptRunOutcome, acceptRun } from '../use/accept-run.ts';
import { startRunBody } from './job-schemas.ts';
import { type Call, noSuchJob, type Route } from './route.ts';

export const postRun: Route = {
  method: 'POST',
  path: '/v1/admin/jobs/{id}/runs',
  scope: Scopes.jobsRun,
  handle,
};

async function handle(call: Call): Promise<Handled> {
  const { tools, request, id, seen } = call;
  const entry = jobEntry(id);
  if (entry === undefined) return noSuchJob(call);
  const parsed = readRequest(call, entry.id);
  if (parsed.kind === 'refused') return refusal(parsed.problem, request);
  seen.operationId = parsed.value.operationId;
  const outcome = await acceptRun(tools, parsed.value);
  return { answer: outcomeAnswer(outcome, request.requestId), outcome: outcome.kind, counts: keyedCounts(outcome) };
}

function readRequest(call: Call, jobId: string): Parsed<AcceptRun> {
  const { tools, caller, request } = call;
  const read = readKeyedRequest(tools.digest, request, startRunBody, readOptionalJsonObject);
  if (read.kind === 'refused') return read;
  const { key, fingerprint, body } = read.value;
  const scheduledForMs = body.scheduled_for === undefined ? undefined : Date.parse(body.scheduled_for);
  if (caller.kind === 'executor') return clockedRequest(call, { jobId, key, scheduledForMs }, caller.runId);
  const path = `/v1/admin/jobs/${jobId}/runs`;
  return valid({
    operationId: deriveRunOperation(tools.digest, { ...caller.operator, method: 'POST', path, key }),
    fingerprint,
    jobId,
    ...(scheduledForMs === undefined ? {} : { scheduledForMs }),
  });
}

interface ClockedRun {
  readonly jobId: string;
  readonly key: string;
  readonly scheduledForMs: number | undefined;
}

/** The clock's requests for one run are one request, however their times are spelt. */
function clockedRequest({ tools: { digest } }: Call, asked: ClockedRun, credited: string): Parsed<AcceptRun> {
  const { jobId, key, scheduledForMs } = asked;
  if (scheduledForMs === undefined) {
    const detail = 'scheduled_for is missing: it must be the time that the run is for.';
    return refused('invalid_request', detail, 'scheduled_for');
  }
  if (key !== credited) {
    return refused('invalid_idempotency_key', 'The Idempotency-Key must be the run that the credential is for.');
  }
  if (key !== runIdOf(jobId, scheduledForMs)) {
    const detail = 'This Idempotency-Key is the id of a run for another time than scheduled_for.';
    return refused('idempotency_key_payload_mismatch', detail, 'scheduled_for');
  }
  return valid({
    operationId: clockedRunOperation(digest, key),
    fingerprint: fingerprintOf(digest, { body: { scheduled_for: isoSeconds(scheduledForMs) }, query: {} }),
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
      const detail = `scheduled_for must be at most ${RUN_RETENTION_DAYS} days ago: what is older may have run, and nobody knows.`;
      return problemAnswer(problem('invalid_request', detail, 'scheduled_for'), requestId);
    }
    case 'in_the_future': {
      const detail = 'scheduled_for must not lie in the future: the clock asks for that run when it is due.';
      return problemAnswer(problem('invalid_request', detail, 'scheduled_for'), requestId);
    }
  }
}
