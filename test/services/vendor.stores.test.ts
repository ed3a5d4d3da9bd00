import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Pool } from 'pg';
import { TABLES } from '../../examples/loyalty/loyalty.ts';
import { vouchers } from '../../examples/loyalty/vouchers.ts';
import { createOnce } from '../../lambdas/services/once.ts';
import { createVendor } from '../../lambdas/services/vendor.ts';
import { until } from '../support/until.ts';
import { ServiceDatabase } from './service-database.ts';
import { type Behavior, VoucherVendor } from './voucher-vendor.ts';

let database: ServiceDatabase;
let pool: Pool;
let vendor: VoucherVendor;

beforeAll(async () => {
  database = await ServiceDatabase.create();
  pool = database.pool();
  await pool.query(TABLES);
});
beforeEach(async () => {
  vendor = new VoucherVendor();
  await vendor.start();
  await pool.query('DELETE FROM voucher');
});
afterEach(() => vendor.stop());
afterAll(() => database.close());

/** Returns a function with which one process buys all ordered vouchers. Its waits between attempts are short. */
const processOf = (maxLagMs = 0) => vouchers({ pool, url: vendor.url, waitsMs: [1, 2, 4, 8], maxLagMs });

async function order(...ids: readonly string[]): Promise<void> {
  for (const id of ids) await pool.query("INSERT INTO voucher VALUES ($1, 'ada', 30, 'ordered')", [id]);
}

const orders = async (): Promise<readonly unknown[]> =>
  (await pool.query<Record<string, unknown>>('SELECT id, state, reason, vendor_id FROM voucher ORDER BY id')).rows;

describe('a service that buys from a vendor without idempotency keys', () => {
  test('buys each voucher once, in two processes, although requests and responses are lost', async () => {
    const kinds: readonly Behavior[] = [
      'sells, loses the answer',
      'sells',
      'loses the request',
      'sells, answers 500',
      'answers 429',
    ];
    vendor.planned.push(...kinds, ...kinds);
    const ids = Array.from({ length: 10 }, (_, index) => `many-${index}`);
    await order(...ids);
    const processes = [processOf(), processOf()];
    await until(async () => {
      await Promise.all(processes.map((buyOrdered) => buyOrdered()));
      const { rows } = await pool.query("SELECT id FROM voucher WHERE state = 'ordered'");
      return rows.length === 0 || undefined;
    });
    expect(vendor.planned).toEqual([]);
    const bought = ids.map((id) => ({ id, state: 'bought', reason: null, vendor_id: vendor.soldFor(id)[0] }));
    expect(await orders()).toEqual(bought);
    expect(vendor.sold).toHaveLength(10);
  });

  test('finds the voucher that an earlier process bought, and buys no other voucher', async () => {
    vendor.planned.push('sells, does not answer');
    await order('ended');
    const first = processOf()();
    await until(async () => vendor.sold.length === 1 || undefined);
    await processOf()();
    expect(await orders()).toEqual([{ id: 'ended', state: 'ordered', reason: null, vendor_id: null }]);
    // Makes the first process's lease expire.
    await database.administrator.query(
      `UPDATE payonce_once.sending SET lease_expires_at = '2020-01-01', may_have_sent_until = '2020-01-01' WHERE key = 'ended'`,
    );
    await processOf()();
    expect(await orders()).toEqual([{ id: 'ended', state: 'bought', reason: null, vendor_id: 'vch_1' }]);
    await vendor.stop();
    await first;
    expect(await orders()).toEqual([{ id: 'ended', state: 'bought', reason: null, vendor_id: 'vch_1' }]);
    expect(vendor.sold).toHaveLength(1);
    await vendor.start();
  });

  test('buys no other voucher while the vendor may still sell the first one', async () => {
    vendor.planned.push('sells late');
    await order('late');
    // The vendor may be ten minutes late, so no look-up during the call can prove that it sold nothing.
    await processOf(600_000)();
    expect(await orders()).toMatchObject([{ state: 'dead', reason: 'vouchers_connection_lost' }]);
    await pool.query("UPDATE voucher SET state = 'ordered', reason = NULL");
    await processOf(600_000)();
    expect(await orders()).toEqual([{ id: 'late', state: 'bought', reason: null, vendor_id: 'vch_1' }]);
    expect(vendor.sold).toHaveLength(1);
  });

  test('buys the later vouchers even if the response about an earlier one cannot be read', async () => {
    vendor.planned.push('answers with a page');
    await order('a-page', 'b-next');
    await processOf()();
    expect(vendor.soldFor('b-next')).toHaveLength(1);
    expect(await orders()).toMatchObject([{ state: 'ordered' }, { state: 'bought' }]);
  });

  test('waits for the duration that the vendor requests before its next attempt', async () => {
    vendor.planned.push('answers 429');
    await order('later');
    await processOf()();
    const [first = 0, second = 0] = vendor.askedAtMs;
    expect(second - first).toBeGreaterThanOrEqual(1_000);
    expect(vendor.sold).toHaveLength(1);
  });

  test('stores a permanently failed call as a dead letter, and sends it with the same key when the voucher is ordered again', async () => {
    vendor.planned.push('answers 400');
    await order('refused');
    await processOf()();
    await processOf()();
    expect(await orders()).toEqual([{ id: 'refused', state: 'dead', reason: 'vouchers_refused', vendor_id: null }]);
    expect(vendor.askedAtMs).toHaveLength(1);
    await pool.query("UPDATE voucher SET state = 'ordered'");
    await processOf()();
    expect(vendor.soldFor('refused')).toHaveLength(1);
  });

  test('stops calling an unavailable vendor after five failures', async () => {
    const counts: string[] = [];
    const dead: string[] = [];
    const { url } = vendor;
    await vendor.stop();
    const away = createVendor({
      name: 'vouchers',
      probe: async () => undefined,
      deadLetter: async ({ reason }) => void dead.push(reason),
      waitsMs: [1, 1],
      count: (count) => counts.push(count),
    });
    for (let call = 0; call < 4; call += 1) {
      const send = (limit: { readonly timeoutMs: number }) => away.request({ method: 'POST', url }, limit);
      const made = { operation: 'voucher.buy', deadlineMs: Date.now() + 60_000, idempotent: 'by_key' as const, send };
      await away.call(made, {});
    }
    expect(counts.filter((count) => count === 'outbound_breaker_opened')).toHaveLength(1);
    expect(counts.filter((count) => count === 'outbound_call' || count === 'outbound_retry')).toHaveLength(5);
    // Each call has a dead letter although the payloads are equal, because an earlier dead letter may have been
    // redriven.
    expect(dead).toHaveLength(4);
    await vendor.start();
  });

  test('deletes the local key of a voucher after its retention', async () => {
    await order('kept');
    await processOf()();
    const once = createOnce({ postgres: pool });
    expect(await once.deleteExpired()).toBe(0);
    await database.administrator.query("UPDATE payonce_once.sending SET expires_at = '2020-01-01' WHERE key = 'kept'");
    expect(await once.deleteExpired()).toBe(1);
  });
});

test('a vendor needs a name that error codes can contain, and its sendOnce method needs a database for local keys', async () => {
  const options = { probe: async () => undefined, deadLetter: async () => undefined };
  expect(() => createVendor({ ...options, name: 'My Vendor' })).toThrow('name "My Vendor" must be 2 to 30');
  const request = { key: 'k', operation: 'o', payload: {}, deadlineMs: 0, withinCall: 'never' as const };
  const sent = createVendor({ ...options, name: 'vouchers' }).sendOnce({
    ...request,
    send: async () => ({ kind: 'sent', vendorId: 'v' }),
  });
  await expect(sent).rejects.toThrow('sendOnce needs the option postgres');
});
