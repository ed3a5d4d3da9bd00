import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { DeleteCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { acceptedRun, type JobRun, type RunId, runIdOf } from '../../lambdas/jobs/domain/job-run.ts';
import { signJobCredential, verifyJobCredential } from '../../lambdas/jobs/job-credential.ts';
import { runKey } from '../../lambdas/jobs/store/job-items.ts';
import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import type { ConsumerEffects } from '../../lambdas/once/use/consumer-records.ts';
import { DynamoDbTargetRuns } from '../../lambdas/services/store/dynamodb-target-runs.ts';
import { callTarget, type TargetCall } from '../../lambdas/services/use/call-target.ts';
import { targetRoutes } from '../../lambdas/services/use/target-routes.ts';
import { systemResolve } from '../../lambdas/webhooks/transport/addresses.ts';
import { webhookTransport } from '../../lambdas/webhooks/transport/webhook-transport.ts';
import { listenOnLoopback, stopListening } from '../sandbox/sandbox-listen.ts';
import { Api } from '../world/api.ts';
import { TABLES } from '../world/tables.ts';

const T12 = '2026-03-01T12:00:00Z';
const CALL: TargetCall = { target: 'membership', job: 'release-commission-locks', scheduledTime: T12 };
const RUN_ID: RunId = `release-commission-locks:${T12}`;
const PATH = '/v1/admin/commission-locks/release-expired';
const WINDOW_SECONDS = 1_800;

interface Answered {
  readonly status: number;
  readonly headers?: Record<string, string>;
}

let asked: IncomingMessage['headers'][] = [];
let answers: Answered[] = [];
let again: { readonly call: TargetCall; readonly delaySeconds: number }[] = [];
let missed: (TargetCall & { readonly reason: string })[] = [];
let nowMs = 0;
let api = new Api();

const server = createServer((request: IncomingMessage, response: ServerResponse) => {
  asked.push(request.headers);
  const { status, headers = {} } = answers.shift() ?? { status: 200 };
  response.writeHead(status, headers).end('{}');
});
let url: string;
beforeAll(async () => {
  url = await listenOnLoopback(server);
});
afterAll(() => stopListening(server));
beforeEach(() => {
  asked = [];
  answers = [];
  again = [];
  missed = [];
  nowMs = Date.parse(T12);
  api = new Api();
});

const secretsOf = (secret: string) => ({ active: async () => [secret], renewed: async () => undefined });
const toolsOf = (target: string) => ({
  secrets: secretsOf(`secret-of-${target}`),
  secretId: target,
  clock: { nowMs: () => nowMs },
});

const runs = () => {
  const { database, jobRuns } = api.world.store;
  const notes = new DynamoDbTargetRuns(database.client, TABLES.registry, api.world.tools);
  return { note: (run: JobRun) => notes.note(run), of: () => jobRuns.readRun(CALL.job, RUN_ID) };
};

interface Circumstances {
  readonly address?: string;
  readonly allowLoopback?: boolean;
  readonly records?: ConsumerEffects;
}

function call(message: TargetCall, { address = url, allowLoopback = true, records }: Circumstances = {}) {
  const { world } = api;
  const clock = { ...world.tools.clock, nowMs: () => nowMs };
  const jobs = {
    'release-commission-locks': { path: PATH, scopes: ['membership:admin'], windowSeconds: WINDOW_SECONDS },
  };
  return callTarget(
    {
      ...world.tools,
      clock,
      records: records ?? world.store.consumed,
      targets: { membership: { url: address, secretId: 'membership', jobs } },
      routesOf: (target, { url: base }) =>
        targetRoutes({
          target,
          url: base,
          sign: (claims) => signJobCredential(toolsOf(target), claims),
          transport: webhookTransport({ allowLoopback, resolve: systemResolve }),
          clock,
        }),
      runs: runs(),
      calls: {
        again: async (each, delaySeconds) => void again.push({ call: each, delaySeconds }),
        missed: async (each) => void missed.push(each),
      },
    },
    message,
  );
}

describe('a request to a target', () => {
  test('has the run id as its idempotency key, and a credential for this target, path, run and scope', async () => {
    expect(await call(CALL)).toBe('asked');
    const [headers] = asked;
    expect(headers?.['idempotency-key']).toBe(RUN_ID);
    const token = String(headers?.authorization).replace('Bearer ', '');
    const verify = (target: string, path = PATH) => verifyJobCredential(toolsOf(target), token, `${target} ${path}`);
    expect(await verify('membership')).toEqual({ kind: 'valid', runId: RUN_ID, scopes: ['membership:admin'] });
    expect(await verify('loyalty')).toEqual({ kind: 'refused' });
    expect(await verify('membership', '/v1/admin/other')).toEqual({ kind: 'refused' });
    // The target `loyalty` refuses the credential even if it has the secret of `membership` by mistake.
    const mistaken = { ...toolsOf('loyalty'), secrets: secretsOf('secret-of-membership') };
    expect(await verifyJobCredential(mistaken, token, `loyalty ${PATH}`)).toEqual({ kind: 'refused' });
    // In credentials for Payonce's own routes, the audience is a path without a target.
    expect(await verifyJobCredential(mistaken, token, PATH)).toEqual({ kind: 'refused' });
  });

  test('is not resent for a second message of the run after the target accepted the run', async () => {
    expect(await call(CALL)).toBe('asked');
    expect(await call(CALL)).toBe('asked_before');
    expect(asked).toHaveLength(1);
  });

  test.each([
    [{ status: 409 }, 2.5, 5],
    [{ status: 500 }, 2.5, 5],
    [{ status: 503 }, 2.5, 5],
    [{ status: 409, headers: { 'retry-after': '3' } }, 3, 5],
    [{ status: 503, headers: { 'retry-after': '0' } }, 2.5, 5],
    [{ status: 429, headers: { 'retry-after': 'Sun, 01 Mar 2026 11:00:00 GMT' } }, 2.5, 5],
    [{ status: 429, headers: { 'retry-after': '120' } }, 120, 120],
    [{ status: 503, headers: { 'retry-after': 'Sun, 01 Mar 2026 12:01:00 GMT' } }, 60, 60],
  ] as const)('is retried after the response %j, with a delay of %d to %d seconds', async (answer, atLeast, atMost) => {
    answers = [answer];
    expect(await call(CALL)).toBe('waiting');
    const [next] = again;
    expect(next?.call).toMatchObject({ ...CALL, tries: 1 });
    expect(next?.delaySeconds).toBeGreaterThanOrEqual(atLeast);
    expect(next?.delaySeconds).toBeLessThanOrEqual(atMost);
    expect(missed).toEqual([]);
    nowMs = next?.call.notBeforeMs ?? 0;
    expect(await call(next?.call ?? CALL)).toBe('asked');
  });

  test('is queued again, and not sent, if the queue delivers its message too early', async () => {
    const early = { ...CALL, tries: 1, notBeforeMs: nowMs + 1_200_000 };
    expect(await call(early)).toBe('waiting');
    expect(again).toEqual([{ call: early, delaySeconds: 1_200 }]);
    expect(asked).toEqual([]);
  });

  test('is retried when no response arrives', async () => {
    expect(await call(CALL, { address: 'http://127.0.0.1:9' })).toBe('waiting');
    expect(again).toHaveLength(1);
  });

  test.each([
    ['timeout', AmbiguousError],
    ['connection_failed', AmbiguousError],
    ['malformed_answer', AmbiguousError],
    ['connection_refused', RetryableError],
    ['name_not_resolved', RetryableError],
  ])('fails with an AmbiguousError only if it may have been sent: %s', async (error, fault) => {
    const routes = targetRoutes({
      target: 'membership',
      url,
      sign: async () => 'credential',
      transport: { post: async () => ({ kind: 'unanswered', error }) },
      clock: { nowMs: () => nowMs },
    });
    const run = { runId: runIdOf(CALL.job, nowMs), path: PATH, scopes: [], scheduledForMs: nowMs };
    await expect(routes.ask(run, { timeoutMs: 1_000 })).rejects.toBeInstanceOf(fault);
  });

  test('is recorded as missed if its window ends before its next attempt', async () => {
    answers = [{ status: 503 }, { status: 429, headers: { 'retry-after': '3000' } }];
    nowMs += (WINDOW_SECONDS - 1) * 1_000;
    expect(await call(CALL)).toBe('missed');
    nowMs = Date.parse(T12);
    expect(await call(CALL)).toBe('missed');
    nowMs += (WINDOW_SECONDS + 1) * 1_000;
    expect(await call(CALL)).toBe('missed');
    expect(missed.map(({ reason }) => reason)).toEqual(['target_answered_503', 'target_answered_429', 'window_ended']);
    expect(asked).toHaveLength(2);
  });

  test('is listed as a run with the status "running" and a reason, and later with the status "succeeded"', async () => {
    answers = [{ status: 503 }];
    await call(CALL);
    const run = { jobId: CALL.job, runId: RUN_ID, scheduledForMs: nowMs, startedAtMs: nowMs };
    expect(await runs().of()).toMatchObject({ ...run, status: 'running', attempts: 1, reason: 'target_answered_503' });
    nowMs += 5_000;
    await call(again[0]?.call ?? CALL);
    expect(await runs().of()).toMatchObject({ ...run, status: 'succeeded', attempts: 1, endedAtMs: nowMs });
    expect(await runs().of()).not.toHaveProperty('reason');
  });

  test('is not recorded as missed if the target accepted the run and the message is redelivered after its window', async () => {
    await call(CALL);
    // Simulates a crash of the function before it wrote the run's row.
    const { client } = api.world.store.database;
    await client.send(new DeleteCommand({ TableName: TABLES.registry, Key: runKey(CALL.job, RUN_ID) }));
    nowMs += (WINDOW_SECONDS + 60) * 1_000;
    expect(await call(CALL)).toBe('asked_before');
    expect([missed, (await runs().of())?.status]).toEqual([[], 'succeeded']);
  });

  test('is not recorded as missed after its acceptance, even if the acceptance cannot be recorded within the window', async () => {
    const { consumed } = api.world.store;
    const records: ConsumerEffects = {
      readEffect: (id) => consumed.readEffect(id),
      recordOnce: async () => {
        throw new RetryableError('throttled', 'The table is throttled.');
      },
    };
    nowMs += (WINDOW_SECONDS - 1) * 1_000;
    const called = await call(CALL, { records });
    expect(asked).toHaveLength(1);
    expect([called, missed, (await runs().of())?.status]).toEqual(['asked', [], 'succeeded']);
    // The message is redelivered after the table accepts writes again.
    nowMs += 60_000;
    await call(CALL);
    expect([missed, (await runs().of())?.status]).toEqual([[], 'succeeded']);
  });

  test('is not recorded as missed after a refusal if the target accepted the run for another message', async () => {
    answers = [{ status: 422 }];
    const run = { ...acceptedRun(CALL.job, nowMs, nowMs), status: 'succeeded' as const, endedAtMs: nowMs };
    expect(await runs().note(run)).toBe(true);
    expect(await call(CALL)).toBe('asked_before');
    expect((await runs().of())?.status).toBe('succeeded');
    expect(missed).toEqual([]);
  });

  test.each([301, 400, 401, 403, 404, 410, 422])(
    'is recorded as missed immediately after the response %d',
    async (status) => {
      answers = [{ status, headers: { location: url } }];
      expect(await call(CALL)).toBe('missed');
      expect(missed).toEqual([{ ...CALL, reason: `target_answered_${status}` }]);
      expect(await runs().of()).toMatchObject({ status: 'failed', reason: `target_answered_${status}` });
      expect([asked.length, again.length]).toEqual([1, 0]);
    },
  );

  test('is recorded as missed, and no request is sent, if its URL is not public', async () => {
    expect(await call(CALL, { allowLoopback: false })).toBe('missed');
    expect(missed[0]?.reason).toBe('target_address_not_allowed');
    expect(asked).toEqual([]);
  });

  test('is recorded as missed if its job is unknown', async () => {
    expect(await call({ ...CALL, job: 'other' })).toBe('missed');
    expect(missed[0]?.reason).toBe('job_unknown');
  });
});
