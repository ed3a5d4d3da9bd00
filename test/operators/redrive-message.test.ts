import { beforeEach, describe, expect, test } from '@jest/globals';
import { MISSED_RUNS } from '../../lambdas/operators/use/queue-lists.ts';
import { Api, as, dataOf } from '../world/api.ts';
import { MemoryMessages } from './memory-messages.ts';

const DEAD_LETTERS = 'Webhooks-Tasks-DeadLetters';
const QUEUE = 'Webhooks-Tasks-Queue';
const REDRIVE = `/v1/admin/queues/${DEAD_LETTERS}/redrive`;
const DISMISS = `/v1/admin/queues/${DEAD_LETTERS}/dismiss`;
const ORDER = `ord_${'a'.repeat(32)}`;
const VIEWER_KEY = 'ok_viewerviewerviewerviewer';

let api: Api;
let messages: MemoryMessages;
beforeEach(() => {
  const world = new Api();
  messages = new MemoryMessages(world.clock);
  api = world.with({ messages });
  for (const id of ['a', 'b', 'c']) messages.arrive(DEAD_LETTERS, { id, about: ORDER });
  api.clock.advance(1_000);
});

const acts = async () => dataOf(await api.get('/v1/admin/activity'));

describe('the redrive of one dead letter', () => {
  test('moves only this message, once per idempotency key, with one entry in the activity log', async () => {
    await Promise.all([1, 2].map(() => api.write(REDRIVE, 'k', { entry: 'b' })));
    const made = await Promise.all([1, 2, 3].map(() => api.write(REDRIVE, 'k', { entry: 'b' })));
    expect(made.map(({ status }) => status)).toEqual([202, 202, 202]);
    expect(new Set(made.map(({ text }) => text)).size).toBe(1);
    expect(made[0]?.body).toMatchObject({ object: 'redrive', queue: DEAD_LETTERS, entry: 'b', to: QUEUE, waiting: 1 });
    expect([messages.ids(DEAD_LETTERS), messages.ids(QUEUE)]).toEqual([['a', 'c'], ['b']]);
    expect(await acts()).toMatchObject([
      { action: 'message.redrive_requested', about: ['b', DEAD_LETTERS, ORDER], details: { to: QUEUE } },
    ]);
    expect((await api.write(REDRIVE, 'k', { entry: 'a' })).status).toBe(422);
    expect((await api.write(REDRIVE, 'k')).status).toBe(422);
    expect(messages.ids(DEAD_LETTERS)).toEqual(['a', 'c']);
  });

  test('takes effect once if it is requested concurrently under two keys', async () => {
    const made = await Promise.all(['j', 'k'].map((key) => api.write(REDRIVE, key, { entry: 'b' })));
    expect(
      made.map(({ status, body }) => `${status} ${(body['code'] as string | undefined) ?? ''}`).toSorted(),
    ).toEqual(['202 ', '409 nothing_to_redrive']);
    expect([messages.ids(QUEUE), await acts()]).toEqual([['b'], [expect.anything()]]);
  });

  test('is completed by a retry if its process was killed between the send and the removal of the message', async () => {
    messages.onSent = () => {
      throw new Error('killed');
    };
    expect((await api.write(REDRIVE, 'k', { entry: 'b' })).status).toBe(500);
    messages.onSent = () => undefined;
    expect((await api.write(REDRIVE, 'k', { entry: 'b' })).status).toBe(202);
    // The crash left the dead letter in both queues, so the retry sent it again. The function applies it once.
    expect([messages.ids(DEAD_LETTERS), messages.ids(QUEUE)]).toEqual([
      ['a', 'c'],
      ['b', 'b'],
    ]);
    expect(await acts()).toHaveLength(1);
  });

  test('moves nothing in a retry after the message has failed again', async () => {
    await api.write(REDRIVE, 'k', { entry: 'b' });
    messages.failAll(QUEUE, DEAD_LETTERS);
    const again = await api.write(REDRIVE, 'k', { entry: 'b' });
    expect([again.status, again.headers['Idempotency-Replayed']]).toEqual([202, 'true']);
    expect(messages.ids(DEAD_LETTERS)).toEqual(['a', 'c', 'b-again']);
  });

  test('is refused for a message that is not in the queue, and nothing is recorded', async () => {
    const refused = await api.write(REDRIVE, 'k', { entry: 'gone' });
    expect(refused).toMatchObject({ status: 409, body: { code: 'nothing_to_redrive' } });
    expect(refused.text).toContain('has no message gone');
    expect(await api.write(REDRIVE, 'k', { entry: 'a b' })).toMatchObject({ status: 400, body: { param: 'entry' } });
    const parked = await api.write('/v1/admin/queues/Archive-Parked/redrive', 'k', { entry: 'a' });
    expect(parked).toMatchObject({ status: 400, body: { param: 'id' } });
    expect(await acts()).toEqual([]);
  });
});

describe('the dismissal of one dead letter', () => {
  const body = { entry: 'b', reason: 'done_otherwise' };

  test('deletes only this message, once per idempotency key, with one entry in the activity log', async () => {
    await Promise.all([1, 2].map(() => api.write(DISMISS, 'k', body)));
    const made = await Promise.all([1, 2, 3].map(() => api.write(DISMISS, 'k', body)));
    expect(made.map(({ status }) => status)).toEqual([201, 201, 201]);
    expect(new Set(made.map(({ text }) => text)).size).toBe(1);
    expect(made[0]?.body).toMatchObject({ object: 'message_dismissal', queue: DEAD_LETTERS, ...body });
    expect([messages.ids(DEAD_LETTERS), messages.ids(QUEUE)]).toEqual([['a', 'c'], []]);
    expect(await acts()).toMatchObject([
      { action: 'message.dismissed', about: ['b', DEAD_LETTERS, ORDER], details: { reason: 'done_otherwise' } },
    ]);
  });

  test('cannot succeed together with a concurrent redrive', async () => {
    const made = await Promise.all([api.write(DISMISS, 'j', body), api.write(REDRIVE, 'k', { entry: 'b' })]);
    expect(made.filter(({ status }) => status < 300)).toHaveLength(1);
    expect(messages.ids(DEAD_LETTERS)).toEqual(['a', 'c']);
    expect(await acts()).toHaveLength(1);
  });

  test('requires the id of the message, except for missed job runs, because a later run does their work', async () => {
    const reason = 'done_otherwise';
    expect(await api.write(DISMISS, 'k', { reason })).toMatchObject({ status: 400, body: { param: 'entry' } });
    const path = `/v1/admin/queues/${MISSED_RUNS}/dismiss`;
    expect((await api.write(path, 'k', { reason })).status).toBe(404);
    for (const id of ['m', 'n']) messages.arrive(MISSED_RUNS, { id, part: 'resolve', job: 'resolve' });
    api.clock.advance(1_000);
    expect(dataOf(await api.get('/v1/admin/attention'))).toMatchObject([
      { kind: 'dead_letters' },
      { kind: 'parked_records', queue: MISSED_RUNS, count: 2, act: 'run_job' },
    ]);
    expect(dataOf(await api.get(`/v1/admin/queues/${MISSED_RUNS}`))).toMatchObject([{ job: 'resolve' }, {}]);
    messages.arrive(MISSED_RUNS, { id: 'of-shop', part: 'shop nightly' });
    messages.arrive(MISSED_RUNS, { id: 'of-none' });
    api.clock.advance(1_000);
    expect((await api.write(path, 'k', { reason })).body).toMatchObject({ queue: MISSED_RUNS, entry: null, reason });
    messages.arrive(MISSED_RUNS, { id: 'later', part: 'resolve', job: 'resolve' });
    expect((await api.write(path, 'k', { reason })).headers['Idempotency-Replayed']).toBe('true');
    // Messages without a job of this deployment stay, because no later run does their work.
    expect(messages.ids(MISSED_RUNS)).toEqual(['of-shop', 'of-none', 'later']);
    expect(await acts()).toMatchObject([
      { action: 'message.dismissed', about: [MISSED_RUNS], details: { reason, waiting: '4' } },
    ]);
    const queues = dataOf(await api.get('/v1/admin/queues'));
    expect(queues.filter((each) => each['can_dismiss_all']).map(({ id }) => id)).toEqual([MISSED_RUNS]);
  });

  test('is refused for an unknown message, reason or queue and for a viewer, and nothing is recorded', async () => {
    expect((await api.write(DISMISS, 'k', { ...body, entry: 'gone' })).status).toBe(404);
    expect(await api.write(DISMISS, 'k', { entry: 'b', reason: 'because' })).toMatchObject({
      status: 400,
      body: { param: 'reason' },
    });
    const dismiss = (queue: string) => api.write(`/v1/admin/queues/${queue}/dismiss`, 'k', body);
    for (const queue of ['claims', QUEUE, 'Archive-Parked'])
      expect(await dismiss(queue)).toMatchObject({ status: 400, body: { code: 'invalid_request', param: 'id' } });
    expect((await dismiss('constructor')).status).toBe(404);
    api.registerOperator(VIEWER_KEY, { operator: 'Vera Example', role: 'viewer' });
    expect((await api.write(DISMISS, 'k', body, as(VIEWER_KEY))).status).toBe(403);
    expect(messages.ids(DEAD_LETTERS)).toEqual(['a', 'b', 'c']);
    expect(await acts()).toEqual([]);
  });
});
