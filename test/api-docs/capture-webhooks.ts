import { tenantId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { type Delivery, newDelivery } from '../../lambdas/webhooks/domain/webhook-delivery.ts';
import { messageOf } from '../../lambdas/webhooks/use/fan-out-webhooks.ts';
import { CallbacksSite, eventBody } from '../support/callbacks-site.ts';
import { paymentRequest } from '../support/payment-fixtures.ts';
import { WebhookDesk } from '../support/webhook-desk.ts';
import { eventNamed } from '../support/webhook-fixtures.ts';
import type { CapturedExamples } from './captured-examples.ts';

const URL = 'https://shop.co.uk/hooks';

export async function captureWebhooks(examples: CapturedExamples): Promise<void> {
  const desk = new WebhookDesk();
  const all = examples.request('createWebhookEndpoint', 'all', 'All events', { url: URL, events: ['*'] });
  const some = examples.request('createWebhookEndpoint', 'some', 'Some events', {
    url: URL,
    events: ['payment.completed', 'payment.failed'],
    description: 'Order system',
  });
  const made = await desk.send('POST', '', 'k', all);
  examples.answer('createWebhookEndpoint', 'all', 'Created; the secret is shown only here', made);
  const path = `/${String(made.body['id'])}`;
  examples.answer('listWebhookEndpoints', 'one', 'All endpoints', await desk.send('GET', ''));
  examples.answer('getWebhookEndpoint', 'enabled', 'An endpoint', await desk.send('GET', path));
  await captureDeliveries(examples, desk, String(made.body['id']));

  const nowSeconds = desk.clock.nowMs() / 1000;
  const day = { from: nowSeconds, until: nowSeconds + 86_400 };
  const replay = examples.request('replayWebhooks', 'day', 'One day', day);
  examples.answer('replayWebhooks', 'day', 'Accepted', await desk.send('POST', `${path}/replay`, 'y', replay));
  const overlap = { overlap_seconds: 3_600 };
  const hour = examples.request('rotateWebhookSecret', 'hour', 'Both secrets sign for one hour', overlap);
  const rotated = await desk.send('POST', `${path}/rotate_secret`, 'z', hour);
  examples.answer('rotateWebhookSecret', 'hour', 'The new secret; the previous one signs for one more hour', rotated);

  const other = `/${String((await desk.send('POST', '', 'k-2', some)).body['id'])}`;
  const off = examples.request('updateWebhookEndpoint', 'off', 'Disable the endpoint', { enabled: false });
  const disabled = await desk.send('PATCH', other, undefined, off);
  examples.answer('updateWebhookEndpoint', 'disabled', 'Disabled by its owner', disabled);
  examples.answer('getWebhookEndpoint', 'disabled', 'Disabled by its owner', await desk.send('GET', other));
  const enabled = await desk.send('PATCH', other, undefined, { enabled: true });
  examples.answer('updateWebhookEndpoint', 'enabled', 'Enabled again', enabled);
  examples.answer('deleteWebhookEndpoint', 'deleted', 'Deleted', await desk.send('DELETE', path, 'd'));
}

/** A delivery that waits and is sent at once on request, and later has succeeded at its second attempt. */
async function captureDeliveries(examples: CapturedExamples, desk: WebhookDesk, id: string): Promise<void> {
  const { store } = desk;
  const atMs = desk.clock.nowMs();
  const owner = { tenantId: tenantId('ten_desk'), mode: 'test' } as const;
  const waiting = newDelivery(systemDigest, owner, { id }, messageOf(eventNamed('shown', atMs)), atMs);
  await store.write({ deliveries: [{ now: waiting }] });
  const resent = await desk.send('POST', `/${id}/deliveries/${waiting.id}/resend`, 'r');
  examples.answer('resendWebhook', 'waiting', 'It will be sent now', resent);

  const was = await store.readDelivery(id, waiting.id);
  invariant(was !== undefined, 'the delivery was written');
  const { dueAtMs: _due, ...rest } = was;
  const now: Delivery = {
    ...rest,
    revision: rest.revision + 1,
    status: 'delivered',
    attempts: [
      { startedAtMs: atMs, durationMs: 10_000, error: 'timeout' },
      { startedAtMs: atMs + 15_000, durationMs: 84, status: 204 },
    ],
    excerpt: '',
    deliveredAtMs: atMs + 15_084,
  };
  await store.write({ deliveries: [{ was, now }] });
  const deliveries = await desk.send('GET', `/${id}/deliveries`);
  examples.answer('listWebhookDeliveries', 'delivered', 'Delivered at the second attempt', deliveries);
}

export async function captureCallbacks(examples: CapturedExamples): Promise<void> {
  const site = new CallbacksSite();
  const request = paymentRequest('captured', { source: 'tok_async' });
  await site.desk.pay(request);
  const charge = site.desk.chargeOf(request);
  site.desk.processor.inside.succeed(charge);
  const body = eventBody('evt_1', charge, { data: { charge, payment: request.paymentId } });
  examples.request('receiveCallback', 'succeeded', 'The sandbox reports a changed charge', JSON.parse(body) as unknown);
  examples.answer('receiveCallback', 'received', 'The callback was stored', await site.deliver(body));
}
