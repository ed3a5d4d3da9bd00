import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { cronExecutor } from '../../lambdas/jobs/http/executor.ts';
import { httpJobRoutes, signer } from '../../lambdas/jobs/store/http-job-routes.ts';
import { callOnce } from '../../lambdas/outbound/http-call.ts';
import { listenOnLoopback, stopListening } from '../sandbox/sandbox-listen.ts';
import { Api } from '../world/api.ts';

const T12 = '2026-03-01T12:00:00Z';
const RUN_ID = `close-days:${T12}`;

const site = {
  harness: new Api(),
  asked: [] as { readonly path: string; readonly headers: IncomingMessage['headers']; readonly body: string }[],
  respond: undefined as ((response: ServerResponse) => void) | undefined,
};

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await text(request);
  const path = (request.url ?? '').replace(/^\/live/, '');
  site.asked.push({ path, headers: request.headers, body });
  if (site.respond !== undefined) return site.respond(response);
  const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
  const reply = await site.harness.ask('POST', path, {
    headers: { Authorization: '', ...headers },
    event: { body, headers, multiValueHeaders: {} },
  });
  response.writeHead(reply.status, reply.headers).end(reply.text);
}

const server = createServer((request, response) => void serve(request, response));
let apiUrl: string;
let runs: unknown[];
let faults: unknown[];

beforeAll(async () => {
  apiUrl = `${await listenOnLoopback(server)}/live`;
});
afterAll(() => stopListening(server));
beforeEach(() => {
  site.harness = new Api();
  site.asked = [];
  site.respond = undefined;
  runs = [];
  faults = [];
});

function executor(url = apiUrl): (event: unknown) => Promise<unknown> {
  const { world, credentials } = site.harness;
  return cronExecutor({
    ...world.tools,
    records: world.store.consumed,
    routes: httpJobRoutes({ apiUrl: url, sign: signer(credentials), send: callOnce }),
    telemetry: {
      request: () => undefined,
      run: (...run) => runs.push(run),
      fault: (_id, error) => faults.push(error),
    },
  });
}

describe('a schedule that fires', () => {
  test('requests its run with the run id as the idempotency key, and with a credential for that run', async () => {
    expect(await executor()({ job: 'close-days', scheduledTime: T12 })).toEqual({ runId: RUN_ID, kind: 'asked' });

    expect(site.asked).toEqual([
      {
        path: '/v1/admin/jobs/close-days/runs',
        headers: expect.objectContaining({
          'idempotency-key': RUN_ID,
          authorization: expect.stringMatching(/^Bearer eyJ/),
          'content-type': 'application/json',
        }),
        body: JSON.stringify({ scheduled_for: 1772366400 }),
      },
    ]);
    expect(site.harness.store.allRuns()).toMatchObject([{ runId: RUN_ID, status: 'accepted' }]);
    expect(site.harness.world.enqueued).toEqual([RUN_ID]);
    expect(runs).toEqual([[RUN_ID, {}, { asked: 1 }]]);
  });

  test('sends one request if it fires twice', async () => {
    const fire = executor();
    await fire({ job: 'close-days', scheduledTime: T12 });
    expect(await fire({ job: 'close-days', scheduledTime: '2026-03-01T12:00:00.000Z' })).toEqual({
      runId: RUN_ID,
      kind: 'asked_before',
    });
    expect(site.asked).toHaveLength(1);
  });

  test.each([
    [429, 'RetryableError', 'jobs_api_unavailable'],
    [500, 'RetryableError', 'jobs_api_unavailable'],
    [503, 'RetryableError', 'jobs_api_unavailable'],
    [401, 'TerminalError', 'jobs_api_refused'],
    [200, 'TerminalError', 'jobs_api_refused'],
    [302, 'TerminalError', 'jobs_api_refused'],
  ])(
    'turns a %i response into a %s, and sends the request again only when it fires again',
    async (status, name, code) => {
      const fire = executor();
      site.respond = (response) => {
        response.writeHead(status, { location: '/elsewhere' }).end('{"code":"unauthorized","detail":"secret"}');
      };
      await expect(fire({ job: 'close-days', scheduledTime: T12 })).rejects.toMatchObject({
        name,
        code,
        message: `The route of ${RUN_ID} answered ${status} unauthorized.`,
      });
      expect(site.asked).toHaveLength(1);
      expect(faults).toHaveLength(1);

      site.respond = undefined;
      expect(await fire({ job: 'close-days', scheduledTime: T12 })).toMatchObject({ kind: 'asked' });
    },
  );

  test('creates one run if the response is lost and it fires again', async () => {
    const fire = executor();
    site.respond = (response) => {
      void site.harness.fire(T12).then(() => response.destroy());
    };
    await expect(fire({ job: 'close-days', scheduledTime: T12 })).rejects.toMatchObject({ name: 'AmbiguousError' });
    site.respond = undefined;
    await fire({ job: 'close-days', scheduledTime: T12 });
    expect(site.harness.store.allRuns()).toHaveLength(1);
  });

  test('fails if no server listens', async () => {
    const gone = createServer();
    const absent = await listenOnLoopback(gone);
    await stopListening(gone);
    const fire = executor(absent);
    await expect(fire({ job: 'close-days', scheduledTime: T12 })).rejects.toMatchObject({
      code: 'jobs_api_unreachable',
    });
  });

  test.each<readonly [string, unknown, string, string]>([
    [
      'a placeholder instead of the time',
      { job: 'close-days', scheduledTime: '<aws.scheduler.scheduled-time>' },
      'firing_malformed',
      'scheduledTime "<aws.scheduler.scheduled-time>"',
    ],
    ['no time', { job: 'close-days' }, 'firing_malformed', 'scheduledTime left out'],
    [
      'a time without a zone',
      { job: 'close-days', scheduledTime: '2026-03-01T12:00:00' },
      'firing_malformed',
      'scheduledTime',
    ],
    ['no job', { scheduledTime: T12 }, 'firing_malformed', 'job left out'],
    ['null instead of the fields', null, 'firing_malformed', 'its input left out'],
    ['an unknown job', { job: 'x', scheduledTime: T12 }, 'job_unknown', 'an unknown job: "x"'],
  ])('fails with a clear error, and sends no request, for an input with %s', async (_what, event, code, said) => {
    await expect(executor()(event)).rejects.toMatchObject({
      name: 'TerminalError',
      code,
      message: expect.stringContaining(said),
    });
    expect(site.asked).toEqual([]);
    expect(faults).toHaveLength(1);
  });
});
