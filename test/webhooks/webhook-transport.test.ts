/** Tests the guarantee "safe webhooks". */
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import type { PayonceEvent } from '../../lambdas/events/domain/event.ts';
import { rotated } from '../../lambdas/webhooks/domain/webhook-endpoint.ts';
import type { Resolve } from '../../lambdas/webhooks/transport/addresses.ts';
import { webhookTransport } from '../../lambdas/webhooks/transport/webhook-transport.ts';
import { sendWebhook } from '../../lambdas/webhooks/use/send-webhook.ts';
import type { Late } from '../../lambdas/webhooks/use/webhooks.ts';
import { selfMadeCertificate } from '../../local/self-made-certificate.ts';
import { endpointNamed, eventNamed, ROOT, SECRETS } from './webhook-fixtures.ts';
import { serveWebhookReceiver, type WebhookReceiver } from './webhook-receiver.ts';
import { WebhookWorld } from './webhook-world.ts';

const never: Resolve = async () => {
  throw new Error('unexpected look-up of the name');
};
const onLoopback = webhookTransport({ allowLoopback: true, resolve: never, callMs: 2_000 });

let receiver: WebhookReceiver;
beforeEach(async () => {
  receiver = await serveWebhookReceiver();
});
afterEach(async () => {
  await receiver[Symbol.asyncDispose]();
});

const PATIENT: readonly Late[] = [];
const request = (url: string) => ({ url, headers: { 'content-type': 'application/json' }, body: '{"a":"ü"}' });

describe('a call', () => {
  test('sends the body unchanged, and reports the status and the beginning of the response', async () => {
    receiver.respond = (response) => response.writeHead(422).end('not now\u0007\u202e');
    const result = await onLoopback.post(request(receiver.url), PATIENT);
    expect(result).toEqual({ kind: 'answered', status: 422, excerpt: 'not now  ' });
    expect(receiver.arrivals.map(({ body }) => body)).toEqual(['{"a":"ü"}']);
  });

  test('reports only the first 256 bytes of an endless response', async () => {
    receiver.respond = (response) => {
      response.writeHead(200);
      const more = (): void => {
        if (!response.destroyed) response.write('x'.repeat(10_000), more);
      };
      more();
    };
    const result = await onLoopback.post(request(receiver.url), PATIENT);
    expect(result).toEqual({ kind: 'answered', status: 200, excerpt: 'x'.repeat(256) });
  });

  test('reports the status of a truncated response', async () => {
    receiver.respond = (response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('half', () => response.destroy());
    };
    expect(await onLoopback.post(request(receiver.url), PATIENT)).toMatchObject({ kind: 'answered', status: 200 });
  });

  test('times out if no response begins, and reports the status of a response that stops midway', async () => {
    const impatient = webhookTransport({ allowLoopback: true, resolve: never, callMs: 100 });
    receiver.respond = () => undefined;
    expect(await impatient.post(request(receiver.url), PATIENT)).toEqual({ kind: 'unanswered', error: 'timeout' });
    receiver.respond = (response) => {
      response.writeHead(200);
      response.write('slow');
    };
    expect(await impatient.post(request(receiver.url), PATIENT)).toEqual({
      kind: 'answered',
      status: 200,
      excerpt: 'slow',
    });
  });

  test('notifies the sender once if the response is late, and never if it is in time', async () => {
    let notified = 0;
    const late = { afterMs: 50, notify: () => void (notified += 1) };
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    receiver.respond = (response) => void answered.then(() => response.writeHead(204).end());
    const slow = onLoopback.post(request(receiver.url), [{ ...late, notify: () => (late.notify(), answer()) }]);
    expect([await slow, notified]).toEqual([{ kind: 'answered', status: 204, excerpt: '' }, 1]);
    receiver.respond = (response) => response.writeHead(204).end();
    await onLoopback.post(request(receiver.url), [{ afterMs: 60_000, notify: late.notify }]);
    expect(notified).toBe(1);
  });

  test('reports a refused connection', async () => {
    const { url } = receiver;
    await receiver[Symbol.asyncDispose]();
    expect(await onLoopback.post(request(url), PATIENT)).toEqual({ kind: 'unanswered', error: 'connection_refused' });
    receiver = await serveWebhookReceiver();
  });

  test('gets no response from a server without TLS, and sends it no request', async () => {
    const url = receiver.url.replace('http:', 'https:');
    const result = await onLoopback.post(request(url), PATIENT);
    expect(result.kind).toBe('unanswered');
    expect(receiver.arrivals).toHaveLength(0);
  });

  test('does not follow redirects', async () => {
    receiver.respond = (response) => response.writeHead(307, { location: `${receiver.url}/private` }).end();
    expect(await onLoopback.post(request(receiver.url), PATIENT)).toMatchObject({ kind: 'answered', status: 307 });
    expect(receiver.arrivals.map(({ path }) => path)).toEqual(['/hooks']);
  });
});

describe('a call over TLS', () => {
  const HOST = 'shop.payonce-tests.net';
  const certificate = selfMadeCertificate(HOST);
  const trusted = getCACertificates('default');
  beforeEach(async () => {
    setDefaultCACertificates([...trusted, certificate.cert]);
    await receiver[Symbol.asyncDispose]();
    receiver = await serveWebhookReceiver(certificate);
  });
  afterEach(() => setDefaultCACertificates(trusted));

  const named = webhookTransport({
    allowLoopback: true,
    resolve: async () => [{ address: '127.0.0.1', family: 4 }],
    callMs: 5_000,
  });
  const at = (host: string) => request(`https://${host}:${receiver.port}/hooks`);

  test('connects to the checked address, and sends the host name of the URL', async () => {
    expect(await named.post(at(HOST), PATIENT)).toEqual({ kind: 'answered', status: 204, excerpt: '' });
    expect(receiver.arrivals.map(({ headers, body }) => [headers.host, body])).toEqual([
      [`${HOST}:${receiver.port}`, '{"a":"ü"}'],
    ]);
  });

  test('sends nothing to a server whose certificate is for another name or from an unknown authority', async () => {
    expect(await named.post(at('other.payonce-tests.net'), PATIENT)).toEqual({
      kind: 'unanswered',
      error: 'tls_failed',
    });
    setDefaultCACertificates(trusted);
    expect(await named.post(at(HOST), PATIENT)).toEqual({ kind: 'unanswered', error: 'tls_failed' });
    expect(receiver.arrivals).toEqual([]);
  });
});

describe('an address that is not allowed', () => {
  const url = () => `https://shop.co.uk:${receiver.port}/hooks`;

  test('gets no request, neither by IP address nor by name', async () => {
    const strict = webhookTransport({
      allowLoopback: false,
      resolve: async () => [{ address: '127.0.0.1', family: 4 }],
    });
    const refused = { kind: 'unanswered', error: 'address_not_allowed' };
    expect(await strict.post(request(receiver.url), PATIENT)).toEqual(refused);
    expect(await strict.post(request(url()), PATIENT)).toEqual(refused);
  });

  test('gets no request even if the name also has a public address', async () => {
    const mixed: Resolve = async () => [
      { address: '93.184.216.34', family: 4 },
      { address: '169.254.169.254', family: 4 },
    ];
    const strict = webhookTransport({ allowLoopback: false, resolve: mixed });
    expect(await strict.post(request(url()), PATIENT)).toEqual({ kind: 'unanswered', error: 'address_not_allowed' });
  });

  test('gets no request after DNS rebinding, because the connection uses the checked addresses', async () => {
    const asked: string[] = [];
    // The first look-up returns loopback, which is allowed here; later look-ups return the metadata address.
    const rebinding: Resolve = async (name) => {
      asked.push(name);
      return [{ address: asked.length === 1 ? '127.0.0.1' : '169.254.169.254', family: 4 }];
    };
    const transport = webhookTransport({ allowLoopback: true, resolve: rebinding, callMs: 2_000 });
    const first = await transport.post(request(`http://localhost:${receiver.port}/hooks`), PATIENT);
    expect(first).toMatchObject({ kind: 'answered', status: 204 });
    expect(asked).toEqual(['localhost']);
    const second = await transport.post(request(`http://localhost:${receiver.port}/hooks`), PATIENT);
    expect(second).toEqual({ kind: 'unanswered', error: 'address_not_allowed' });
    expect(receiver.arrivals).toHaveLength(1);
  });
});

describe('the request to a receiver', () => {
  const deliver = async (rotateAgoMs?: number): Promise<PayonceEvent> => {
    // The simulated clock starts at the real time, because the Standard Webhooks package uses the system clock.
    const world = new WebhookWorld();
    world.clock.advance(Date.now() - world.clock.nowMs());
    const made = endpointNamed('orders', { url: receiver.url });
    const endpoint =
      rotateAgoMs === undefined ? made : rotated(made, ROOT, world.clock.nowMs() - rotateAgoMs, 24 * 60 * 60);
    await world.addEndpoints([endpoint]);
    const event = eventNamed('signed', world.clock.nowMs());
    await world.publish(event);
    const [delivery] = await world.store.webhooks.listDeliveries(endpoint.id, { limit: 1 });
    const tools = { ...world.webhookTools(world.actor('sender')), transport: onLoopback };
    expect(await sendWebhook(tools, endpoint.id, delivery?.id ?? '')).toBe('delivered');
    return event;
  };

  const verifies = async (version: number): Promise<boolean> => {
    const [arrival] = receiver.arrivals;
    const secret = await SECRETS.secretOf(endpointNamed('orders').id, { root: ROOT, version });
    try {
      new Webhook(secret).verify(arrival?.body ?? '', (arrival?.headers ?? {}) as Record<string, string>);
      return true;
    } catch {
      return false;
    }
  };

  test('contains the event and its id, signed according to Standard Webhooks', async () => {
    const { event } = await deliver();
    expect(await verifies(1)).toBe(true);
    const [arrival] = receiver.arrivals;
    expect(JSON.parse(arrival?.body ?? '')).toEqual(event);
    expect(arrival?.headers['webhook-id']).toBe(event.id);
  });

  test('is signed with both secrets during a rotation, and then only with the new secret', async () => {
    await deliver(60 * 60 * 1000);
    expect([await verifies(1), await verifies(2)]).toEqual([true, true]);
    await receiver[Symbol.asyncDispose]();
    receiver = await serveWebhookReceiver();
    await deliver(25 * 60 * 60 * 1000);
    expect([await verifies(1), await verifies(2)]).toEqual([false, true]);
  });
});

test('secrets have 256 bits and differ between endpoints and between versions', async () => {
  const secrets = await Promise.all([
    SECRETS.secretOf('we_a', { root: ROOT, version: 1 }),
    SECRETS.secretOf('we_b', { root: ROOT, version: 1 }),
    SECRETS.secretOf('we_a', { root: ROOT, version: 2 }),
  ]);
  expect(new Set(secrets).size).toBe(3);
  for (const secret of secrets) expect(Buffer.from(secret.slice('whsec_'.length), 'base64')).toHaveLength(32);
});
