/** Tests the guarantee "erased data". */
import { expect, test } from '@jest/globals';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import {
  afterAttempt,
  withClaimedAttempt,
  withRequestedAttempt,
} from '../../lambdas/webhooks/domain/webhook-delivery.ts';
import { withoutEndpoint } from '../../lambdas/webhooks/domain/webhook-endpoint.ts';
import { eraseAnswers } from '../../lambdas/webhooks/use/erase-answers.ts';
import { endpointNamed, eventNamed, OWNER } from './webhook-fixtures.ts';
import { WebhookWorld } from './webhook-world.ts';

const ENDPOINTS = [endpointNamed('orders'), endpointNamed('other')];

async function delivered() {
  const world = new WebhookWorld();
  await world.addEndpoints(ENDPOINTS);
  world.answer = () => ({ kind: 'answered', status: 200, excerpt: 'thanks, Ada Lovelace' });
  const events = [eventNamed('erased'), eventNamed('kept')];
  for (const event of events) await world.publish(event);
  await world.drain();
  const [erased] = events;
  const places = erased === undefined ? [] : [{ eventId: erased.event.id, occurredAtMs: erased.occurredAtMs }];
  const deliveries = async () =>
    (await Promise.all(ENDPOINTS.map(({ id }) => world.store.webhooks.listDeliveries(id, { limit: 100 })))).flat();
  const { webhooks, activity } = world.store;
  const tools = { webhooks, activity, digest: systemDigest };
  return { world, deliveries, erase: () => eraseAnswers(tools, OWNER, places), eventId: places[0]?.eventId };
}

test("an erasure deletes the responses of all receivers to the erased payment's events, and no other responses", async () => {
  const { deliveries, erase, eventId } = await delivered();
  const before = await deliveries();
  expect(before).toHaveLength(4);
  await erase();
  await erase();
  const expected = before.map(({ excerpt = '', ...delivery }) =>
    delivery.eventId === eventId ? { ...delivery, revision: delivery.revision + 1 } : { ...delivery, excerpt },
  );
  expect(await deliveries()).toEqual(expected);
});

test('an erasure also deletes the responses of an endpoint that no longer exists', async () => {
  const { world, deliveries, erase, eventId } = await delivered();
  const { webhooks } = world.store;
  const [deleted] = ENDPOINTS;
  invariant(deleted !== undefined, 'the list of endpoints is empty');
  const was = await webhooks.readBook(OWNER);
  await webhooks.write({
    book: { was, now: withoutEndpoint(was, deleted.id) },
    activity: {
      chain: { tenantId: OWNER.tenantId, mode: OWNER.mode },
      action: 'webhook_endpoint.deleted',
      actor: { by: 'command', operator: 'Ada Example' },
      about: [deleted.id],
      occurredAtMs: world.clock.nowMs(),
    },
  });
  await erase();
  const left = (await deliveries()).filter(
    (delivery) => delivery.eventId === eventId && delivery.excerpt !== undefined,
  );
  expect(left).toEqual([]);
});

test('the response to an attempt that runs during the erasure is not recorded', async () => {
  const { world, deliveries, erase, eventId } = await delivered();
  const { webhooks } = world.store;
  const [was] = (await deliveries()).filter((delivery) => delivery.eventId === eventId);
  invariant(was !== undefined, 'the event was not delivered');
  const nowMs = world.clock.nowMs();
  const running = withClaimedAttempt(withRequestedAttempt(was, nowMs), nowMs);
  await webhooks.write({ deliveries: [{ was, now: running }] });
  await erase();
  const result = { kind: 'answered', status: 200, excerpt: 'thanks, Ada Lovelace' } as const;
  const { delivery: now } = afterAttempt(running, { startedAtMs: nowMs, result }, nowMs, 0.5);
  expect(await webhooks.write({ deliveries: [{ was: running, now }] })).toEqual({ kind: 'changed' });
});
