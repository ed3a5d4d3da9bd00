import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { systemClock } from '../../lambdas/kernel/platform/platform.ts';
import { callOnce } from '../../lambdas/outbound/http-call.ts';
import { connectProcessors } from '../../lambdas/processors/configured-processors.ts';
import { sandbox } from '../../lambdas/processors/sandbox/descriptor.ts';
import { createSandboxClient } from '../../lambdas/processors/sandbox/sandbox-client.ts';
import { freshOrder } from '../orders/sandbox-orders.ts';
import { httpAnswer, type RawServer, serveRaw } from '../sandbox/sandbox-raw-server.ts';

const CLOCK = { nowMs: () => 1_767_225_600_000 };
const LIMIT = { timeoutMs: 600_000 };
const THREE_IN_A_ROW = { consecutiveFailures: 3, openForMs: 60_000 };
/** With an open time of zero, an open breaker is half-open at the next call. */
const NO_PAUSE = { consecutiveFailures: 3, openForMs: 0 };

describe('the circuit breaker', () => {
  let server: RawServer;
  let status: number;
  beforeEach(async () => {
    status = 500;
    server = await serveRaw((socket) => {
      socket.end(
        httpAnswer(
          status,
          JSON.stringify({ status: 'ok', data: [], next: null, error: { code: 'no', message: 'no' } }),
        ),
      );
    });
  });
  afterEach(async () => {
    await server[Symbol.asyncDispose]();
  });

  const open = (breaker: { consecutiveFailures: number; openForMs: number }) =>
    createSandboxClient({ url: server.url, clock: CLOCK, breaker });
  const fail = async (client: ReturnType<typeof open>, times: number) => {
    for (let time = 1; time <= times; time += 1) {
      await client.charge(freshOrder(), LIMIT).catch(() => {});
    }
  };
  const requestLines = () => server.requests.map((request) => request.split(' HTTP')[0]);

  test.each([500, 503, 401, 403])(
    'opens after three consecutive %d responses, and sends nothing more',
    async (failing) => {
      const client = open(THREE_IN_A_ROW);
      status = failing;
      await fail(client, 3);
      await expect(client.ready()).rejects.toMatchObject({
        name: 'RetryableError',
        code: 'processor_circuit_open',
        retryAfterSeconds: 60,
      });
      await expect(client.charge(freshOrder(), LIMIT)).rejects.toMatchObject({ code: 'processor_circuit_open' });
      await expect(client.findCharge(freshOrder(), LIMIT)).rejects.toMatchObject({ code: 'processor_circuit_open' });
      expect(server.requests).toHaveLength(3);
    },
  );

  test('reports its opening once, with the processor’s name', async () => {
    const opened: string[] = [];
    const breakerOpened = (processor: string): void => void opened.push(processor);
    const processors = [{ processor: sandbox, mode: 'test' as const, settings: { url: server.url }, secretIds: {} }];
    const secrets = { active: async () => [] };
    const { choose } = await connectProcessors(
      { processors, routes: [{ mode: 'test', processor: 'sandbox' }] },
      { clock: systemClock, send: callOnce, secrets, breakerOpened },
    );
    const processor = choose({ tenantId: tenantId('ten_a'), mode: 'test', currency: 'EUR' });
    if (typeof processor === 'string') throw new Error(processor);
    await fail(processor, 4);
    expect(opened).toEqual([]);
    await fail(processor, 3);
    expect(opened).toEqual(['sandbox']);
  });

  test('opens if the processor is unreachable', async () => {
    const client = open(THREE_IN_A_ROW);
    await server[Symbol.asyncDispose]();
    await fail(client, 3);
    await expect(client.ready()).rejects.toMatchObject({ code: 'processor_circuit_open' });
  });

  test('opens if the processor does not respond in time', async () => {
    await using silent = await serveRaw(() => {});
    const client = createSandboxClient({ url: silent.url, clock: CLOCK, breaker: THREE_IN_A_ROW });
    for (let time = 1; time <= 3; time += 1) {
      await client.charge(freshOrder(), { timeoutMs: 20 }).catch(() => {});
    }
    await expect(client.ready()).rejects.toMatchObject({ code: 'processor_circuit_open' });
  });

  test.each([400, 402, 404, 409, 422, 429])('never opens on %d responses', async (answered) => {
    const client = open(THREE_IN_A_ROW);
    status = answered;
    await fail(client, 10);
    await client.ready();
    expect(server.requests).toHaveLength(10);
  });

  test('resets its count of failures after a success', async () => {
    const client = open(THREE_IN_A_ROW);
    await fail(client, 2);
    status = 402;
    await fail(client, 1);
    status = 500;
    await fail(client, 2);
    await expect(client.ready()).resolves.toBeUndefined();
  });

  test('measures its open time with the client’s clock', async () => {
    let nowMs = CLOCK.nowMs();
    const client = createSandboxClient({ url: server.url, clock: { nowMs: () => nowMs }, breaker: THREE_IN_A_ROW });
    await fail(client, 3);
    status = 200;
    nowMs += THREE_IN_A_ROW.openForMs - 1;
    await expect(client.ready()).rejects.toMatchObject({ code: 'processor_circuit_open' });
    nowMs += 1;
    await client.ready();
    expect(requestLines().slice(3)).toEqual(['GET /health']);
  });

  test('makes no request in ready() while it is closed', async () => {
    await open(THREE_IN_A_ROW).ready();
    expect(server.requests).toEqual([]);
  });

  test('sends one read as a probe in ready() while it is half-open, and closes if the probe succeeds', async () => {
    const client = open(NO_PAUSE);
    await fail(client, 3);
    status = 200;
    await client.ready();
    expect(requestLines().slice(3)).toEqual(['GET /health']);
    await client.ready();
    expect(server.requests).toHaveLength(4);
  });

  test('sends a charge while half-open only after a successful probe', async () => {
    const client = open(NO_PAUSE);
    await fail(client, 3);
    status = 402;
    await expect(client.charge(freshOrder(), LIMIT)).rejects.toMatchObject({ code: 'processor_circuit_open' });
    expect(requestLines().slice(3)).toEqual(['GET /health']);
    status = 200;
    await client.charge(freshOrder(), LIMIT).catch(() => {});
    expect(requestLines().slice(4)).toEqual(['GET /health', 'POST /charges']);
  });

  test('sends one probe for twenty concurrent charges while it is half-open; if the probe fails, sends no charge', async () => {
    const client = open(NO_PAUSE);
    await fail(client, 3);
    await Promise.all(Array.from({ length: 20 }, () => fail(client, 1)));
    expect(requestLines().slice(3)).toEqual(['GET /health']);
  });

  test('sends one probe for twenty concurrent charges while it is half-open; if the probe succeeds, sends all the charges', async () => {
    const client = open(NO_PAUSE);
    await fail(client, 3);
    status = 200;
    await Promise.all(Array.from({ length: 20 }, () => fail(client, 1)));
    const [probe, ...charges] = requestLines().slice(3);
    expect(probe).toBe('GET /health');
    expect(charges).toEqual(Array.from({ length: 20 }, () => 'POST /charges'));
  });

  test('accepts a look-up as the probe while it is half-open', async () => {
    const client = open(NO_PAUSE);
    await fail(client, 3);
    status = 200;
    const order = freshOrder();
    expect(await client.findCharge(order, LIMIT)).toEqual({ kind: 'absent' });
    expect(requestLines().slice(3)).toEqual([`GET /charges?key=${order.operationId}`]);
    await client.ready();
    expect(server.requests).toHaveLength(4);
  });
});
