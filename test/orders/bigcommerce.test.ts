import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { AmbiguousError } from '../../lambdas/kernel/faults.ts';
import {
  type BigCommerceOptions,
  createBigCommerce,
  type OrderMaker,
  probeBigCommerce,
  type StoreOrder,
  storeOrderSchema,
} from '../../lambdas/orders/parties/bigcommerce.ts';
import { createOutboundPolicy } from '../../lambdas/outbound/outbound-policy.ts';
import type { DeadLetter } from '../../lambdas/outbound/use/dead-letters.ts';
import type { SendingClaims } from '../../lambdas/outbound/use/sending-claims.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { Stores } from '../world/stores.ts';
import { BIGCOMMERCE_TOKEN, type BigCommerceDouble, STORE_HASH, serveBigCommerce } from './bigcommerce-double.ts';
import type { Trouble } from './postmark-double.ts';
import {
  Died,
  diesAfterBegin,
  diesBeforeSent,
  MAX_LAG_MS,
  outcomesOfMany,
  PATIENCE_MS,
  TROUBLES,
  timeoutFor,
  untilKnown,
} from './vendor-redeliveries.ts';

const ORDER: StoreOrder = {
  reference: 'ord_1',
  billingAddress: {
    firstName: 'Ada',
    lastName: 'Lovelace',
    street: '12 St James’s Square',
    city: 'London',
    state: 'Greater London',
    zip: 'SW1Y 4JH',
    country: 'United Kingdom',
    countryCode: 'GB',
    email: 'ada@example.com',
  },
  items: [{ name: 'Mug', quantity: 2, price: '19.99' }],
};

describe('BigCommerce', () => {
  let clock: SimulatedClock;
  let server: BigCommerceDouble;
  let claims: SendingClaims;
  let letters: DeadLetter[];

  beforeEach(async () => {
    clock = new SimulatedClock();
    server = await serveBigCommerce(clock);
    claims = new Stores(clock).sendingClaims('bigcommerce');
    letters = [];
  });
  afterEach(async () => {
    await server[Symbol.asyncDispose]();
  });

  const connect = (held: SendingClaims = claims, changes: Partial<BigCommerceOptions> = {}, trouble?: Trouble) => {
    const access = { url: server.url, storeHash: STORE_HASH, token: async () => BIGCOMMERCE_TOKEN };
    const policy = createOutboundPolicy({
      vendor: 'bigcommerce',
      clock,
      entropy: { fraction: () => 1 },
      observer: { count: () => {} },
      deadLetters: { put: async (letter) => void letters.push(letter) },
      timeoutMs: timeoutFor(trouble),
      probe: (limit) => probeBigCommerce('bigcommerce', access, limit, clock.nowMs()),
    });
    const lookup = { kind: 'eventual', maxLagMs: MAX_LAG_MS } as const;
    return createBigCommerce({ ...access, policy, claims: held, clock, lookup, ...changes });
  };
  const make = (maker: OrderMaker, order: StoreOrder = ORDER) =>
    maker.createOrder(order, { deadlineMs: clock.nowMs() + PATIENCE_MS });
  const makeUntilKnown = (maker: OrderMaker) => untilKnown(clock, () => make(maker));
  const posts = () => server.requests.filter((request) => request.startsWith('POST')).length;
  const madeOnce = () => {
    expect(server.orders.map(({ external_id }) => external_id)).toEqual(['ord_1']);
    return { kind: 'sent', vendorId: '100' };
  };

  test('the reference is sent in a permanent field, in a searchable field and in the staff notes', async () => {
    expect(await make(connect())).toEqual(madeOnce());
    expect(server.orders).toMatchObject([
      {
        status_id: 11,
        external_id: 'ord_1',
        external_order_id: 'ord_1',
        external_source: 'Payonce',
        staff_notes: 'Payonce ord_1',
        billing_address: { first_name: 'Ada', email: 'ada@example.com' },
        products: [{ name: 'Mug', quantity: 2, price_inc_tax: '19.99' }],
      },
    ]);
  });

  test.each([
    ['V2', '[{"status":400,"message":"The field is invalid."}]'],
    ['V3', '{"status":400,"title":"The field is invalid.","type":"about:blank"}'],
  ])('a refusal in the format of %s is an outcome', async (_version, body) => {
    server.writeTroubles.push({ kind: 'answer', status: 400, body });
    expect(await make(connect())).toEqual({
      kind: 'refused',
      failure: { code: 'bigcommerce_400', message: 'The field is invalid.' },
    });
    expect(posts()).toBe(1);
  });

  test('401: no order was created, and the next delivery creates it', async () => {
    server.writeTroubles.push('unauthorized');
    await expect(make(connect())).rejects.toMatchObject({ name: 'TerminalError', code: 'bigcommerce_unauthorized' });
    expect(await make(connect())).toEqual(madeOnce());
  });

  test.each([
    ['its own header', { 'x-rate-limit-time-reset-ms': '14500' }, 15_000],
    ['the standard one', { 'retry-after': '7' }, 7_000],
  ])('429 is retried after the wait of %s', async (_what, headers, waitedMs) => {
    server.writeTroubles.push({ kind: 'rate_limited', headers });
    const begunAtMs = clock.nowMs();
    expect(await make(connect())).toEqual(madeOnce());
    expect(clock.nowMs() - begunAtMs).toBe(waitedMs);
  });

  test.each(TROUBLES)('without an answer, nothing is sent again within the call: %s', async (trouble) => {
    server.writeTroubles.push(trouble);
    await expect(make(connect(claims, {}, trouble))).rejects.toBeInstanceOf(AmbiguousError);
    expect(server.requests).toHaveLength(1);
  });

  describe.each([0, 30_000])('each order is created once, while the list lags by %i ms', (lagMs) => {
    beforeEach(() => {
      server.lagMs = lagMs;
    });

    test.each(TROUBLES)('%s', async (trouble) => {
      server.writeTroubles.push(trouble);
      expect(await makeUntilKnown(connect(claims, {}, trouble))).toEqual(madeOnce());
    });

    test.each(TROUBLES)('%s, and twenty concurrent attempts, repeatedly', async (trouble) => {
      const maker = connect(claims, {}, trouble);
      server.writeTroubles.push(trouble);
      expect(await outcomesOfMany(clock, () => make(maker))).toEqual([JSON.stringify(madeOnce())]);
    });

    test('the process crashes before the send', async () => {
      await expect(make(connect(diesAfterBegin(claims)))).rejects.toThrow(Died);
      expect(await makeUntilKnown(connect())).toEqual(madeOnce());
    });

    test('the process crashes after the send', async () => {
      await expect(make(connect(diesBeforeSent(claims)))).rejects.toThrow(Died);
      expect(await makeUntilKnown(connect())).toEqual(madeOnce());
    });
  });

  describe('if the store cannot be searched', () => {
    const lookup = { kind: 'none' } as const;

    test.each(TROUBLES)('the order is sent at most once, and an operator must review it: %s', async (trouble) => {
      const maker = connect(claims, { lookup }, trouble);
      server.writeTroubles.push(trouble);
      for (let delivery = 1; delivery <= 3; delivery += 1) {
        expect(await make(maker)).toEqual({ kind: 'needs_review' });
        clock.advance(3_600_000);
      }
      expect(posts()).toBe(1);
    });

    test.each([
      ['before', diesAfterBegin, 0],
      ['after', diesBeforeSent, 1],
    ] as const)('after a crash %s the send, an operator must review the order', async (_when, dying, sends) => {
      await expect(make(connect(dying(claims), { lookup }))).rejects.toThrow(Died);
      clock.advance(3_600_000);
      expect(await make(connect(claims, { lookup }))).toEqual({ kind: 'needs_review' });
      expect(posts()).toBe(sends);
    });

    test('a request that was never sent is sent by the next delivery', async () => {
      server.writeTroubles.push('unauthorized');
      const maker = connect(claims, { lookup });
      await expect(make(maker)).rejects.toMatchObject({ code: 'bigcommerce_unauthorized' });
      expect(await make(maker)).toEqual(madeOnce());
    });

    test('the operator finds the complete order in the dead letters', async () => {
      server.writeTroubles.push('reset_after');
      const deadlineMs = clock.nowMs() + PATIENCE_MS;
      const outcome = await connect(claims, { lookup }).createOrder(ORDER, { deadlineMs, givenUp: 'dead_letter' });
      expect(outcome).toEqual({ kind: 'needs_review' });
      expect(letters).toMatchObject([{ operation: 'order.create', payload: ORDER, attempts: 1, mayBeApplied: true }]);
      expect(JSON.stringify(letters)).not.toContain(BIGCOMMERCE_TOKEN);
      expect(storeOrderSchema.parse(JSON.parse(JSON.stringify(letters[0]?.payload)))).toEqual(ORDER);
    });
  });

  test('a store that ignores the filter proves nothing: the order is not sent again', async () => {
    server.knowsFilter = false;
    const maker = connect();
    await make(maker, { ...ORDER, reference: 'ord_0' });
    server.writeTroubles.push('reset_before');
    await expect(make(maker)).rejects.toBeInstanceOf(AmbiguousError);
    clock.advance(3_600_000);
    await expect(make(maker)).rejects.toMatchObject({ name: 'AmbiguousError', code: 'bigcommerce_filter_ignored' });
    expect(posts()).toBe(2);
  });

  test('while the store is down, it is probed by reads only', async () => {
    server.outage = 'error_before';
    const maker = connect();
    for (let round = 1; round <= 5; round += 1) {
      await make(maker, { ...ORDER, reference: `ord_${round}` }).catch(() => {});
    }
    clock.advance(20_000);
    await make(maker).catch(() => {});
    const since = server.requests.slice(5);
    expect(since.length).toBeGreaterThan(0);
    expect(new Set(since)).toEqual(new Set([`GET /stores/${STORE_HASH}/v2/orders/count`]));
  });
});
