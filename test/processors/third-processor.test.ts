import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { callbacksApi } from '../../lambdas/callbacks/callbacks-api.ts';
import { systemDigest, systemEntropy } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { callOnce } from '../../lambdas/outbound/http-call.ts';
import { configuredSources, connectProcessors } from '../../lambdas/processors/configured-processors.ts';
import { describeProcessor, type ProcessorDescriptor } from '../../lambdas/processors/descriptor.ts';
import { PROCESSORS } from '../../lambdas/processors/registry.ts';
import { readCallbacksConfig } from '../../lambdas/processors/settings.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { Api } from '../world/api.ts';
import { gatewayEvent } from '../world/gateway-event.ts';
import { Stores } from '../world/stores.ts';
import { tillhouseContract } from './tillhouse/contract.ts';
import { tillhouse } from './tillhouse/descriptor.ts';
import { createTillhouseBooks } from './tillhouse/tillhouse-books.ts';
import { createTillhouseClient } from './tillhouse/tillhouse-client.ts';
import { serveTillhouse, type TillhouseDouble } from './tillhouse/tillhouse-double.ts';
import { readTillhouseNotice } from './tillhouse/tillhouse-notice.ts';
import { tillhouseSeal } from './tillhouse/tillhouse-seal.ts';

const REGISTRY: readonly ProcessorDescriptor[] = [...PROCESSORS, tillhouse];

const SECRETS: Readonly<Record<string, string>> = { 'till-key': 'the-key', 'till-seal': 'the-seal' };
const secrets = { active: async (id: string) => [SECRETS[id] ?? ''], renewed: async () => undefined };

/** Environment variables that the stacks set. `test/lib/processors.test.ts` checks that they do. */
const environment = (url: string) => ({
  IDEMPOTENCY_TABLE: 'Idempotency',
  LEDGER_TABLE: 'Ledger',
  REGISTRY_TABLE: 'Registry',
  TEST_PROCESSOR_URL: 'http://127.0.0.1:1',
  TEST_PROCESSOR_SIGNING_KEY_SECRET_ID: 'external-key',
  TEST_TILLHOUSE_URL: url,
  TEST_TILLHOUSE_SHOP: 'shop-7',
  TEST_TILLHOUSE_KEY_SECRET_ID: 'till-key',
  PROCESSOR_ROUTES: JSON.stringify([{ mode: 'test', currency: 'CHF', processor: 'tillhouse' }]),
  CALLBACK_SOURCES: JSON.stringify([
    { name: 'tillhouse', mode: 'test', scheme: 'tillhouse-seal', secretId: 'till-seal' },
  ]),
});

/** The two APIs have a common store. */
async function deployed(double: TillhouseDouble) {
  const config = readCallbacksConfig(environment(double.url), REGISTRY);
  const clock = new SimulatedClock();
  const store = new Stores();
  const processors = await connectProcessors(config, {
    clock,
    send: callOnce,
    secrets,
    breakerOpened: () => undefined,
  });
  const harness = new Api({ store, clock, ...processors });
  const callbacks = callbacksApi({
    sources: await configuredSources(config.sources, processors.books, REGISTRY),
    secrets,
    effects: store,
    runner: idempotentRunner,
    telemetry: { request: () => undefined, run: () => undefined, fault: () => undefined },
    clock,
    entropy: systemEntropy,
    digest: systemDigest,
  });
  const deliver = async (body: string, headers: Readonly<Record<string, string>>) =>
    (await callbacks({ ...gatewayEvent('POST', '/callbacks/tillhouse/test', headers), body })).statusCode;
  return { harness, deliver, clock };
}

let double: TillhouseDouble;
let harness: Api;
let deliver: Awaited<ReturnType<typeof deployed>>['deliver'];
let clock: SimulatedClock;

beforeEach(async () => {
  double = await serveTillhouse({ shop: 'shop-7', key: 'the-key', sealSecret: 'the-seal' });
  ({ harness, deliver, clock } = await deployed(double));
});
afterEach(async () => {
  await double[Symbol.asyncDispose]();
});

test('CLAIMS_LOST applies to every processor of the deployment', async () => {
  const config = readCallbacksConfig({ ...environment(double.url), CLAIMS_LOST: 'true' }, REGISTRY);
  const tools = { clock, send: callOnce, secrets, breakerOpened: () => undefined };
  const { processors } = await connectProcessors(config, tools);
  expect(processors.map(({ name, abilities }) => [name, abilities.claimsLost])).toEqual([
    ['external', true],
    ['tillhouse', true],
  ]);
});

test('TEST_PROCESSOR_WITHOUT removes abilities of the operator’s own processor in test mode', async () => {
  const abilitiesWith = async (more: Readonly<Record<string, string>>) => {
    const config = readCallbacksConfig({ ...environment(double.url), ...more }, REGISTRY);
    const tools = { clock, send: callOnce, secrets, breakerOpened: () => undefined };
    const { processors } = await connectProcessors(config, tools);
    return processors.find(({ name }) => name === 'external')?.abilities;
  };
  const all = { refund: true, partialRefund: true, partialCapture: true };
  expect(await abilitiesWith({})).toMatchObject(all);
  const without = (TEST_PROCESSOR_WITHOUT: string) => abilitiesWith({ TEST_PROCESSOR_WITHOUT });
  expect(await without('refunds')).toMatchObject({ ...all, refund: false, partialRefund: false });
  const rest = { holdValidityMs: 0, refund: true, partialRefund: false, partialCapture: false };
  expect(await without('holds,partial-refunds')).toMatchObject(rest);
  await expect(without('voids')).rejects.toThrow(/TEST_PROCESSOR_WITHOUT must be one or several of holds/);
  await expect(abilitiesWith({ PROCESSOR_WITHOUT: 'holds' })).rejects.toThrow(/ PROCESSOR_URL is not set/);
});

const francs = (source: string) => ({ currency: 'CHF', source });

describe('a processor added by one folder and one registry entry', () => {
  test('charges a payment once, settles it by a callback, and refunds a part of it once', async () => {
    const created = await harness.pay('k', francs('till_later'));
    expect(created).toMatchObject({ status: 202, body: { status: 'processing', processor: { name: 'tillhouse' } } });
    const id = String(created.body['id']);
    const [sale] = double.sales;
    expect(sale).toMatchObject({ payment: id, cents: 1000, currency: 'CHF', state: 'waiting' });

    const { body, headers } = double.paid(sale?.id ?? '', clock.nowMs());
    expect(await Promise.all([deliver(body, headers), deliver(body, headers)])).toEqual([200, 200]);
    expect((await harness.get(`/v1/payments/${id}`)).body).toMatchObject({ status: 'succeeded', amount: 1000 });

    const refund = await harness.change(`${id}/refunds`, 'r', { amount: 300 });
    expect(refund).toMatchObject({ status: 201, body: { status: 'succeeded', amount: 300 } });
    expect((await harness.change(`${id}/refunds`, 'r', { amount: 300 })).text).toBe(refund.text);
    expect((await harness.get(`/v1/payments/${id}`)).body).toMatchObject({ amount_refunded: 300 });

    expect((await harness.pay('k', francs('till_later'))).text).toBe(created.text);
    expect(double.sales).toMatchObject([{ state: 'paid', returns: [{ cents: 300 }] }]);
  });

  test('returns the final status if the payer’s bank responds immediately', async () => {
    expect(await harness.pay('paid', francs('till_now'))).toMatchObject({ status: 201, body: { status: 'succeeded' } });
    expect(await harness.pay('no', francs('till_refused'))).toMatchObject({ status: 402 });
  });

  test('rejects an invalid source without claiming the idempotency key', async () => {
    const refused = await harness.pay('k', francs('tok_ok'));
    expect(refused).toMatchObject({ status: 400, body: { code: 'invalid_request', param: 'source' } });
    expect(double.sales).toEqual([]);
    expect(await harness.pay('k', francs('till_now'))).toMatchObject({ status: 201 });
    // A different source with a known key is a different request, even if the source is invalid.
    expect(await harness.pay('k', francs('tok_ok'))).toMatchObject({ status: 422 });
  });

  test('rejects manual capture without claiming the idempotency key, because it declares no holds', async () => {
    const refused = await harness.pay('k', { ...francs('till_now'), capture: 'manual' });
    expect(refused).toMatchObject({ status: 400, body: { code: 'invalid_request', param: 'capture' } });
    expect(refused.body['detail']).toBe('capture must be automatic: tillhouse has no holds.');
    expect(double.sales).toEqual([]);
    expect(await harness.pay('k', francs('till_now'))).toMatchObject({ status: 201, body: { status: 'succeeded' } });
  });

  test('rejects callbacks without a valid signature of its scheme, and changes nothing', async () => {
    const created = await harness.pay('k', francs('till_later'));
    const { body, headers } = double.paid(double.sales[0]?.id ?? '', clock.nowMs());
    expect(await deliver(`${body} `, headers)).toBe(401);
    expect(await deliver(body, {})).toBe(401);
    expect((await harness.get(`/v1/payments/${String(created.body['id'])}`)).body).toMatchObject({
      status: 'processing',
    });
  });

  test('is disabled in a deployment without its settings, and incomplete settings are refused', () => {
    const { TEST_TILLHOUSE_URL, TEST_TILLHOUSE_SHOP, TEST_TILLHOUSE_KEY_SECRET_ID, ...without } = environment(
      double.url,
    );
    const called = readCallbacksConfig(without, REGISTRY).processors.map(({ processor }) => processor.name);
    expect(called).toEqual(['external']);
    for (const name of [{ TEST_TILLHOUSE_URL }, { TEST_TILLHOUSE_SHOP }, { TEST_TILLHOUSE_KEY_SECRET_ID }]) {
      expect(() => readCallbacksConfig({ ...without, ...name }, REGISTRY)).toThrow(/TEST_TILLHOUSE_\w+ is not set/);
    }
  });
});

describe('a descriptor', () => {
  const code = {
    client: async () => createTillhouseClient,
    books: async () => createTillhouseBooks,
    signature: async () => tillhouseSeal,
    readEvent: async () => readTillhouseNotice,
  };
  const { url, shop } = tillhouseContract.settings;

  test('compiles only if it is complete and uses every setting', () => {
    const { signature: _, ...unsigned } = code;
    const colour = { context: 'tillhouseColour', variable: 'TILLHOUSE_COLOUR', form: 'address' } as const;
    const described = [
      describeProcessor(tillhouseContract, code),
      // @ts-expect-error the signature scheme is missing
      describeProcessor(tillhouseContract, unsigned),
      // @ts-expect-error the contract names another scheme
      describeProcessor({ ...tillhouseContract, callbacks: { ...tillhouseContract.callbacks, scheme: 'seal' } }, code),
      // @ts-expect-error the setting `colour` is unused
      describeProcessor({ ...tillhouseContract, settings: { url, shop, colour } }, code),
      // @ts-expect-error the client needs a shop
      describeProcessor({ ...tillhouseContract, settings: { url } }, code),
      // @ts-expect-error the client needs a key
      describeProcessor({ ...tillhouseContract, secrets: {} }, code),
    ];
    expect(described.map(({ name }) => name)).toEqual(described.map(() => 'tillhouse'));
  });
});
