import { beforeEach, expect, test } from '@jest/globals';
import { Api, dataOf } from '../world/api.ts';
import { unmatchedCallback } from './unmatched-callback.ts';

const BODY = { reason: 'nothing_due' };

let api: Api;
let id: string;
beforeEach(async () => {
  api = new Api();
  id = await unmatchedCallback(api, 'stray');
});

const path = () => `/v1/admin/callbacks/${id}/dismiss`;
const listed = async () => dataOf(await api.get('/v1/admin/attention')).map(({ callback, act }) => [callback, act]);
const dismissals = async () =>
  dataOf(await api.get('/v1/admin/activity')).filter(({ action }) => action === 'callback.dismissed');

test('an unmatched callback is dismissed once per idempotency key, with one entry in the activity log', async () => {
  const other = await unmatchedCallback(api, 'other');
  expect(new Set(await listed())).toEqual(
    new Set([
      [id, 'dismiss'],
      [other, 'dismiss'],
    ]),
  );
  const made = await Promise.all([1, 2, 3].map(() => api.write(path(), 'k', BODY)));
  expect(made.map(({ status }) => status)).toEqual([201, 201, 201]);
  expect(new Set(made.map(({ text }) => text)).size).toBe(1);
  expect(made[0]?.body).toMatchObject({ object: 'dismissal', callback: id, charge_id: 'ch_stray', ...BODY });
  expect(await listed()).toEqual([[other, 'dismiss']]);
  const details = { ...BODY, processor: 'memory', mode: 'test' };
  expect(await dismissals()).toMatchObject([{ about: [id, 'ch_stray'], details }]);
  expect((await api.write(path(), 'k', { reason: 'refunded' })).status).toBe(422);
});

test('the entry of an unmatched callback shows its processor and mode, and whether another program caused it', async () => {
  const foreign = await unmatchedCallback(api, 'foreign', true);
  const entries = dataOf(await api.get('/v1/admin/queues/unmatched_callbacks'));
  const shown = entries.map(({ callback, processor, mode, reason, needs_operator: needs }) => [
    callback,
    { processor, mode, reason, needs },
  ]);
  expect(Object.fromEntries(shown)).toEqual({
    [id]: { processor: 'memory', mode: 'test', reason: null, needs: true },
    [foreign]: { processor: 'memory', mode: 'test', reason: 'other_program', needs: false },
  });
  const [entry] = dataOf(await api.get('/v1/admin/attention'));
  expect(entry?.['reason']).toMatch(/^A callback from memory \(test mode\) is about a charge/);
});

test('of two concurrent dismissals with different keys, exactly one takes effect', async () => {
  const made = await Promise.all(['a', 'b'].map((key) => api.write(path(), key, BODY)));
  expect(new Set(made.map(({ status }) => status))).toEqual(new Set([201, 404]));
  expect(await dismissals()).toHaveLength(1);
});

test.each([
  ['an unknown callback', async () => 'cb_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp'],
  ['a callback of another program', () => unmatchedCallback(api, 'foreign', true)],
])('a dismissal of %s is refused', async (_which, other) => {
  id = await other();
  expect((await api.write(path(), 'k', BODY)).status).toBe(404);
  expect(await dismissals()).toEqual([]);
});

test('a dismissal with an unknown reason is refused; the error names the field `reason`', async () => {
  const refused = await api.write(path(), 'k', { reason: 'because' });
  expect(refused).toMatchObject({ status: 400, body: { param: 'reason' } });
});
