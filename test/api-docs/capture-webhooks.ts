import { tenantId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { type Delivery, newDelivery } from '../../lambdas/webhooks/domain/webhook-delivery.ts';
import { webhookMessage } from '../../lambdas/webhooks/use/fan-out-webhooks.ts';
import { CallbacksClient, eventBody } from '../callbacks/callbacks-client.ts';
import { paymentRequest } from '../payments/payment-fixtures.ts';
import { eventNamed } from '../webhooks/webhook-fixtures.ts';
import { Api } from '../world/api.ts';
import type { CapturedExamples } from './captured-examples.ts';

export async function captureWebhooks(examples: CapturedExamples): Promise<void> {
  const harness = new Api();
  const all = examples.declared('createWebhookEndpoint', 'all');
  const some = examples.declared('createWebhookEndpoint', 'some');
  const made = await harness.send('POST', '', 'k', all);
  examples.answer('createWebhookEndpoint', 'all', 'Created; the secret is shown only here', made);
  const path = `/${String(made.body['id'])}`;
  examples.answer('listWebhookEndpoints', 'one', 'All endpoints', await harness.send('GET', ''));
  examples.answer('getWebhookEndpoint', 'enabled', 'An endpoint', await harness.send('GET', path));
  await captureDeliveries(examples, harness, String(made.body['id']));

  const replay = examples.declared('replayWebhooks', 'day');
  const accepted = await harness.send('POST', `${path}/replay`, 'y', replay);
  examples.answer('replayWebhooks', 'day', 'Accepted', accepted);
  const running = await harness.send('GET', `${path}/replays/${String(accepted.body['id'])}`);
  examples.answer('getWebhookReplay', 'running', 'In the background', running);
  const hour = examples.declared('rotateWebhookSecret', 'hour');
  const rotated = await harness.send('POST', `${path}/rotate_secret`, 'z', hour);
  examples.answer('rotateWebhookSecret', 'hour', 'The new secret; the previous one signs for one more hour', rotated);

  const other = `/${String((await harness.send('POST', '', 'k-2', some)).body['id'])}`;
  const off = examples.declared('updateWebhookEndpoint', 'off');
  const disabled = await harness.send('PATCH', other, undefined, off);
  examples.answer('updateWebhookEndpoint', 'disabled', 'Disabled by its owner', disabled);
  examples.answer('getWebhookEndpoint', 'disabled', 'Disabled by its owner', await harness.send('GET', other));
  const enabled = await harness.send('PATCH', other, undefined, { enabled: true });
  examples.answer('updateWebhookEndpoint', 'enabled', 'Enabled again', enabled);
  examples.answer('deleteWebhookEndpoint', 'deleted', 'Deleted', await harness.send('DELETE', path, 'd'));
}

async function captureDeliveries(examples: CapturedExamples, harness: Api, id: string): Promise<void> {
  const store = harness.store.webhooks;
  const atMs = harness.clock.nowMs();
  const owner = { tenantId: tenantId('ten_desk'), mode: 'test' } as const;
  const waiting = newDelivery(systemDigest, owner, { id }, webhookMessage(eventNamed('shown', atMs)), atMs);
  await store.write({ deliveries: [{ now: waiting }] });
  const resent = await harness.send('POST', `/${id}/deliveries/${waiting.id}/resend`, 'r');
  examples.answer('resendWebhook', 'waiting', 'It will be sent now', resent);
  examples.answer('testWebhook', 'waiting', 'It will be sent now', await harness.send('POST', `/${id}/test`, 't'));

  const was = await store.readDelivery(id, waiting.id);
  invariant(was !== undefined, 'the delivery is not stored');
  const { dueAtMs: _due, sweepAtMs: _sweep, ...rest } = was;
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
  const deliveries = await harness.send('GET', `/${id}/deliveries`);
  examples.answer('listWebhookDeliveries', 'delivered', 'Delivered at the second attempt', deliveries);
  const shown = await harness.send('GET', `/${id}/deliveries/${waiting.id}`);
  examples.answer('getWebhookDelivery', 'delivered', 'Delivered at the second attempt', shown);
}

export async function captureCallbacks(examples: CapturedExamples): Promise<void> {
  const site = new CallbacksClient();
  const request = paymentRequest('captured', { source: 'tok_async' });
  await site.world.pay(request);
  const charge = site.world.chargeOf(request);
  await site.processor.inside.approve(charge);
  const body = eventBody('evt_1', charge, { data: { charge, payment: request.paymentId } });
  examples.request('receiveCallback', 'succeeded', 'The sandbox reports a changed charge', JSON.parse(body) as unknown);
  examples.answer('receiveCallback', 'received', 'The callback was stored', await site.deliver(body));
}
