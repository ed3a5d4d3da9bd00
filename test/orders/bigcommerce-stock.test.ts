import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { type OrderId, storedOperationId } from '../../lambdas/kernel/ids.ts';
import { makeAgain } from '../../lambdas/orders/parties/make-again.ts';
import type { ReservationOrder, StockKeeper } from '../../lambdas/orders/use/order-parties.ts';
import type { OnGivenUp } from '../../lambdas/outbound/outbound-calls.ts';
import type { DeadLetter } from '../../lambdas/outbound/use/dead-letters.ts';
import type { SendingClaims } from '../../lambdas/outbound/use/sending-claims.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { sliceOf } from '../support/slice.ts';
import { Stores } from '../world/stores.ts';
import { World } from '../world/world.ts';
import { type BigCommerceDouble, LOCATION, serveBigCommerce } from './bigcommerce-double.ts';
import { connectBigCommerce } from './connected-bigcommerce.ts';
import type { Trouble } from './postmark-double.ts';
import {
  AMBIGUOUS_FAULTS,
  CLOCK_SKEW_MS,
  crashAfterClaim,
  crashBeforeSendIsRecorded,
  ProcessCrash,
  timeoutFor,
} from './vendor-redeliveries.ts';

const ORDER = `ord_${'a'.repeat(32)}` as OrderId;
const ITEMS = [{ sku: 'sku_tea', quantity: 2 }];
const RESERVATION = { operationId: storedOperationId('reserve_1'), orderId: ORDER, items: ITEMS };
const IN_DOUBT = { kind: 'refused', failure: { code: 'stock_in_doubt', message: expect.any(String) } };
const LEASE_OVER_MS = 60_000;

describe('the inventory of a BigCommerce store', () => {
  let clock: SimulatedClock;
  let server: BigCommerceDouble;
  let claims: SendingClaims;
  let deadLetters: DeadLetter[];

  beforeEach(async () => {
    clock = new SimulatedClock();
    server = await serveBigCommerce();
    claims = new Stores(clock).sendingClaims('stock');
    deadLetters = [];
  });
  afterEach(async () => {
    await server[Symbol.asyncDispose]();
  });

  const connect = (
    held: SendingClaims = claims,
    trouble?: Trouble,
    changes: { token?: string; givenUp?: OnGivenUp } = {},
  ): StockKeeper => {
    const keep = { put: async (deadLetter: DeadLetter) => void deadLetters.push(deadLetter) };
    return connectBigCommerce({
      server,
      clock,
      claims: held,
      deadLetters: keep,
      timeoutMs: timeoutFor(trouble),
      ...changes,
    });
  };
  const reserve = (stock = connect(), more: Partial<ReservationOrder> = {}) =>
    stock.reserve({ ...RESERVATION, ...more }, { timeoutMs: 20_000 });
  const release = (reservationId: string, stock = connect()) =>
    stock.release({ reservationId, orderId: ORDER, items: ITEMS }, { timeoutMs: 20_000 });
  const tea = () => server.stock.get('sku_tea');

  test('is reserved once per order even if requested repeatedly, and the reason of the adjustment contains the order id', async () => {
    expect(await reserve()).toEqual({ kind: 'reserved', reservationId: 't-1' });
    expect(await reserve()).toEqual({ kind: 'reserved', reservationId: 't-1' });
    expect(server.adjustments).toEqual([
      { reason: `Payonce ${ORDER}`, items: [{ location_id: LOCATION, sku: 'sku_tea', quantity: -2 }] },
    ]);
    expect([tea(), deadLetters]).toEqual([8, []]);
  });

  test('is reserved once by ten concurrent processes, and each process that fails may retry', async () => {
    const settled = await Promise.allSettled(Array.from({ length: 10 }, () => reserve()));
    expect(settled.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThanOrEqual(1);
    for (const each of settled) if (each.status === 'rejected') expect(each.reason).toBeInstanceOf(RetryableError);
    expect([tea(), server.adjustments.length, deadLetters]).toEqual([8, 1, []]);
    expect(await reserve()).toEqual({ kind: 'reserved', reservationId: 't-1' });
  });

  test('is released once', async () => {
    await reserve();
    await release('t-1');
    await release('t-1');
    expect(server.adjustments.map(({ reason }) => reason)).toEqual([`Payonce ${ORDER}`, `Payonce ${ORDER} released`]);
    expect([tea(), deadLetters]).toEqual([10, []]);
  });

  test('is adjusted by the total quantity of each SKU', async () => {
    await reserve(connect(), { items: [...ITEMS, { sku: 'sku_tea', quantity: 1 }] });
    expect(server.adjustments).toMatchObject([{ items: [{ sku: 'sku_tea', quantity: -3 }] }]);
  });

  test('refuses an order for more than the available quantity', async () => {
    const failure = { code: 'bigcommerce_422', message: 'The inventory would be negative.' };
    expect(await reserve(connect(), { items: [{ sku: 'sku_mug', quantity: 2 }] })).toEqual({
      kind: 'refused',
      failure,
    });
    expect([server.adjustments, deadLetters]).toEqual([[], []]);
  });

  test('is not reserved by a request that gets a 429; the request is retried after the delay in the response header', async () => {
    server.writeTroubles.push({ kind: 'rate_limited', headers: { 'x-rate-limit-time-reset-ms': '4500' } });
    const begunAtMs = clock.nowMs();
    expect(await reserve()).toMatchObject({ kind: 'reserved' });
    expect([clock.nowMs() - begunAtMs, tea()]).toEqual([5_000, 8]);
  });

  test('is not reserved on 401, and is reserved once after the token is corrected', async () => {
    await expect(reserve(connect(claims, undefined, { token: 'revoked' }))).rejects.toMatchObject({
      code: 'stock_unauthorized',
    });
    expect(await reserve()).toMatchObject({ kind: 'reserved' });
    expect([tea(), deadLetters]).toEqual([8, []]);
  });

  test.each(sliceOf(AMBIGUOUS_FAULTS, 3))(
    'gets no second request if no response arrives; instead, an operator is asked: %s',
    async (trouble) => {
      server.writeTroubles.push(trouble);
      expect(await reserve(connect(claims, trouble))).toEqual(IN_DOUBT);
      expect(server.requests).toHaveLength(1);
      expect(deadLetters).toMatchObject([
        { vendor: 'stock', operation: 'inventory.adjust', about: ORDER, reason: 'stock_in_doubt', mayBeApplied: true },
      ]);
      // A later attempt for the order does not send the adjustment again.
      clock.advance(LEASE_OVER_MS);
      expect(await reserve()).toEqual(IN_DOUBT);
      expect(server.requests).toHaveLength(1);
      expect(server.adjustments.length).toBe(JSON.stringify(trouble).includes('after') ? 1 : 0);
    },
  );

  test.each([
    ['after the claim', crashAfterClaim, 0],
    ['after the send', crashBeforeSendIsRecorded, 1],
  ])(
    'is not adjusted again after a process crashes %s; a dead letter asks an operator to check it',
    async (_when, dies, sent) => {
      await expect(reserve(connect(dies(claims)))).rejects.toBeInstanceOf(ProcessCrash);
      await expect(reserve()).rejects.toMatchObject({ code: 'stock_sending_elsewhere' });
      clock.advance(LEASE_OVER_MS);
      expect(await reserve()).toEqual(IN_DOUBT);
      expect([server.adjustments.length, deadLetters.length]).toEqual([sent, 1]);
    },
  );

  describe('an order of the store', () => {
    const NOTED = `Gift wrap\nPayonce ${ORDER}: paid, stock t-1`;
    const note = (stock: StockKeeper) =>
      stock.note?.(
        { orderId: ORDER, shopOrder: 118, reservationId: 't-1', orderStatus: 'paid' },
        { timeoutMs: 20_000 },
      );
    const again = (held = claims) => note(connect(held, undefined, { givenUp: 'throw' }));
    const written = () => server.requests.filter((each) => each.startsWith('PUT')).length;
    const notes = () => server.notes.get(118);

    test('gets one note after its existing notes, even if its reservation is requested repeatedly', async () => {
      for (let turn = 0; turn < 3; turn += 1)
        expect(await reserve(connect(), { shopOrder: 118 })).toEqual({ kind: 'reserved', reservationId: 't-1' });
      expect([notes(), written(), deadLetters]).toEqual([NOTED, 1, []]);
    });

    test('need not exist for the reservation; if it does not exist, its note becomes a dead letter for an operator', async () => {
      expect(await reserve(connect(), { shopOrder: 7 })).toMatchObject({ kind: 'reserved' });
      expect(deadLetters).toMatchObject([
        { operation: 'order.note', about: ORDER, reason: 'stock_refused', mayBeApplied: false },
      ]);
      // The order exists now, and the dead letter is redriven.
      server.notes.set(7, '');
      const [deadLetter] = deadLetters;
      if (deadLetter === undefined) throw new Error('there is no dead letter');
      const stock = connect(claims, undefined, { givenUp: 'throw' });
      const parties = { ...new World().tools, emails: { sendEmail: () => Promise.reject(new Error('none')) }, stock };
      const referrals = { credit: () => Promise.reject(new Error('none')) };
      const redrive = (of: typeof parties) =>
        makeAgain(
          { ...of, referrals },
          JSON.parse(JSON.stringify(deadLetter)) as DeadLetter,
          { timeoutMs: 10_000 },
          'l-1',
        );
      expect([await redrive(parties), await redrive(parties)]).toEqual([{ kind: 'applied' }, { kind: 'applied' }]);
      expect([server.notes.get(7), written()]).toEqual([`Payonce ${ORDER}: paid, stock t-1`, 1]);
      // A shop without support for notes leaves the dead letter to an operator.
      const other = { reserve: stock.reserve.bind(stock), release: stock.release.bind(stock) };
      expect(await redrive({ ...parties, stock: other })).toEqual({ kind: 'stays', reason: 'operation_unknown' });
    });

    test.each(sliceOf(AMBIGUOUS_FAULTS, 3))(
      'has one note even if the store did not respond in time: %s',
      async (trouble) => {
        await reserve();
        server.writeTroubles.push(trouble, trouble, trouble, trouble);
        await note(connect(claims, trouble));
        await clock.sleep(LEASE_OVER_MS);
        server.writeTroubles.length = 0;
        if (notes() !== NOTED) {
          expect(deadLetters.at(-1)).toMatchObject({ operation: 'order.note', about: ORDER, mayBeApplied: true });
          clock.advance(CLOCK_SKEW_MS);
          await again();
        }
        expect(notes()).toBe(NOTED);
        await again();
        expect(notes()).toBe(NOTED);
      },
    );

    test.each([
      ['after the claim', crashAfterClaim, 0],
      ['between the send and the response', crashBeforeSendIsRecorded, 1],
    ])(
      'has one note after a process is killed %s and an operator redrives the dead letter',
      async (_when, dies, sent) => {
        await reserve();
        await expect(note(connect(dies(claims)))).rejects.toBeInstanceOf(ProcessCrash);
        expect(written()).toBe(sent);
        await note(connect());
        expect(deadLetters).toMatchObject([
          { operation: 'order.note', reason: 'stock_sending_elsewhere', mayBeApplied: true },
        ]);
        clock.advance(LEASE_OVER_MS + CLOCK_SKEW_MS);
        await again();
        expect([notes(), written()]).toEqual([NOTED, 1]);
      },
    );
  });

  test('is not released again if its release gets no response; a dead letter asks an operator to check it', async () => {
    await reserve();
    server.writeTroubles.push('reset_after');
    await release('t-1');
    await release('t-1');
    expect([tea(), server.adjustments.length]).toEqual([10, 2]);
    expect(deadLetters[0]).toMatchObject({
      about: ORDER,
      payload: { reason: `Payonce ${ORDER} released`, items: ITEMS },
    });
  });
});
