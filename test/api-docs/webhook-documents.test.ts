import { expect, test } from '@jest/globals';
import * as shown from '../../lambdas/api-docs/webhook-examples.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { type Delivery, newDelivery } from '../../lambdas/webhooks/domain/webhook-delivery.ts';
import { messageOf } from '../../lambdas/webhooks/use/fan-out-webhooks.ts';
import { WebhookDesk } from '../support/webhook-desk.ts';
import { eventNamed } from '../support/webhook-fixtures.ts';

const CREATED_MS = 1_772_366_400_000;

/** The names that differ from run to run made the same. */
const plain = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value)
      .replaceAll(/(we|rpl)_[a-z2-7]{32}/g, '$1_x')
      .replaceAll(/dlv_[a-z2-7\d]{45}/g, 'dlv_x')
      .replaceAll(/evt_[a-z2-7]{32}\d{6}[a-z2-7]{10}/g, 'evt_x')
      .replaceAll(/whsec_[^"]+/g, 'whsec_x'),
  );

test('the examples of webhooks in the documents are what is answered', async () => {
  const desk = new WebhookDesk();
  desk.clock.advance(CREATED_MS - desk.clock.nowMs());
  const made = await desk.send('POST', '', 'k', shown.endpointRequestExamples.all.value);
  const id = String(made.body['id']);
  const path = `/${id}`;
  expect(plain(made.body)).toEqual(plain(shown.createdExamples.all.value));
  const list = await desk.send('GET', '');
  expect(plain(list.body)).toEqual(plain(shown.endpointListExamples.one.value));
  expect(plain((await desk.send('GET', path)).body)).toEqual(plain(shown.endpointExamples.enabled.value));

  const message = messageOf(eventNamed('shown', CREATED_MS));
  const owner = { tenantId: tenantId('ten_desk'), mode: 'test' } as const;
  const waiting: Delivery = newDelivery(systemDigest, owner, { id }, message, CREATED_MS);
  await desk.store.write({ deliveries: [{ now: waiting }] });
  const resent = await desk.send('POST', `${path}/deliveries/${waiting.id}/resend`, 'r');
  expect(plain(resent.body)).toEqual(plain(shown.resendExamples.waiting.value));
  const was = await desk.store.readDelivery(id, waiting.id);
  const { dueAtMs: _due, ...rest } = was ?? waiting;
  const attempts = [
    { startedAtMs: CREATED_MS, durationMs: 10_000, error: 'timeout' },
    { startedAtMs: CREATED_MS + 15_000, durationMs: 84, status: 204 },
  ];
  const now: Delivery = {
    ...rest,
    revision: rest.revision + 1,
    status: 'delivered',
    attempts,
    excerpt: '',
    deliveredAtMs: CREATED_MS + 15_084,
  };
  await desk.store.write({ deliveries: [{ was: was ?? waiting, now }] });
  const deliveries = await desk.send('GET', `${path}/deliveries`);
  expect(plain(deliveries.body)).toEqual(plain(shown.deliveryListExamples.delivered.value));

  const replay = await desk.send('POST', `${path}/replay`, 'y', shown.replayRequestExamples.day.value);
  expect(plain(replay.body)).toEqual(plain(shown.replayExamples.day.value));
  const rotated = await desk.send('POST', `${path}/rotate_secret`, 'z', shown.rotationRequestExamples.hour.value);
  expect(plain(rotated.body)).toEqual(plain(shown.rotationExamples.hour.value));
  const other = await desk.send('POST', '', 'k-2', shown.endpointRequestExamples.some.value);
  const off = await desk.send('PATCH', `/${String(other.body['id'])}`, undefined, {
    ...shown.updateRequestExamples.off.value,
    events: ['*'],
    description: null,
  });
  expect(plain(off.body)).toEqual(plain(shown.endpointExamples.disabled.value));
  const deleted = await desk.send('DELETE', path, 'd');
  expect(plain(deleted.body)).toEqual(plain(shown.deletedExamples.deleted.value));
});
