import { expect, test } from '@jest/globals';
import { setClock } from '../../console/clock.ts';
import { actsOnQueue, afterRedrive, reasonText } from '../../console/dead-letters.ts';
import { queueTitle } from '../../console/show.ts';
import type { ParkedReason } from '../../lambdas/intake/use/request-queue.ts';
import { MemoryMessages } from '../operators/memory-messages.ts';
import { Api, dataOf } from '../world/api.ts';

const PARKED: Readonly<Record<ParkedReason, true>> = {
  unknown_sender: true,
  unknown_tenant: true,
  malformed: true,
  wrong_account: true,
  changed: true,
  expired: true,
  refused: true,
  failed: true,
};

test('the console describes each reason for which a payment request is parked', () => {
  expect(Object.keys(PARKED).filter((reason) => reasonText(reason) === undefined)).toEqual([]);
});

test.each([
  ['refused_by_bus', 'EventBridge refused the event.'],
  ['jobs_api_unreachable', 'jobs api could not be reached.'],
  ['postmark_timeout', 'postmark did not respond in time. The call may have taken effect.'],
  ['<b>malformed</b>', undefined],
  ['The run failed because of an_error', undefined],
] as const)('the reason %s is described as %p', (code, text) => {
  expect(reasonText(code)).toBe(text);
});

test.each([
  ['claims', 'Open claims'],
  ['Webhooks-Tasks-Queue', 'Webhook deliveries'],
  ['Webhooks-Tasks-DeadLetters', 'Webhook deliveries: dead letters'],
  ['Intake-Queue-shop-DeadLetters', 'Payment requests of shop: dead letters'],
  ['Vendors-DeadLetters', 'Failed calls to vendors'],
  ['Other-Queue', 'Other-Queue'],
])('the queue %s has the title %s', (id, title) => {
  expect(queueTitle(id)).toBe(title);
});

test('the console derives the state of redriven messages from the activity log and the queues', async () => {
  const world = new Api();
  const messages = new MemoryMessages(world.clock);
  const api = world.with({ messages });
  const [from, to] = ['Webhooks-Tasks-DeadLetters', 'Webhooks-Tasks-Queue'];
  for (const id of ['a', 'b']) messages.arrive(from, { id });
  api.clock.advance(1_000);
  await api.write(`/v1/admin/queues/${from}/redrive`, 'r');
  const log = dataOf(await api.get('/v1/admin/activity')) as unknown as Parameters<typeof actsOnQueue>[0];
  expect(actsOnQueue(log, to)).toEqual([]);
  const [act, ...others] = actsOnQueue(log, from);
  expect(others).toEqual([]);
  expect(act).toMatchObject({ details: { to, waiting: '2' } });
  setClock(new Date(api.clock.nowMs() + 180_000).toUTCString());
  const redriven = act?.created ?? 0;
  const queues = dataOf(await api.get('/v1/admin/queues')) as unknown as Parameters<typeof afterRedrive>[1]['queues'];
  const [dead, waits] = [from, to].map((name) => queues.find(({ id }) => id === name));
  if (dead === undefined || waits === undefined) throw new Error('a queue is missing');
  const after = (here: number | null, there: number | null) =>
    afterRedrive({ ...dead, waiting: here }, { redriven, to, queues: [{ ...waits, waiting: there }] });
  setClock(new Date().toUTCString());
  expect([dead.waiting, waits.waiting]).toEqual([0, 2]);
  expect(after(0, 0)).toContain(`None waits in ${to} any longer. No message is back in ${from}`);
  expect(after(0, 2)).toContain(`2 still wait in ${to}.`);
  expect(after(1, 1)).toContain(`1 still waits in ${to}. A listed message`);
  expect(after(null, null)).toContain('cannot be counted now');
  expect(afterRedrive(dead, { redriven, to: 'Events-Republisher', queues })).toContain('Events-Republisher processes');
});
