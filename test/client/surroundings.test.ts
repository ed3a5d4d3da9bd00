import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createClient } from '../../client/client.ts';
import { memoryKeys } from '../../client/key-store.ts';
import { selfMadeCertificate } from '../../local/self-made-certificate.ts';
import { API_KEY } from '../world/api.ts';
import { errorOf, TEA } from './client-world.ts';

/** No passing test reaches this time limit. */
const LONG_MS = 600_000;

describe('the client on the system clock and network', () => {
  let server: Server;
  let answer: (response: ServerResponse) => void;
  let requests = 0;
  beforeEach(async () => {
    requests = 0;
    server = createServer((_request, response) => {
      requests += 1;
      answer(response);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(() => {
    server.close();
    server.closeAllConnections();
  });

  const clientOfServer = () => {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return createClient({ url, apiKey: API_KEY, keys: memoryKeys() });
  };
  const silent = () => undefined;
  const busy = (response: ServerResponse) => response.writeHead(503, { 'retry-after': '300' }).end();

  test('stops at the deadline when a server accepts its request but never responds', async () => {
    answer = silent;
    // On a busy machine, the deadline can pass before the request arrives.
    for (const timeoutMs of [200, 2_000, 20_000, 200_000]) {
      const error = await errorOf(clientOfServer().payments.create(TEA, { operation: 'order_42', timeoutMs }));
      expect(error).toMatchObject({ code: 'no_answer', mayHaveTakenEffect: true });
      expect(error.message).toMatch(/got no response within \d+ ms \(last: .*timeout\)\. To get the response,/);
      if (requests > 0) break;
    }
    expect(requests).toBeGreaterThan(0);
  });

  test('accepts a time limit with a fraction of a millisecond', async () => {
    answer = busy;
    const error = await errorOf(clientOfServer().payments.create(TEA, { operation: 'order_42', timeoutMs: 1.5 }));
    expect(error).toMatchObject({ code: 'no_answer' });
  });

  test('reports a refused connection immediately, long before the time limit', async () => {
    const client = clientOfServer();
    server.close();
    await once(server, 'close');
    const startedMs = performance.now();
    const pay = () => errorOf(client.payments.create(TEA, { operation: 'order_42', timeoutMs: LONG_MS }));
    const error = await pay();
    expect(error).toMatchObject({ code: 'connection_refused', mayHaveTakenEffect: false });
    // The key is stored now, so another process may have sent it.
    expect(await pay()).toMatchObject({ code: 'connection_refused', mayHaveTakenEffect: true });
    expect(error.message).toMatch(/^Nothing listens at http:\/\/127\.0\.0\.1:\d+: the connection was refused\./);
    expect(performance.now() - startedMs).toBeLessThan(LONG_MS);
  });

  test('reports an untrusted certificate immediately, with the reason, and sends nothing', async () => {
    const { key, cert } = selfMadeCertificate('localhost');
    const secure = createSecureServer({ key, cert }, () => {
      requests += 1;
    }).listen(0, '127.0.0.1');
    await once(secure, 'listening');
    const url = `https://localhost:${(secure.address() as AddressInfo).port}`;
    const client = createClient({ url, keys: memoryKeys() });
    const error = await errorOf(client.payments.create(TEA, { operation: 'order_42', timeoutMs: LONG_MS }));
    secure.close();
    expect(requests).toBe(0);
    expect(error).toMatchObject({ code: 'no_connection', mayHaveTakenEffect: false });
    expect(error.message).toContain(`There is no connection to ${url}: self-signed certificate`);
  });

  test('waits through a restart of the API, during which connections are refused', async () => {
    const { port } = server.address() as AddressInfo;
    const processing = (response: ServerResponse) =>
      response.end(JSON.stringify({ object: 'payment', id: 'pay_1', status: 'processing' }));
    const pauses: number[] = [];
    answer = processing;
    const client = createClient({
      url: `http://127.0.0.1:${port}`,
      keys: memoryKeys(),
      surroundings: {
        sleep: async (ms) => {
          pauses.push(ms);
          if (pauses.length === 1) {
            server.close();
            server.closeAllConnections();
            await once(server, 'close');
          }
          if (pauses.length === 3) {
            answer = (response) => response.end('{"object":"payment","id":"pay_1","status":"succeeded"}');
            server.listen(port, '127.0.0.1');
            await once(server, 'listening');
          }
        },
      },
    });
    expect(await client.payments.wait('pay_1', { timeoutMs: LONG_MS })).toMatchObject({ status: 'succeeded' });
    expect([requests, pauses.length]).toEqual([2, 3]);
  });

  test.each([
    ['during an attempt', silent],
    ['during a pause', busy],
  ])('stops %s with the reason of the abort signal', async (_name, how) => {
    const stop = new AbortController();
    answer = (response) => {
      how(response);
      setTimeout(() => stop.abort(new Error('the page was closed')), 50);
    };
    const call = clientOfServer().payments.create(TEA, { operation: 'x', timeoutMs: LONG_MS, signal: stop.signal });
    await expect(call).rejects.toThrow('the page was closed');
    expect(requests).toBe(1);
  });

  test('stops waiting for an outcome with the reason of the abort signal', async () => {
    const stop = new AbortController();
    answer = (response) => {
      response.end(JSON.stringify({ object: 'payment', id: 'pay_1', status: 'processing' }));
      if (requests === 2) stop.abort(new Error('the page was closed'));
    };
    const call = clientOfServer().payments.wait('pay_1', { timeoutMs: LONG_MS, signal: stop.signal });
    await expect(call).rejects.toThrow('the page was closed');
  });
});
