import { beforeEach, describe, expect, test } from '@jest/globals';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { firstBrokenOrderLink } from '../../lambdas/orders/domain/order-transition.ts';
import { orderOperation, parseOrderId } from '../../lambdas/orders/ids.ts';
import { firstBrokenLink } from '../../lambdas/payments/domain/transition.ts';
import type { ChargeOrder } from '../../lambdas/payments/use/processor.ts';
import { Api, as, LIVE_KEY } from '../world/api.ts';
import { World } from '../world/world.ts';

const PAGE = 'https://shop.example/done?order=secret-1';

let behind: World;
let charged: ChargeOrder[];
let api: Api;

beforeEach(() => {
  behind = new World();
  charged = [];
  const { processor } = behind;
  api = new Api(
    {
      processor: {
        ...processor,
        charge: (order, limit) => {
          charged.push(order);
          return processor.charge(order, limit);
        },
      },
    },
    behind,
  );
});

const order = (return_url: unknown, key = 'k') => api.order(key, { source: 'tok_action', return_url });

describe('an order’s return URL', () => {
  test('is passed to the processor, and appears in the response, its replay and a read', async () => {
    const first = await order(PAGE);
    expect(first).toMatchObject({ status: 202, body: { return_url: PAGE } });
    expect(charged).toMatchObject([{ returnUrl: PAGE }]);
    expect((await order(PAGE)).text).toBe(first.text);
    expect((await api.get(`/v1/orders/${String(first.body['id'])}`)).body).toMatchObject({ return_url: PAGE });
    expect(charged).toHaveLength(1);
  });

  test('is stored only in details rows; the chains of the order and its payment contain commitments and pass verification', async () => {
    const { body } = await order(PAGE);
    const orderId = parseOrderId(String(body['id']));
    if (orderId === undefined) throw new Error('the response contains no order');
    const { database } = behind.store;
    expect(JSON.stringify(database.items('Ledger'))).not.toContain('secret-1');
    expect(JSON.stringify(database.items('Idempotency'))).not.toContain('secret-1');
    expect(JSON.stringify(database.items('Registry', 'DETAILS#'))).toContain('secret-1');
    expect(firstBrokenOrderLink(systemDigest, await behind.transitions(orderId))).toBeUndefined();
    const chain = await behind.payment({ orderId });
    expect(firstBrokenLink(systemDigest, chain.transitions)).toBeUndefined();
    expect(chain.first.first).toMatchObject({ returnUrl: PAGE, metadata: { order: orderId } });
    expect((await behind.store.readRecord(orderOperation(orderId)))?.status).toBe('COMPLETED');
  });

  test('defaults to the URL of the deployment; the payment then needs no details row', async () => {
    const { body } = await api.order('k', { source: 'tok_action' });
    expect(body).not.toHaveProperty('return_url');
    expect(charged[0]).not.toHaveProperty('returnUrl');
    expect(behind.store.database.items('Registry', 'DETAILS#')).toHaveLength(1);
  });

  test('is included in the request fingerprint', async () => {
    await order(PAGE);
    const other = await order('https://shop.example/other');
    expect(other.body).toMatchObject({ code: 'idempotency_key_payload_mismatch' });
    expect(charged).toHaveLength(1);
  });

  test('may point to loopback in test mode; in live mode, a loopback URL is refused and nothing is charged', async () => {
    const url = 'http://localhost:3000/done';
    expect((await order(url)).status).toBe(202);
    api.registerKey(LIVE_KEY, { mode: 'live' });
    const asked = as(LIVE_KEY);
    const refused = { status: 400, body: { code: 'invalid_request', param: 'return_url' } };
    expect(await api.order('live', { return_url: url }, asked)).toMatchObject(refused);
    expect(await order('http://shop.example/done', 'plain')).toMatchObject(refused);
    expect(charged).toHaveLength(1);
  });
});
