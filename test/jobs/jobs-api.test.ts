import { beforeEach, describe, expect, test } from '@jest/globals';
import { JOBS, jobsOf } from '../../lambdas/jobs/contract/jobs.ts';
import { acceptedRun } from '../../lambdas/jobs/domain/job-run.ts';
import { JOBS_RUN } from '../../lambdas/kernel/contract/api.ts';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { DynamoDbTargetRuns } from '../../lambdas/services/store/dynamodb-target-runs.ts';
import { API_KEY, Api, dataOf, RUNS, unixSeconds } from '../world/api.ts';
import { TABLES } from '../world/tables.ts';

const T12 = '2026-03-01T12:00:00Z';
const RUN_ID = `close-days:${T12}`;
const OTHER_KEY = 'ok_zyxwvutsrqponmlkjihgfe';

let harness: Api;

beforeEach(() => {
  harness = new Api();
});

const runs = () => harness.store.allRuns();

describe('the schedule’s request for a run', () => {
  test('gets a 202 response with the run and its location', async () => {
    const reply = await harness.fire(T12);

    expect(reply.status).toBe(202);
    expect(reply.headers).toMatchObject({
      Location: `../../../..${RUNS}/${RUN_ID}`,
      'Content-Type': 'application/json',
    });
    expect(reply.headers).not.toHaveProperty('Idempotency-Replayed');
    expect(reply.body).toEqual({
      id: RUN_ID,
      object: 'job_run',
      job: 'close-days',
      scheduled_for: 1_772_366_400,
      status: 'accepted',
      created: 1_772_366_400,
      started: null,
      ended: null,
      duration: null,
      done: 0,
      left: 0,
      failed: 0,
      skipped: 0,
      skipped_items: [],
      failed_items: [],
      reason: null,
    });
    expect(harness.world.enqueued).toEqual([RUN_ID]);
  });

  test('gets a byte-identical response if it is retried, and the run is enqueued again', async () => {
    const first = await harness.fire(T12);
    harness.world.clock.advance(60_000);
    const again = await harness.fire(T12);

    expect([again.status, again.text]).toEqual([202, first.text]);
    expect(again.headers).toMatchObject({ 'Idempotency-Replayed': 'true', Location: first.headers['Location'] });
    expect(runs()).toHaveLength(1);
    expect(harness.world.enqueued).toEqual([RUN_ID, RUN_ID]);
    expect(harness.reports.map(({ counts }) => counts)).toEqual([['first'], ['replay']]);
  });

  test('is reported without a tenant and without its credential', async () => {
    await harness.fire(T12);
    expect(harness.reports[0]?.report).not.toHaveProperty('tenantId');
    expect(JSON.stringify(harness.reports)).not.toContain('eyJ');
  });

  test.each<readonly [string, Parameters<Api['fire']>[1], number, string, string | undefined]>([
    ['a credential for another path', { path: '/v1/admin/jobs/resolve/runs' }, 401, 'unauthorized', undefined],
    ['a credential without the scope', { scopes: ['payments:read'] }, 403, 'insufficient_role', undefined],
    [
      'a credential for another run',
      { credited: 'close-days:2026-03-02T12:00:00Z' },
      400,
      'invalid_idempotency_key',
      undefined,
    ],
    ['a key other than its run', { key: 'mine' }, 400, 'invalid_idempotency_key', undefined],
    [
      'a time other than its run’s',
      { body: { scheduled_for: 1_772_362_800 } },
      422,
      'idempotency_key_payload_mismatch',
      'scheduled_for',
    ],
    ['no time', { body: { scheduled_for: undefined } }, 400, 'invalid_request', 'scheduled_for'],
  ])('is refused with %s, and nothing is stored', async (_what, changes, status, code, param) => {
    const reply = await harness.fire(T12, changes);
    expect([reply.status, reply.body['code'], reply.body['param']]).toEqual([status, code, param]);
    expect(runs()).toEqual([]);
    expect(harness.world.enqueued).toEqual([]);
  });

  test('is refused if its credential has expired', async () => {
    const { headers } = await credentialOf(harness);
    harness.world.clock.advance(660_000);
    const reply = await harness.run(RUN_ID, { scheduled_for: 1_772_366_400 }, { headers });
    expect([reply.status, reply.body['code']]).toEqual([401, 'unauthorized']);
  });

  test('has a credential that is not accepted by any other route', async () => {
    const { headers } = await credentialOf(harness);
    for (const [path, status] of [
      [RUNS, 403],
      ['/v1/admin/jobs', 401],
      [`${RUNS}/${RUN_ID}`, 401],
    ] as const) {
      expect([path, (await harness.get(path, { headers })).status]).toEqual([path, status]);
    }
  });

  test('gets a 503 response when the queue does not accept the message, and succeeds when retried', async () => {
    let broken = true;
    const tasks = {
      enqueue: async () => {
        if (broken) throw new RetryableError('job_queue_unavailable', 'the queue is unavailable');
      },
    };
    harness = new Api({ tasks });
    expect(await harness.fire(T12)).toMatchObject({ status: 503, body: { code: 'temporarily_unavailable' } });
    broken = false;
    expect(await harness.fire(T12)).toMatchObject({ status: 202, headers: { 'Idempotency-Replayed': 'true' } });
    expect(runs()).toHaveLength(1);
  });
});

async function credentialOf(from: Api): Promise<{ readonly headers: Readonly<Record<string, string>> }> {
  const { signJobCredential } = await import('../../lambdas/jobs/job-credential.ts');
  const token = await signJobCredential(from.credentials, { path: RUNS, runId: RUN_ID, scopes: [JOBS_RUN] });
  return { headers: { Authorization: `Bearer ${token}` } };
}

describe('an operator’s request for a run', () => {
  test('uses the current second if it has no body, and the same second for a retry', async () => {
    harness.world.clock.advance(1_500);
    const first = await harness.run('my-key');
    harness.world.clock.advance(60_000);
    const again = await harness.run('"my-key"');

    expect([first.status, first.body['scheduled_for']]).toEqual([202, 1_772_366_401]);
    expect(again.text).toBe(first.text);
    expect(runs()).toHaveLength(1);
    expect(harness.reports[0]?.report).toMatchObject({
      outcome: 'first',
      route: '/v1/admin/jobs/{id}/runs',
    });
  });

  test('with a given time shares its run with the schedule and with other operators', async () => {
    harness.registerOperator(OTHER_KEY, { operator: 'Bob Example' });
    await harness.fire(T12);
    const mine = await harness.run('a-key', { scheduled_for: 1_772_366_400 });
    const theirs = await harness.run(
      'a-key',
      { scheduled_for: 1_772_366_400 },
      { headers: { Authorization: `Bearer ${OTHER_KEY}` } },
    );

    expect([mine, theirs].map(({ status, body }) => [status, body['id']])).toEqual([
      [202, RUN_ID],
      [202, RUN_ID],
    ]);
    expect(runs()).toHaveLength(1);
  });

  test('gets a 422 response if its idempotency key was used with a different body', async () => {
    await harness.run('my-key', { scheduled_for: 1_772_366_400 });
    const other = await harness.run('my-key', { scheduled_for: 1_772_362_800 });
    expect([other.status, other.body['code']]).toEqual([422, 'idempotency_key_payload_mismatch']);
    expect(runs()).toHaveLength(1);
  });

  test('may use the id of a run as its idempotency key, which does not affect the schedule’s request', async () => {
    await harness.run(RUN_ID, { scheduled_for: 1_772_362_800 });
    expect(await harness.fire(T12)).toMatchObject({ status: 202, body: { id: RUN_ID } });
    expect(runs()).toHaveLength(2);
  });

  test.each<readonly [string, Readonly<Record<string, unknown>>, string, string]>([
    ['a malformed time', { scheduled_for: 'tomorrow' }, 'invalid_request', 'scheduled_for'],
    ['a time as text', { scheduled_for: T12 }, 'invalid_request', 'scheduled_for'],
    ['milliseconds', { scheduled_for: 1_772_366_400_000 }, 'invalid_request', 'scheduled_for'],
    ['half a second', { scheduled_for: 1_772_366_400.5 }, 'invalid_request', 'scheduled_for'],
    ['null as a time', { scheduled_for: null }, 'invalid_request', 'scheduled_for'],
    ['a future time', { scheduled_for: 1_772_367_060 }, 'invalid_request', 'scheduled_for'],
    ['a time too long ago', { scheduled_for: 1_769_688_000 }, 'invalid_request', 'scheduled_for'],
    ['an unknown field', { at: T12 }, 'unknown_field', 'at'],
  ])('gets a 400 response that names the field for %s, and nothing is stored', async (_what, body, code, param) => {
    const reply = await harness.run('my-key', body);
    expect([reply.status, reply.body['code'], reply.body['param']]).toEqual([400, code, param]);
    expect(runs()).toEqual([]);
  });

  test('needs an idempotency key', async () => {
    const reply = await harness.ask('POST', RUNS);
    expect([reply.status, reply.body['code']]).toEqual([400, 'missing_idempotency_key']);
  });

  test('is refused with a tenant’s API key, as are reads of jobs', async () => {
    const headers = { Authorization: `Bearer ${API_KEY}` };
    const replies = [
      await harness.run('my-key', undefined, { headers }),
      await harness.get('/v1/admin/jobs', { headers }),
      await harness.get(RUNS, { headers }),
      await harness.get(`${RUNS}/${RUN_ID}`, { headers }),
    ];
    for (const { status, body } of replies) expect([status, body['code']]).toEqual([401, 'unauthorized']);
    expect(runs()).toEqual([]);
  });

  test('needs the operator role; a viewer may only read', async () => {
    harness.registerOperator(OTHER_KEY, { role: 'viewer' });
    const headers = { Authorization: `Bearer ${OTHER_KEY}` };
    expect((await harness.get('/v1/admin/jobs', { headers })).status).toBe(200);
    expect((await harness.run('my-key', undefined, { headers })).body).toMatchObject({ code: 'insufficient_role' });
    expect(runs()).toEqual([]);
  });
});

describe('an unknown job', () => {
  test('results in 404 for an operator’s request and for reads', async () => {
    const none = '/v1/admin/jobs/close-weeks/runs';
    const replies = [
      await harness.run('my-key', undefined, {}, none),
      await harness.get(none),
      await harness.get(`${none}/close-weeks:${T12}`),
    ];
    for (const { status, body } of replies) expect([status, body['code']]).toEqual([404, 'not_found']);
  });

  test('may be the copy job, which exists only if PostgreSQL is the authority', async () => {
    const path = '/v1/admin/jobs/carry/runs';
    harness = new Api({ own: jobsOf('dynamodb') });
    expect((await harness.run('my-key', undefined, {}, path)).status).toBe(404);
    harness = new Api({ own: jobsOf('postgres') });
    expect((await harness.run('my-key', undefined, {}, path)).status).toBe(202);
    expect(dataOf(await harness.get('/v1/admin/jobs')).at(-1)).toMatchObject({ id: 'carry', target: null });
  });
});

describe('the list of jobs', () => {
  test('contains every job, with the next scheduled time if the job has a cron schedule', async () => {
    harness = new Api({ own: jobsOf('dynamodb') });
    harness.world.clock.advance(10 * 60_000);
    const jobs = dataOf(await harness.get('/v1/admin/jobs'));

    expect(jobs.map(({ id }) => id)).toEqual(JOBS.map(({ id }) => id));
    expect(jobs.find(({ id }) => id === 'close-days')).toEqual({
      id: 'close-days',
      object: 'job',
      why: expect.stringContaining('days'),
      schedule: 'cron(20 1 * * ? *)',
      time_zone: 'UTC',
      overlap: 'forbid',
      target: null,
      last_run: null,
      runs_unread: false,
      next_run: 1_772_414_400,
    });
    expect(jobs.find(({ id }) => id === 'resolve')).toMatchObject({ time_zone: null, next_run: null });
  });

  test('contains the last run of each job; for a job with a rate, the next run is derived from the last run', async () => {
    const path = '/v1/admin/jobs/resolve/runs';
    for (const at of ['2026-03-01T11:58:30Z', '2026-03-01T11:57:30Z']) {
      await harness.run(at, { scheduled_for: unixSeconds(at) }, {}, path);
    }
    const jobs = dataOf(await harness.get('/v1/admin/jobs'));
    expect(jobs.find(({ id }) => id === 'resolve')).toMatchObject({
      last_run: { id: 'resolve:2026-03-01T11:58:30Z', status: 'accepted' },
      next_run: 1_772_366_430,
    });
  });

  test('contains the jobs of other services with their runs, which only schedules may request', async () => {
    const listed = {
      id: 'release-commission-locks',
      target: 'membership',
      why: 'Releases commissions at the end of their lock.',
      schedule: 'cron(20 * * * ? *)',
      every: 3_600,
      maxDuration: 1_800,
    };
    harness = new Api({ listed: [listed] });
    const nowMs = harness.world.clock.nowMs();
    const noted = { ...acceptedRun(listed.id, nowMs, nowMs), startedAtMs: nowMs, attempts: 2 };
    const { database } = harness.world.store;
    const notes = new DynamoDbTargetRuns(database.client, TABLES.registry, harness.world.tools);
    await notes.note({ ...noted, status: 'failed', endedAtMs: nowMs + 5_000, reason: 'target_answered_503' });
    const id = `release-commission-locks:${T12}`;
    const last = { id, status: 'failed', duration: 5, reason: 'target_answered_503' };
    const jobs = dataOf(await harness.get('/v1/admin/jobs'));
    expect(jobs.at(-1)).toMatchObject({ id: listed.id, target: 'membership', overlap: 'allow', last_run: last });
    const path = `/v1/admin/jobs/${listed.id}`;
    expect(dataOf(await harness.get(`${path}/runs`))).toEqual([expect.objectContaining(last)]);
    expect((await harness.get(`${path}/runs/${id}`)).body).toMatchObject(last);
    expect((await harness.get(path)).body).toMatchObject({ target: 'membership', next_run: 1_772_367_600 });
    const asked = await harness.run('my-key', {}, {}, `${path}/runs`);
    expect([asked.status, asked.body['code']]).toEqual([400, 'invalid_request']);
  });

  test('accepts no parameter', async () => {
    const reply = await harness.get('/v1/admin/jobs?limit=1');
    expect([reply.status, reply.body['code'], reply.body['param']]).toEqual([400, 'unknown_parameter', 'limit']);
  });
});

describe('the list of a job’s runs', () => {
  const at = (minute: number) => `2026-03-01T11:${String(minute).padStart(2, '0')}:00Z`;
  const ids = async (query: string) => {
    const reply = await harness.get(`${RUNS}${query}`);
    return [dataOf(reply).map(({ id }) => id), reply.body['has_more']];
  };

  test('is sorted newest first and paged, without gaps or duplicates', async () => {
    for (const minute of [1, 3, 2, 4, 5]) await harness.run(`k-${minute}`, { scheduled_for: unixSeconds(at(minute)) });
    const id = (minute: number) => `close-days:${at(minute)}`;

    expect(await ids('')).toEqual([[5, 4, 3, 2, 1].map(id), false]);
    expect(await ids('?limit=2')).toEqual([[5, 4].map(id), true]);
    expect(await ids(`?limit=2&starting_after=${id(4)}`)).toEqual([[3, 2].map(id), true]);
    expect(await ids(`?limit=2&starting_after=${id(2)}`)).toEqual([[id(1)], false]);
    expect(await ids('?limit=5')).toEqual([[5, 4, 3, 2, 1].map(id), false]);
    const [from, to] = [unixSeconds(at(2)), unixSeconds(at(5))];
    expect(await ids(`?created_from=${from}&created_to=${to}`)).toEqual([[4, 3, 2].map(id), false]);
    expect(await ids(`?created_from=${from}&starting_after=${id(4)}&limit=1`)).toEqual([[id(3)], true]);
    expect(await ids(`?created_to=${to}&starting_after=${id(3)}`)).toEqual([[2, 1].map(id), false]);
  });

  test('shows the result of each run', async () => {
    await harness.run('k-1', { scheduled_for: unixSeconds(at(1)) });
    const [run] = runs();
    if (run === undefined) throw new Error('no run was accepted');
    const nowMs = harness.world.clock.nowMs();
    const lock = await harness.store.jobRuns.lock(run.jobId, run.runId, { nowMs, leaseExpiresAtMs: nowMs + 1 });
    if (lock === undefined) throw new Error('another run holds the lock');
    const ended = {
      ...run,
      status: 'failed',
      startedAtMs: nowMs + 1_000,
      endedAtMs: nowMs + 63_500,
      done: 7,
      left: 2,
      failed: 3,
      skipped: ['pay_1'],
      failedItems: ['pay_2'],
      reason: 'too_long',
      version: 2,
    } as const;
    await harness.store.jobRuns.save(ended, lock, nowMs);
    const shown = {
      id: `close-days:${at(1)}`,
      object: 'job_run',
      job: 'close-days',
      scheduled_for: 1_772_362_860,
      status: 'failed',
      created: 1_772_366_400,
      started: 1_772_366_401,
      ended: 1_772_366_463,
      duration: 62.5,
      done: 7,
      left: 2,
      failed: 3,
      skipped: 1,
      skipped_items: ['pay_1'],
      failed_items: ['pay_2'],
      reason: 'too_long',
    };
    expect(dataOf(await harness.get(RUNS))).toEqual([shown]);
    expect((await harness.get(`${RUNS}/close-days:${at(1)}`)).body).toEqual(shown);
    expect((await harness.get(`${RUNS}/close-days%3A2026-03-01T11%3A01%3A00Z`)).status).toBe(200);
    expect(await harness.get(`${RUNS}/close-days:${at(2)}`)).toMatchObject({
      status: 404,
      body: { code: 'not_found' },
    });
  });

  test.each([
    ['?limit=0', 'invalid_request', 'limit'],
    ['?limit=101', 'invalid_request', 'limit'],
    ['?limit=x', 'invalid_request', 'limit'],
    [`?starting_after=close-days:${at(9)}`, 'invalid_request', 'starting_after'],
    [`?starting_after=resolve:${at(1)}`, 'invalid_request', 'starting_after'],
    ['?starting_after=1', 'invalid_request', 'starting_after'],
    ['?before=1', 'unknown_parameter', 'before'],
  ])('results in a 400 response that names the parameter for the query %s', async (query, code, param) => {
    await harness.run('k-1', { scheduled_for: unixSeconds(at(1)) });
    const reply = await harness.get(`${RUNS}${query}`);
    expect([reply.status, reply.body['code'], reply.body['param']]).toEqual([400, code, param]);
  });
});
