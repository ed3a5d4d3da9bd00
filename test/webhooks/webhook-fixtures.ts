import { createHash } from 'node:crypto';
import type { PaymentEvent } from '../../lambdas/events/domain/event.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { WebhookEndpoint, WebhookOwner } from '../../lambdas/webhooks/domain/webhook-endpoint.ts';
import { webhookSecrets } from '../../lambdas/webhooks/transport/webhook-secrets.ts';

export const OWNER: WebhookOwner = { tenantId: tenantId('ten_webhooks'), mode: 'test' };
export const ROOT_KEY = 'root-key-of-tests-0123456789abcdef';
export const SECRETS = webhookSecrets(async () => [ROOT_KEY]);
export const ROOT = createHash('sha256').update(`webhook root ${ROOT_KEY}`).digest('hex').slice(0, 16);

const letters = (text: string): string =>
  [...systemDigest.sha256(text)].map((byte) => 'abcdefghijklmnopqrstuvwxyz234567'[byte % 32]).join('');

function endpointId(name: string): string {
  return `we_${letters(name)}`;
}

export function endpointNamed(name: string, more: Partial<WebhookEndpoint> = {}): WebhookEndpoint {
  return {
    id: endpointId(name),
    url: `https://${name}.shop.com/hooks`,
    events: ['*'],
    secrets: [{ root: ROOT, version: 1 }],
    createdAtMs: Date.UTC(2026, 2, 1),
    ...more,
  };
}

export function eventNamed(
  name: string,
  occurredAtMs: number = Date.UTC(2026, 2, 1, 12),
  type: PaymentEvent['event']['type'] = 'payment.completed',
  owner: WebhookOwner = OWNER,
): PaymentEvent {
  const payment = { id: `pay_${letters(name)}`, object: 'payment', amount: 1000 };
  return {
    tenant: owner.tenantId,
    mode: owner.mode,
    occurredAtMs,
    event: {
      id: `evt_${letters(name)}000002${letters(`check ${name}`).slice(0, 10)}`,
      object: 'event',
      type,
      version: 1,
      created: Math.floor(occurredAtMs / 1000),
      sequence: 2,
      livemode: false,
      data: { object: payment },
    },
    payment,
    postings: [],
  };
}
