import { expect, test } from '@jest/globals';
import { RETRY_WAITS_SECONDS, SHORTEST_SCHEDULE_MS } from '../../lambdas/webhooks/domain/webhook-delivery.ts';
import { endpointNamed, eventNamed, OWNER } from './webhook-fixtures.ts';
import { WebhookWorld } from './webhook-world.ts';

const ENDPOINT = endpointNamed('orders');
const POISON = eventNamed('poison');

test('one event that is never accepted does not disable a working endpoint after a short outage', async () => {
  const world = new WebhookWorld();
  await world.addEndpoints([ENDPOINT]);
  const { webhooks } = world.store;
  let isDown = false;
  world.answer = ({ headers }) => ({
    kind: 'answered',
    status: isDown || headers['webhook-id'] === POISON.event.id ? 503 : 200,
    excerpt: '',
  });
  await world.publish(POISON);
  const poison = async () => (await webhooks.listDeliveries(ENDPOINT.id, { limit: 500 })).filter(isPoison);
  await world.drain();
  for (let waits = 1; waits < RETRY_WAITS_SECONDS.length; waits += 1) await world.jump(poison);
  // On the last day, the endpoint accepts other events until two hours before the last attempt to deliver the poison
  // event.
  const [{ sweepAtMs: lastAtMs = 0 } = {}] = await poison();
  world.clock.advance(lastAtMs - world.clock.nowMs() - 120 * 60_000);
  for (let index = 0; index < 10; index += 1) {
    await world.publish(eventNamed(`taken-${index}`, world.clock.nowMs() + index));
    await world.drain();
  }
  world.clock.advance(110 * 60_000);
  isDown = true;
  for (let index = 0; index < 120; index += 1) {
    await world.publish(eventNamed(`waits-${index}`, world.clock.nowMs() + index));
    await world.drain();
  }
  await world.jump(poison);
  await world.pass(12);
  expect((await poison())[0]).toMatchObject({ status: 'failed' });
  expect((await webhooks.readBook(OWNER)).endpoints[0]?.disabled).toBeUndefined();
  isDown = false;
  await world.pass(60);
  const waiting = (await webhooks.listDeliveries(ENDPOINT.id, { limit: 500 })).filter((each) => !isPoison(each));
  expect(waiting.filter(({ status }) => status !== 'delivered')).toEqual([]);
});

test('an endpoint that accepted webhooks 60 hours ago is not disabled, regardless of its backlog', async () => {
  const world = new WebhookWorld();
  await world.addEndpoints([ENDPOINT]);
  const { webhooks } = world.store;
  let isDown = false;
  world.answer = ({ headers }) => ({
    kind: 'answered',
    status: isDown || headers['webhook-id'] === POISON.event.id ? 503 : 200,
    excerpt: '',
  });
  const downAtMs = world.clock.nowMs() + SHORTEST_SCHEDULE_MS - 60 * 60 * 60_000;
  const publish = async (name: string, count: number) => {
    for (let index = 0; index < count; index += 1) {
      await world.publish(eventNamed(`${name}-${index}`, world.clock.nowMs() + index));
      await world.drain();
    }
  };
  await world.publish(POISON);
  await world.drain();
  const poison = async () => (await webhooks.listDeliveries(ENDPOINT.id, { limit: 500 })).filter(isPoison);
  const dueAtMs = async () => (await poison())[0]?.sweepAtMs ?? Number.POSITIVE_INFINITY;
  while ((await dueAtMs()) < downAtMs) await world.jump(poison);
  world.clock.advance(downAtMs - 60_000 - world.clock.nowMs());
  await publish('taken', 3);
  world.clock.advance(60_000);
  isDown = true;
  await publish('waits', 110);
  while ((await dueAtMs()) < Number.POSITIVE_INFINITY) await world.jump(poison);
  expect((await poison())[0]).toMatchObject({ status: 'failed' });
  expect((await webhooks.readBook(OWNER)).endpoints[0]?.disabled).toBeUndefined();
});

function isPoison({ eventId }: { readonly eventId: string }): boolean {
  return eventId === POISON.event.id;
}
