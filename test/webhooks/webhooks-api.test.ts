import { describe, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { parseActivity } from '../../lambdas/activity/store/dynamodb-activity.ts';
import { LedgerRow } from '../../lambdas/kernel/contract/rows.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { newDelivery } from '../../lambdas/webhooks/domain/webhook-delivery.ts';
import { activeSecrets } from '../../lambdas/webhooks/domain/webhook-endpoint.ts';
import { webhookSecrets } from '../../lambdas/webhooks/transport/webhook-secrets.ts';
import { webhookMessage } from '../../lambdas/webhooks/use/fan-out-webhooks.ts';
import { replayPage } from '../../lambdas/webhooks/use/replay-webhooks.ts';
import type { WebhookChange } from '../../lambdas/webhooks/use/webhooks.ts';
import { Api, dataOf, type Reply } from '../world/api.ts';
import { TABLES } from '../world/tables.ts';
import { eventNamed } from './webhook-fixtures.ts';

const OWNER = { tenantId: tenantId('ten_desk'), mode: 'test' } as const;
const idOf = ({ body }: Reply): string => String(body['id']);
const secretOf = ({ body }: Reply): string => String(body['secret']);

async function deliveryAt(harness: Api, endpoint: string, name = 'shown', atMs = harness.clock.nowMs()) {
  const message = webhookMessage(eventNamed(name, atMs));
  const now = newDelivery(systemDigest, OWNER, { id: endpoint }, message, atMs);
  await harness.store.webhooks.write({ deliveries: [{ now }] });
  return now;
}

describe('an endpoint', () => {
  test('is created once, and a retry gets the same response with the same secret', async () => {
    const harness = new Api();
    const first = await harness.create('k', { description: 'Orders' });
    const again = await harness.create('k', { description: 'Orders' });
    expect(first.status).toBe(201);
    expect(secretOf(first)).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(again.text).toBe(first.text);
    expect(again.headers['Idempotency-Replayed']).toBe('true');
    expect(first.headers['Location']).toBe(`../v1/webhook_endpoints/${idOf(first)}`);
    expect((await harness.get('/v1/webhook_endpoints')).body['data']).toHaveLength(1);
  });

  test('cannot be created again after the root key of its first secret was removed: the idempotency key has expired', async () => {
    const roots = ['first-root-key-0123456789abcdef', 'second-root-key-0123456789abcdef'];
    const secrets = webhookSecrets(async () => roots.slice(0, 1));
    const harness = new Api({ secrets });
    const endpoint = idOf(await harness.create('k'));
    roots.shift();
    // The secret is still used to sign, so its root key must not be missing: the request fails, but can be retried.
    expect((await harness.create('k')).status).toBe(503);
    await harness.send('POST', `/${endpoint}/rotate_secret`, 'r', { overlap_seconds: 60 });
    expect((await harness.create('k')).status).toBe(503);
    harness.clock.advance(60_000);
    const expired = { status: 409, body: { code: 'idempotency_key_expired' } };
    expect(await harness.create('k')).toMatchObject(expired);
    expect((await harness.get('/v1/webhook_endpoints')).body['data']).toHaveLength(1);
    await harness.send('DELETE', `/${endpoint}`, 'd');
    expect(await harness.create('k')).toMatchObject(expired);
    expect((await harness.get('/v1/webhook_endpoints')).body['data']).toEqual([]);
  });

  test('does not show its secret when it is read, and no row contains the secret', async () => {
    const written: WebhookChange[] = [];
    const harness = new Api();
    const watched = new Api({
      webhooks: Object.assign(Object.create(harness.store.webhooks) as typeof harness.store.webhooks, {
        write: async (change: WebhookChange) => {
          written.push(change);
          return harness.store.webhooks.write(change);
        },
        readBook: harness.store.webhooks.readBook.bind(harness.store.webhooks),
        readEffect: harness.store.webhooks.readEffect.bind(harness.store.webhooks),
      }),
    });
    const made = await watched.create('k');
    const shown = await watched.get(`/v1/webhook_endpoints/${idOf(made)}`);
    expect(shown.status).toBe(200);
    expect(shown.text).not.toContain('whsec_');
    expect(JSON.stringify(written)).not.toContain(secretOf(made).slice('whsec_'.length));
    expect(JSON.stringify(written)).not.toContain('whsec_');
  });

  test('is created, changed, rotated and deleted once, each with an entry in the activity log', async () => {
    const harness = new Api();
    const path = `/${idOf(await harness.create('k'))}`;
    await harness.create('k');
    for (const key of ['r', 'r']) await harness.send('POST', `${path}/rotate_secret`, key, {});
    await harness.send('PATCH', path, undefined, { url: 'https://other.co.uk/hooks' });
    for (const key of ['d', 'd', 'e']) await harness.send('DELETE', path, key);
    const entries = harness.store.database.items(TABLES.ledger, LedgerRow.activity).map(parseActivity);
    expect(entries.map(({ action, about }) => [action, about])).toEqual([
      ['webhook_endpoint.created', [path.slice(1)]],
      ['webhook_endpoint.secret_rotated', [path.slice(1)]],
      ['webhook_endpoint.updated', [path.slice(1)]],
      ['webhook_endpoint.deleted', [path.slice(1)]],
    ]);
    expect(new Set(entries.map(({ actor }) => actor.by))).toEqual(new Set(['request']));
  });

  test('cannot be created with the idempotency key of a different creation', async () => {
    const harness = new Api();
    await harness.create('k');
    const other = await harness.create('k', { events: ['payment.completed'] });
    expect([other.status, other.body['code']]).toEqual([422, 'idempotency_key_payload_mismatch']);
  });

  test('is created for each of several concurrent requests with different keys', async () => {
    const harness = new Api();
    const replies = await Promise.all(['a', 'b', 'c'].map((key) => harness.create(key)));
    expect(replies.map(({ status }) => status)).toEqual([201, 201, 201]);
    expect((await harness.get('/v1/webhook_endpoints')).body['data']).toHaveLength(3);
  });

  test.each([
    [{ url: 'http://shop.co.uk/' }, 'url_not_allowed', 'url'],
    [{ url: 17 }, 'invalid_request', 'url'],
    [{ events: [] }, 'invalid_request', 'events'],
    [{ events: ['payment.made'] }, 'invalid_request', 'events.0'],
    [{ events: ['*', 'payment.completed'] }, 'invalid_request', 'events'],
    [{ secret: 'mine' }, 'unknown_field', 'secret'],
    [{ tenant_id: 'ten_other' }, 'unknown_field', 'tenant_id'],
  ])('is refused with %j and an error that names the field', async (body, code, param) => {
    const reply = await new Api().create('k', body);
    expect([reply.status, reply.body['code'], reply.body['param']]).toEqual([400, code, param]);
  });

  test('can be created with a key whose earlier request was refused', async () => {
    const harness = new Api();
    expect((await harness.create('k', { url: 'https://10.0.0.1/' })).status).toBe(400);
    expect((await harness.create('k')).status).toBe(201);
  });

  test('is changed, disabled and enabled by PATCH', async () => {
    const harness = new Api();
    const path = `/${idOf(await harness.create('k', { description: 'Orders' }))}`;
    const off = await harness.send('PATCH', path, undefined, { enabled: false, description: null });
    expect(off.body).toMatchObject({ enabled: false, disabled: { reason: 'requested' }, description: null });
    const on = await harness.send('PATCH', path, undefined, { enabled: true, events: ['payment.failed'] });
    expect(on.body).toMatchObject({ enabled: true, disabled: null, events: ['payment.failed'] });
    const refused = await harness.send('PATCH', path, undefined, { url: 'https://localhost/' });
    expect(refused.body['code']).toBe('url_not_allowed');
  });

  test('is deleted once, and a retry gets the same response', async () => {
    const harness = new Api();
    const path = `/${idOf(await harness.create('k'))}`;
    const first = await harness.send('DELETE', path, 'd');
    expect([first.status, first.body['deleted']]).toEqual([200, true]);
    expect((await harness.send('DELETE', path, 'd')).text).toBe(first.text);
    expect((await harness.send('DELETE', path, 'another')).status).toBe(404);
    expect((await harness.get(`/v1/webhook_endpoints${path}`)).status).toBe(404);
    expect(idOf(await harness.create('k'))).toBe(path.slice(1));
    expect((await harness.get('/v1/webhook_endpoints')).body['data']).toEqual([]);
  });

  test('is not found by any request of another tenant', async () => {
    const harness = new Api();
    const path = `/${idOf(await harness.create('k'))}`;
    const { id } = await deliveryAt(harness, path.slice(1));
    const stranger = 'sk_test_strangerstrangerstranger';
    harness.registerKey(stranger, { tenantId: tenantId('ten_other') });
    const asked = { headers: { Authorization: `Bearer ${stranger}` } };
    const replies = await Promise.all([
      harness.send('GET', path, undefined, undefined, asked),
      harness.send('PATCH', path, undefined, { enabled: false }, asked),
      harness.send('DELETE', path, 'x', undefined, asked),
      harness.send('POST', `${path}/rotate_secret`, 'x', {}, asked),
      harness.send('POST', `${path}/replay`, 'x', { created_from: 0, created_to: 1 }, asked),
      harness.send('GET', `${path}/deliveries`, undefined, undefined, asked),
      harness.send('POST', `${path}/deliveries/${id}/resend`, 'x', undefined, asked),
    ]);
    expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: 7 }, () => 404));
  });
});

describe('the record of a request', () => {
  test('is permanent for the creation of an endpoint, but expires after 30 to 33 days for all other requests', async () => {
    const harness = new Api();
    const path = `/${idOf(await harness.create('k'))}`;
    const { id } = await deliveryAt(harness, path.slice(1));
    await harness.send('POST', `${path}/rotate_secret`, 'r', {});
    await harness.send('POST', `${path}/replay`, 'p', { created_from: 0, created_to: 1 });
    await harness.send('POST', `${path}/deliveries/${id}/resend`, 's');
    await harness.send('DELETE', path, 'd');

    const kept = harness.store.database.items(TABLES.idempotency).map(({ expiresAt }) => expiresAt);
    const nowSeconds = harness.clock.nowMs() / 1000;
    const ages = kept.filter((at) => at !== undefined).map((at) => (Number(at) - nowSeconds) / 86_400);
    expect(kept).toHaveLength(5);
    expect(ages).toHaveLength(4);
    expect(Math.min(...ages)).toBeGreaterThanOrEqual(30);
    expect(Math.max(...ages)).toBeLessThanOrEqual(33.1);
  });

  const TERM_MS = 34 * 24 * 60 * 60 * 1000;

  test('may expire for a webhook replay, because the stored replay refuses a repetition of the request with 409', async () => {
    const harness = new Api();
    const path = `/${idOf(await harness.create('k'))}`;
    const asked = () => harness.send('POST', `${path}/replay`, 'p', { created_from: 0, created_to: 1 });
    const first = await asked();
    const { clock, store } = harness;
    const tasks = { enqueue: async () => undefined };
    const pastEvents = async () => ({ events: [] });
    const report = () => undefined;
    const own = { webhooks: store.webhooks, pastEvents, tasks, clock, report };
    const tools = { ...own, runner: idempotentRunner, digest: systemDigest };
    expect(await replayPage(tools, String(first.body['id']))).toBe('ended');
    expect((await asked()).text).toBe(first.text);
    harness.clock.advance(TERM_MS);
    expect(harness.store.database.deleteExpired(harness.clock.nowMs())).toBe(1);

    const second = await asked();

    expect(second).toMatchObject({ status: 409, body: { code: 'idempotency_key_expired' } });
    const shown = await harness.get(`/v1/webhook_endpoints${path}/replays/${String(first.body['id'])}`);
    expect(shown.body).toMatchObject({ status: 'completed' });
    expect(harness.enqueued).toHaveLength(1);
  });

  test('may expire for a rotation, because the endpoint refuses a repetition of the request', async () => {
    const harness = new Api();
    const endpoint = idOf(await harness.create('k'));
    const rotate = (key: string) => harness.send('POST', `/${endpoint}/rotate_secret`, key, { overlap_seconds: 60 });
    await rotate('r-1');
    const newest = await rotate('r-2');
    harness.clock.advance(TERM_MS);
    expect(harness.store.database.deleteExpired(harness.clock.nowMs())).toBe(2);
    const before = await harness.store.webhooks.readBook({ tenantId: tenantId('ten_desk'), mode: 'test' });

    for (const key of ['r-1', 'r-2']) {
      expect(await rotate(key)).toMatchObject({ status: 409, body: { code: 'idempotency_key_expired' } });
    }

    expect(await harness.store.webhooks.readBook({ tenantId: tenantId('ten_desk'), mode: 'test' })).toEqual(before);
    expect((await rotate('r-3')).status).toBe(200);
    expect(newest.status).toBe(200);
  });

  test('may expire for a resend, because the delivery refuses a repetition of the request', async () => {
    const harness = new Api();
    const endpoint = idOf(await harness.create('k'));
    const delivery = await deliveryAt(harness, endpoint);
    const resend = (key: string) => harness.send('POST', `/${endpoint}/deliveries/${delivery.id}/resend`, key);
    await resend('r-1');
    await resend('r-2');
    harness.clock.advance(TERM_MS);
    expect(harness.store.database.deleteExpired(harness.clock.nowMs())).toBe(2);
    const before = await harness.store.webhooks.readDelivery(endpoint, delivery.id);

    for (const key of ['r-1', 'r-2']) {
      expect(await resend(key)).toMatchObject({ status: 409, body: { code: 'idempotency_key_expired' } });
    }

    expect(await harness.store.webhooks.readDelivery(endpoint, delivery.id)).toEqual(before);
    expect(harness.enqueued).toHaveLength(2);
    expect((await resend('r-3')).status).toBe(202);
  });

  test('may expire for a deletion, because a repetition of the request gets a 404', async () => {
    const harness = new Api();
    const path = `/${idOf(await harness.create('k'))}`;
    await harness.send('DELETE', path, 'd');
    harness.clock.advance(TERM_MS);
    expect(harness.store.database.deleteExpired(harness.clock.nowMs())).toBe(1);
    expect((await harness.send('DELETE', path, 'd')).status).toBe(404);
  });
});

describe('a rotation', () => {
  test('creates one secret per key, and its response states how long the old secret also signs', async () => {
    const harness = new Api();
    const made = await harness.create('k');
    const path = `/${idOf(made)}`;
    const first = await harness.send('POST', `${path}/rotate_secret`, 'r', { overlap_seconds: 60 });
    const again = await harness.send('POST', `${path}/rotate_secret`, 'r', { overlap_seconds: 60 });
    expect(first.status).toBe(200);
    expect(again.text).toBe(first.text);
    expect(secretOf(first)).not.toBe(secretOf(made));
    expect(first.body['previous_secret_expires']).toBe(harness.clock.nowMs() / 1000 + 60);
    expect(() => new Webhook(secretOf(first))).not.toThrow();
  });

  test('is refused if it would shorten the validity of a secret, except with an overlap of zero', async () => {
    const harness = new Api();
    const endpoint = idOf(await harness.create('k'));
    const rotate = (key: string, body: object) => harness.send('POST', `/${endpoint}/rotate_secret`, key, body);
    const versions = async () => {
      const book = await harness.store.webhooks.readBook(OWNER);
      const [kept] = book.endpoints;
      return kept === undefined ? [] : activeSecrets(kept, harness.clock.nowMs()).map(({ version }) => version);
    };
    for (const [key, overlap_seconds] of Object.entries({ a: 600, b: 1_200, c: 1_200 }))
      expect((await rotate(key, { overlap_seconds })).status).toBe(200);
    const refused = await rotate('r', {});
    expect([refused.status, refused.body['code'], refused.body['param']]).toEqual([
      400,
      'invalid_request',
      'overlap_seconds',
    ]);
    expect(refused.body['detail']).toContain(new Date(harness.clock.nowMs() + 600_000).toISOString());
    expect(await versions()).toEqual([4, 3, 2, 1]);
    harness.clock.advance(600_000);
    expect((await rotate('r', {})).status).toBe(200);
    expect(await versions()).toEqual([5, 4, 3, 2]);
    expect((await rotate('leaked', { overlap_seconds: 0 })).status).toBe(200);
    expect(await versions()).toEqual([6]);
  });
});

describe('deliveries', () => {
  test('are listed newest first in pages, and the cursor of a page is valid only for its endpoint', async () => {
    const harness = new Api();
    const endpoint = idOf(await harness.create('k'));
    const other = idOf(await harness.create('k-2'));
    const ids: string[] = [];
    for (let day = 0; day < 3; day += 1) ids.push((await deliveryAt(harness, endpoint, `e-${day}`, 1_000 + day)).id);
    const strange = await deliveryAt(harness, other, 'strange');
    const page = await harness.get(`/v1/webhook_endpoints/${endpoint}/deliveries?limit=2`);
    const data = page.body['data'] as { id: string }[];
    expect(data.map(({ id }) => id)).toEqual([ids[2], ids[1]]);
    expect(page.body['has_more']).toBe(true);
    const rest = await harness.get(`/v1/webhook_endpoints/${endpoint}/deliveries?starting_after=${String(ids[1])}`);
    expect((rest.body['data'] as { id: string }[]).map(({ id }) => id)).toEqual([ids[0]]);
    const forged = await harness.get(`/v1/webhook_endpoints/${endpoint}/deliveries?starting_after=${strange.id}`);
    expect([forged.status, forged.body['param']]).toEqual([400, 'starting_after']);
  });

  test('are resent once per key', async () => {
    const harness = new Api();
    const endpoint = idOf(await harness.create('k'));
    const delivery = await deliveryAt(harness, endpoint);
    const path = `/${endpoint}/deliveries/${delivery.id}/resend`;
    const first = await harness.send('POST', path, 'r');
    const again = await harness.send('POST', path, 'r');
    expect(first.status).toBe(202);
    expect(again.text).toBe(first.text);
    expect(harness.enqueued).toEqual([{ kind: 'attempt', endpointId: endpoint, deliveryId: delivery.id }]);
    expect((await harness.store.webhooks.readDelivery(endpoint, delivery.id))?.revision).toBe(2);
  });
});

test('a malformed delivery id is refused with 404, or 405 for a resend with an empty id, and the store is not read', async () => {
  const harness = new Api();
  const asked: string[] = [];
  const watched = new Api({
    webhooks: Object.assign(Object.create(harness.store.webhooks) as typeof harness.store.webhooks, {
      write: harness.store.webhooks.write.bind(harness.store.webhooks),
      readBook: harness.store.webhooks.readBook.bind(harness.store.webhooks),
      readEffect: harness.store.webhooks.readEffect.bind(harness.store.webhooks),
      readDelivery: async (_endpoint: string, id: string) => {
        asked.push(id);
        return undefined;
      },
    }),
  });
  const endpoint = idOf(await watched.create('k'));
  // DynamoDB accepts no key that is empty or longer than 1 kB.
  for (const id of ['', 'x'.repeat(2_000), 'dlv_1', 'ENDPOINTS']) {
    const reply = await watched.send('POST', `/${endpoint}/deliveries/${id}/resend`, 'r');
    expect(reply.status).toBe(id === '' ? 405 : 404);
    const read = await watched.send('GET', `/${endpoint}/deliveries/${id || '-'}`);
    expect([read.status, read.body['code']]).toEqual([404, 'not_found']);
  }
  expect(asked).toEqual([]);
});

describe('a replay', () => {
  test('is accepted once per key', async () => {
    const harness = new Api();
    const endpoint = idOf(await harness.create('k'));
    const asked = { created_from: 1_772_366_400, created_to: 1_772_452_800 };
    const first = await harness.send('POST', `/${endpoint}/replay`, 'r', asked);
    const again = await harness.send('POST', `/${endpoint}/replay`, 'r', asked);
    expect([first.status, first.body['status']]).toEqual([202, 'running']);
    expect(again.text).toBe(first.text);
    expect(harness.enqueued).toHaveLength(1);
  });

  test.each([
    [{ created_from: 10, created_to: 10 }, 'created_from'],
    [{ created_from: 0, created_to: 32 * 86_400 }, 'created_from'],
    [{ created_from: 0 }, 'created_to'],
    [{ created_from: 0.5, created_to: 10 }, 'created_from'],
    [{ created_from: 0, created_to: 10, only_undelivered: 'yes' }, 'only_undelivered'],
  ])('is refused for %j', async (body, param) => {
    const harness = new Api();
    const endpoint = idOf(await harness.create('k'));
    const reply = await harness.send('POST', `/${endpoint}/replay`, 'r', body);
    expect([reply.status, reply.body['param']]).toEqual([400, param]);
  });

  test('of missing events is marked as such; its key is accepted once, even after its range has become too old', async () => {
    const harness = new Api();
    const endpoint = idOf(await harness.create('k'));
    const created_from = harness.clock.nowMs() / 1000 - 90 * 86_400 + 60;
    const asked = { created_from, created_to: created_from + 3_600, only_undelivered: true };
    const first = await harness.send('POST', `/${endpoint}/replay`, 'r', asked);
    expect([first.status, first.body['only_undelivered']]).toEqual([202, true]);
    harness.clock.advance(120_000);
    expect((await harness.send('POST', `/${endpoint}/replay`, 'r', asked)).text).toBe(first.text);
    const later = await harness.send('POST', `/${endpoint}/replay`, 's', asked);
    expect([later.status, later.body['param']]).toEqual([400, 'created_from']);
    expect(later.body['detail']).toContain('within the last 90 days');
    // A replay of all events may begin that early. It is refused only because the first replay is still running.
    const all = await harness.send('POST', `/${endpoint}/replay`, 's', { ...asked, only_undelivered: false });
    expect([all.status, all.body['code']]).toEqual([409, 'webhook_replay_running']);
    expect(harness.enqueued).toHaveLength(1);
  });
});

test('resends and replays are recorded with the API key of their request', async () => {
  const harness = new Api();
  const endpoint = idOf(await harness.create('k'));
  const { id } = await deliveryAt(harness, endpoint);
  const entries = () => JSON.stringify(harness.store.database.items(TABLES.ledger));
  const asks = () => entries().split('"keyId":').length - 1;
  const before = asks();
  expect((await harness.send('POST', `/${endpoint}/deliveries/${id}/resend`, 'r')).status).toBe(202);
  expect(asks()).toBe(before + 1);
  expect((await harness.send('POST', `/${endpoint}/replay`, 'p', { created_from: 0, created_to: 1 })).status).toBe(202);
  expect(asks()).toBe(before + 2);
});

describe('a test event', () => {
  test('is delivered once per key to one endpoint, regardless of the event types of the endpoint', async () => {
    const harness = new Api();
    const id = idOf(await harness.create('k', { events: ['payment.failed'] }));
    await harness.create('other', { url: 'https://shop.co.uk/other' });
    const made = await Promise.all([1, 2, 3].map(() => harness.send('POST', `/${id}/test`, 't')));
    expect(made.map(({ status }) => status)).toEqual([202, 202, 202]);
    expect(new Set(made.map(({ text }) => text)).size).toBe(1);
    const deliveries = await harness.send('GET', `/${id}/deliveries`);
    expect(dataOf(deliveries)).toMatchObject([{ type: 'webhook_endpoint.test', status: 'pending', attempts: [] }]);
    const log = await harness.get('/v1/admin/activity?tenant=ten_desk&mode=test');
    expect(dataOf(log).filter(({ action }) => action === 'webhooks.test_requested')).toHaveLength(1);
  });

  test('is refused for a disabled or unknown endpoint', async () => {
    const harness = new Api();
    const id = idOf(await harness.create('k'));
    await harness.send('PATCH', `/${id}`, undefined, { enabled: false });
    expect(await harness.send('POST', `/${id}/test`, 't')).toMatchObject({
      status: 409,
      body: { code: 'webhook_endpoint_disabled' },
    });
    expect((await harness.send('POST', '/we_none/test', 't')).status).toBe(404);
  });
});
