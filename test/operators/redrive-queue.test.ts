/** Tests the guarantee "parked messages". */
import { beforeEach, expect, test } from '@jest/globals';
import { Api, dataOf } from '../world/api.ts';
import { MemoryMessages } from './memory-messages.ts';

const DEAD_LETTERS = 'Webhooks-Tasks-DeadLetters';
const QUEUE = 'Webhooks-Tasks-Queue';
const PATH = `/v1/admin/queues/${DEAD_LETTERS}/redrive`;

let api: Api;
let messages: MemoryMessages;
beforeEach(() => {
  const world = new Api();
  messages = new MemoryMessages(world.clock);
  api = world.with({ messages });
  for (const id of ['a', 'b', 'c']) messages.arrive(DEAD_LETTERS, { id });
  api.clock.advance(1_000);
});

const acts = async () =>
  dataOf(await api.get('/v1/admin/activity')).filter(({ action }) => action === 'queue.redrive_requested');

test('dead letters return to their queue, once per idempotency key, with one entry in the activity log', async () => {
  const made = await Promise.all([1, 2, 3].map(() => api.write(PATH, 'k')));
  expect(made.map(({ status }) => status)).toEqual([202, 202, 202]);
  expect(new Set(made.map(({ text }) => text)).size).toBe(1);
  expect(made[0]?.body).toMatchObject({ object: 'redrive', queue: DEAD_LETTERS, to: QUEUE, waiting: 3 });
  expect(messages.ids(QUEUE)).toEqual(['a', 'b', 'c']);
  expect(await api.get(`/v1/admin/queues/${DEAD_LETTERS}`)).toMatchObject({ body: { data: [] } });
  expect(await acts()).toMatchObject([{ about: [DEAD_LETTERS], details: { to: QUEUE, waiting: '3' } }]);
});

test('a retry completes a redrive whose process was killed between the send and the removal of a dead letter', async () => {
  messages.onSent = (id) => {
    if (id === 'b') throw new Error('killed');
  };
  expect((await api.write(PATH, 'k')).status).toBe(500);
  messages.onSent = () => undefined;
  expect((await api.write(PATH, 'k')).status).toBe(202);
  expect(messages.ids(DEAD_LETTERS)).toEqual([]);
  // A crash between the send and the removal leaves the dead letter in both queues. The function applies it once.
  expect(messages.ids(QUEUE)).toEqual(['a', 'b', 'b', 'c']);
  expect(await acts()).toHaveLength(1);
});

test('a dead letter that fails again stays in the dead-letter queue when the redrive request is retried', async () => {
  await api.write(PATH, 'k');
  api.clock.advance(1_000);
  messages.failAll(QUEUE, DEAD_LETTERS);
  const again = await api.write(PATH, 'k');
  expect([again.status, again.headers['Idempotency-Replayed']]).toEqual([202, 'true']);
  expect(messages.ids(DEAD_LETTERS)).toEqual(['a-again', 'b-again', 'c-again']);
  api.clock.advance(1_000);
  expect((await api.write(PATH, 'another')).status).toBe(202);
  expect(messages.ids(DEAD_LETTERS)).toEqual([]);
  expect(await acts()).toHaveLength(2);
});

test.each([
  ['parked records', 'Events-Parked', 'Events-Republisher'],
  ['dead-lettered calls to vendors', 'Vendors-DeadLetters', 'Parties-DelayedCalls-Queue'],
])('%s are sent to the redrive target of their queue, once per idempotency key', async (_what, from, to) => {
  for (const id of ['d', 'e']) messages.arrive(from, { id });
  api.clock.advance(1_000);
  const path = `/v1/admin/queues/${from}/redrive`;
  const made = await Promise.all([1, 2].map(() => api.write(path, 'k')));
  expect(made.map(({ status }) => status)).toEqual([202, 202]);
  expect(made[0]?.body).toMatchObject({ queue: from, to, waiting: 2 });
  expect([messages.ids(from), messages.ids(to)]).toEqual([[], ['d', 'e']]);
  expect(await acts()).toMatchObject([{ about: [from], details: { to, waiting: '2' } }]);
});

test('each queue shows its redrive target, or the reason why it has none', async () => {
  const rows = dataOf(await api.get('/v1/admin/queues'));
  expect(rows.filter((row) => (row['redrive_to'] === null) === (row['no_redrive_because'] === null))).toEqual([]);
  const targets = rows.filter((row) => row['redrive_to'] !== null).map(({ id }) => id);
  expect(targets).toEqual(['Events-Parked', 'Vendors-DeadLetters', DEAD_LETTERS]);
});

test('a redrive of a queue that cannot be redriven is refused with the reason, and nothing is recorded', async () => {
  const redrive = (queue: string) => api.write(`/v1/admin/queues/${queue}/redrive`, 'k');
  const refused = { status: 400, body: { code: 'invalid_request', param: 'id' } };
  expect(await redrive('claims')).toMatchObject(refused);
  expect(await redrive(QUEUE)).toMatchObject(refused);
  expect(await redrive('unmatched_callbacks')).toMatchObject(refused);
  const batches = await redrive('Archive-Parked');
  expect(batches).toMatchObject(refused);
  expect(batches.text).toContain('payonce redrive');
  expect((await redrive('constructor')).status).toBe(404);
  expect(await api.write(PATH, 'k', { most: 3 })).toMatchObject({ status: 400, body: { param: 'most' } });
  await api.write(PATH, 'k');
  api.clock.advance(1_000);
  expect(await api.write(PATH, 'later')).toMatchObject({ status: 409, body: { code: 'nothing_to_redrive' } });
  expect(await acts()).toHaveLength(1);
});
