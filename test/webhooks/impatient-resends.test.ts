import { expect, test } from '@jest/globals';
import { storedOperationId } from '../../lambdas/kernel/ids.ts';
import { RETRY_WAITS_SECONDS } from '../../lambdas/webhooks/domain/webhook-delivery.ts';
import { resendWebhook } from '../../lambdas/webhooks/use/resend-webhook.ts';
import { BY_REQUEST } from '../support/causes.ts';
import { endpointNamed, eventNamed, OWNER } from './webhook-fixtures.ts';
import { WebhookWorld } from './webhook-world.ts';

const ENDPOINT = endpointNamed('orders');

test('resends during a short outage do not use up the attempts of the three-day schedule', async () => {
  const world = new WebhookWorld();
  await world.addEndpoints([ENDPOINT]);
  world.answer = () => ({ kind: 'answered', status: 503, excerpt: '' });
  await world.publish(eventNamed('first'));
  await world.drain();
  const { webhooks } = world.store;
  const newest = async () => (await webhooks.listDeliveries(ENDPOINT.id, { limit: 1 }))[0];
  const deliveryId = String((await newest())?.id);
  for (let times = 0; times < RETRY_WAITS_SECONDS.length; times += 1) {
    await resendWebhook(world.webhookTools(world.actor('api')), {
      caller: OWNER,
      operationId: storedOperationId(`wh_resend_${times}`),
      fingerprint: { version: 1, sha256: new Uint8Array(32) },
      cause: BY_REQUEST,
      endpointId: ENDPOINT.id,
      deliveryId,
    });
    await world.pass(1);
  }
  expect(world.arrivals.length).toBeGreaterThanOrEqual(RETRY_WAITS_SECONDS.length + 1);
  expect((await webhooks.readBook(OWNER)).endpoints[0]?.disabled).toBeUndefined();
  expect(await newest()).toMatchObject({ status: 'pending' });
  // The server recovers within a quarter of an hour.
  world.answer = () => ({ kind: 'answered', status: 200, excerpt: '' });
  await world.pass(600);
  expect(await newest()).toMatchObject({ status: 'delivered' });
});
