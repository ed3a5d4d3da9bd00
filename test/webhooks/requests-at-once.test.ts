import { expect, test } from '@jest/globals';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { newDelivery } from '../../lambdas/webhooks/domain/webhook-delivery.ts';
import { MAX_ENDPOINTS } from '../../lambdas/webhooks/domain/webhook-endpoint.ts';
import { webhookMessage } from '../../lambdas/webhooks/use/fan-out-webhooks.ts';
import { Api, type Reply } from '../world/api.ts';
import { eventNamed } from './webhook-fixtures.ts';

const OWNER = { tenantId: tenantId('ten_desk'), mode: 'test' } as const;

type Ask = (api: Api, endpoint: string, delivery: string) => Promise<Reply>;

/**
 * Sends two copies of a request. The first copy takes effect after the second copy has looked for the request's record,
 * and before the second copy reads the endpoints:
 *
 *   first   ───────────── record ✓ effect ✓ ── response
 *   second  ── no record ──────────────────────── reads the effect of the first
 */
async function atOnce(ask: Ask, others = 0): Promise<readonly [first: Reply, second: Reply]> {
  const plain = new Api();
  const made = await plain.create('made');
  const endpoint = String(made.body['id']);
  for (let other = 0; other < others; other += 1) await plain.create(`other-${other}`);
  const event = eventNamed('shown', plain.clock.nowMs());
  const now = newDelivery(systemDigest, OWNER, { id: endpoint }, webhookMessage(event), plain.clock.nowMs());
  await plain.store.webhooks.write({ deliveries: [{ now }] });
  const { webhooks } = plain.store;
  let first: Reply | undefined;
  const slow = Object.assign(Object.create(webhooks) as typeof webhooks, {
    readBook: async (...owner: Parameters<typeof webhooks.readBook>) => {
      first ??= await ask(plain, endpoint, now.id);
      return webhooks.readBook(...owner);
    },
    readEffect: webhooks.readEffect.bind(webhooks),
    readDelivery: webhooks.readDelivery.bind(webhooks),
    readReplay: webhooks.readReplay.bind(webhooks),
    write: webhooks.write.bind(webhooks),
  });
  const second = await ask(new Api({ webhooks: slow }), endpoint, now.id);
  if (first === undefined) throw new Error('the second copy read no endpoints');
  return [first, second];
}

test.each<[string, Ask, number]>([
  ['a rotation', (api, id) => api.send('POST', `/${id}/rotate_secret`, 'k', {}), 0],
  ['a resend', (api, id, delivery) => api.send('POST', `/${id}/deliveries/${delivery}/resend`, 'k'), 0],
  ['a replay', (api, id) => api.send('POST', `/${id}/replay`, 'k', { created_from: 1, created_to: 2 }), 0],
  ['a deletion', (api, id) => api.send('DELETE', `/${id}`, 'k'), 0],
  ['the last allowed endpoint', (api) => api.create('k'), MAX_ENDPOINTS - 2],
])(
  'a concurrent request for %s with the same key gets the response of the first request',
  async (_what, ask, others) => {
    const [first, second] = await atOnce(ask, others);
    expect(first.status).toBeLessThan(300);
    expect([second.status, second.text]).toEqual([first.status, first.text]);
  },
);
