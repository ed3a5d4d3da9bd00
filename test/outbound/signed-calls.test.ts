import type { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SQSClient, type SQSClientConfig } from '@aws-sdk/client-sqs';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { storedOperationId } from '../../lambdas/kernel/ids.ts';
import { systemInstruments } from '../../lambdas/kernel/platform/instruments.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { configuredParties } from '../../lambdas/orders/parties/configured-parties.ts';
import type { HttpCall, SendRequest } from '../../lambdas/outbound/http-call.ts';
import { signedCalls } from '../../lambdas/outbound/signed-calls.ts';
import { connectProcessors } from '../../lambdas/processors/configured-processors.ts';
import { external } from '../../lambdas/processors/sandbox/descriptor.ts';
import { REAL_PARTIES } from '../orders/connected-parties.ts';
import { orderRequest } from '../orders/order-fixtures.ts';
import { freshOrder } from '../orders/sandbox-orders.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { Stores } from '../world/stores.ts';

/** A secret as Secrets Manager generates it. */
const GENERATED = 'aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zA';
const LIMIT = { timeoutMs: 1_000 };
let clock: SimulatedClock;

// Each test starts at the real time, because `standardwebhooks` checks times against the system clock. In a complete
// run, a test can start an hour after its file was loaded.
beforeEach(() => {
  clock = new SimulatedClock(Date.now());
});

function recorder() {
  const calls: HttpCall[] = [];
  const send: SendRequest = async (call) => {
    calls.push(call);
    return { status: 503, retryAfter: null, headers: new Headers(), text: '' };
  };
  return { calls, send };
}

/** Throws if the signature does not match. */
const verify = (secret: string, { headers, body = '' }: HttpCall) =>
  new Webhook(secret).verify(body, { ...headers }, { jsonParse: false });

describe('a signed call', () => {
  test.each([
    ['generated', GENERATED],
    ['given with the prefix of the scheme', `whsec_${GENERATED}`],
  ])('is valid only with its own secret, body, time and id (the secret is %s)', async (_what, secret) => {
    const { calls, send } = recorder();
    const signed = signedCalls(send, async () => secret, clock);
    const call = { method: 'POST', url: 'https://a.example/charges', headers: { 'x-own': 'kept' }, body: '{"a":1}' };
    await signed({ ...call, ...LIMIT });
    await signed({ ...call, ...LIMIT, url: 'https://a.example/other' });
    const [first, other] = calls;
    if (first === undefined || other === undefined) throw new Error('fewer than two calls were sent');
    verify(`whsec_${GENERATED}`, first);
    expect(first).toMatchObject({ ...call, headers: { 'x-own': 'kept' } });
    expect(first.headers['webhook-id']).not.toBe(other.headers['webhook-id']);
    const wrong = (changes: Partial<HttpCall>, key = GENERATED) =>
      expect(() => verify(`whsec_${key}`, { ...first, ...changes })).toThrow();
    wrong({}, GENERATED.toLowerCase());
    wrong({ body: '{"a":2}' });
    wrong({ headers: { ...first.headers, 'webhook-id': 'msg_other' } });
    const later = String(Number(first.headers['webhook-timestamp']) + 1);
    wrong({ headers: { ...first.headers, 'webhook-timestamp': later } });
  });

  test.each(['', 'whsec_', 'not base64!'])('is not sent with the unusable secret "%s"', async (secret) => {
    const { calls, send } = recorder();
    const signed = signedCalls(send, async () => secret, clock);
    const call = { method: 'POST', url: 'https://a.example', headers: {}, body: '{}', ...LIMIT };
    await expect(signed(call)).rejects.toMatchObject({ code: 'signing_secret_unusable' });
    expect(calls).toEqual([]);
  });

  test('is not sent when the secret cannot be read', async () => {
    const { calls, send } = recorder();
    const signed = signedCalls(send, () => Promise.reject(new Error('no secret')), clock);
    await expect(signed({ method: 'GET', url: 'https://a.example', headers: {}, ...LIMIT })).rejects.toThrow();
    expect(calls).toEqual([]);
  });
});

test("every call to the operator’s own processor is signed with the secret of the call's mode", async () => {
  const { calls, send } = recorder();
  const ofMode = (mode: 'test' | 'live') => ({
    processor: external,
    mode,
    settings: { url: `https://${mode}.example` },
    secretIds: { signingKey: `${mode}-key` },
  });
  const secretOf = (id: string) => GENERATED.replace('aB3', id.slice(0, 3));
  const { processors, books } = await connectProcessors(
    { processors: [ofMode('test'), ofMode('live')], routes: [] },
    { clock, send, secrets: { active: async (id) => [secretOf(id)] }, breakerOpened: () => undefined },
  );
  const order = freshOrder();
  const change = { ...order, chargeId: 'ch_1', change: { kind: 'void' } } as const;
  const window = { fromSeconds: 0, untilSeconds: 1 };
  for (const each of processors) {
    await each.charge(order, LIMIT).catch(() => undefined);
    await each.findCharge(order, LIMIT).catch(() => undefined);
    await each.change(change, LIMIT).catch(() => undefined);
    await each.findChange(change, LIMIT).catch(() => undefined);
  }
  for (const each of books) {
    await each.readCharge('ch_1', LIMIT).catch(() => undefined);
    await each.chargesOfPayment(order.paymentId, LIMIT).catch(() => undefined);
    await each.listCharges(window, LIMIT).catch(() => undefined);
  }
  expect(calls).toHaveLength(14);
  for (const call of calls) {
    const mode = new URL(call.url).host.startsWith('test') ? 'test' : 'live';
    verify(`whsec_${secretOf(mode)}`, call);
    expect(() => verify(`whsec_${secretOf(mode === 'test' ? 'live' : 'test')}`, call)).toThrow();
  }
});

test('every call to the shop is signed with the shop’s secret', async () => {
  const { calls, send } = recorder();
  const asked: unknown[] = [];
  const manager = {
    send: async ({ input }: { readonly input: unknown }) => {
      asked.push(input);
      return { SecretString: JSON.stringify({ current: GENERATED }) };
    },
  };
  const gauge = { addMetric: () => undefined };
  const singleMetric = () => ({ ...gauge, addDimension: () => undefined });
  const silent = { ...gauge, publishStoredMetrics: () => undefined, singleMetric };
  const tools = {
    documents: new Stores(clock).database.client,
    sqs: (settings: SQSClientConfig = {}) => new SQSClient({ region: 'eu-west-1', ...settings }),
    // The code under test calls only `send`.
    secretsManager: async () => manager as unknown as SecretsManagerClient,
    clock,
    entropy: countingEntropy(),
    digest: systemDigest,
    instruments: { ...systemInstruments, metrics: () => silent },
    send,
  };
  const { stock, referrals, ordersOf } = await configuredParties(REAL_PARTIES, tools);
  expect(ordersOf).toBe('live');
  const sandbox = await configuredParties({ ...REAL_PARTIES, secrets: { sandbox: 'sandbox' } }, tools);
  expect(sandbox.ordersOf).toBe('test');
  const operationId = storedOperationId('step');
  const { orderId } = orderRequest('k');
  await stock.reserve({ operationId, orderId, items: [{ sku: 'tea', quantity: 1 }] }, LIMIT).catch(() => undefined);
  const credit = { operationId, orderId, referrer: 'ref_1', amountMinor: 100, currency: 'EUR' };
  await referrals.credit(credit, LIMIT).catch(() => undefined);
  const paths = new Set(calls.map(({ url }) => new URL(url).pathname));
  expect(paths).toEqual(new Set(['/stock/reservations', '/referrals/credits']));
  for (const call of calls) verify(`whsec_${GENERATED}`, call);
  expect(asked[0]).toMatchObject({ SecretId: 'shop-key' });
});
