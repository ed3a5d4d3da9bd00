import { beforeEach, describe, expect, test } from '@jest/globals';
import { type OperationId, tenantId } from '../../lambdas/kernel/ids.ts';
import { paymentRequest } from '../payments/payment-fixtures.ts';
import { Api, OPERATOR_KEY } from '../world/api.ts';

const VIEWER_KEY = 'ok_viewerviewerviewerviewer';
const DAY_MS = 24 * 3_600_000;

let api: Api;
beforeEach(() => {
  api = new Api();
});

const inspect = (asked: Readonly<Record<string, string>>, by = OPERATOR_KEY) =>
  api.get(`/v1/admin/idempotency_keys?${new URLSearchParams(asked).toString()}`, {
    headers: { Authorization: `Bearer ${by}` },
  });
const DESK_TENANT = { tenant: 'ten_desk', mode: 'test' };

describe('the record of an idempotency key', () => {
  test('is found by key and path, and shows its owner, calls, stored response and expiry', async () => {
    const reply = await api.pay('"order-7"', { source: 'tok_timeout_charged', description: 'For Ada Example' });
    const { body, status } = await inspect({ ...DESK_TENANT, path: '/v1/payments', key: 'order-7' });
    expect([status, body['operation'], body['payment'], body['state']]).toEqual([
      200,
      reply.body['id'],
      reply.body['id'],
      'completed',
    ]);
    expect(body['calls']).toMatchObject([
      { call: 'send', result: 'no_response' },
      { call: 'look', result: 'succeeded' },
    ]);
    expect(body['owner']).toMatch(/./);
    const kept = Date.parse(String(body['expires'])) - Date.parse(String(body['changed']));
    expect(kept).toBeGreaterThanOrEqual(7 * DAY_MS);
    // The sent response contains personal text, but the stored response does not.
    expect(reply.text).toContain('Ada');
    expect(body['answer']).toMatchObject({ status: 201, body: expect.stringContaining('"status":"succeeded"') });
    expect(JSON.stringify(body)).not.toContain('Ada');
    expect((await api.get(`/v1/admin/idempotency_keys/${String(body['operation'])}`)).body).toEqual(body);
  });

  test('is found by a quoted key with escapes', async () => {
    const reply = await api.pay('"a\\"b\\\\c"');
    const { status, body } = await inspect({ ...DESK_TENANT, path: '/v1/payments', key: '"a\\"b\\\\c"' });
    expect([status, body['payment']]).toEqual([200, reply.body['id']]);
  });

  test('shows a viewer only the status of the response, not its body', async () => {
    api.registerOperator(VIEWER_KEY, { role: 'viewer', operator: 'Vera' });
    await api.pay('k');
    const { body } = await inspect({ ...DESK_TENANT, path: '/v1/payments', key: 'k' }, VIEWER_KEY);
    expect(body['answer']).toEqual({ status: 201, headers: null, body: null });
  });

  test('shows whether a claim is open, has an expired lease, or was completed after a takeover', async () => {
    const request = paymentRequest('k');
    await api.world.claimThenDie(request, true);
    const shown = async () => (await api.get(`/v1/admin/idempotency_keys/${request.paymentId}`)).body;
    const open = await shown();
    expect(open).toMatchObject({ state: 'in_progress', answer: null, expires: null, earlier_owners: [] });
    expect(open['lease_until']).toBe(new Date(api.clock.nowMs() + 25_000).toISOString());
    api.clock.advance(30_000);
    expect(await shown()).toMatchObject({ state: 'lease_ended', owner: open['owner'] });
    await api.world.pay(request);
    const done = await shown();
    expect(done).toMatchObject({
      state: 'completed',
      earlier_owners: [{ owner: open['owner'], was_released: false }],
      fingerprint: open['fingerprint'],
    });
    expect(done['owner']).not.toBe(open['owner']);
  });

  test('is shown as expired when its response is no longer replayed, even if its row was deleted', async () => {
    await api.pay('k');
    api.clock.advance(8 * DAY_MS);
    const asked = { ...DESK_TENANT, path: '/v1/payments', key: 'k' };
    const { body } = await inspect(asked);
    expect(body).toMatchObject({ state: 'expired', answer: null });
    expect((await api.pay('k')).body['code']).toBe('idempotency_key_expired');
    api.store.deleteRecord(body['operation'] as OperationId);
    expect((await inspect(asked)).body).toMatchObject({ state: 'expired', payment: body['payment'], owner: null });
  });

  test('is also found for a change, an order and an operator’s action', async () => {
    const payment = await api.paid('k');
    const refund = await api.change(`${payment}/refunds`, 'r', { amount: 100 });
    const order = await api.order('o');
    const note = await api.annotate(payment, 'n');
    const found = async (asked: Readonly<Record<string, string>>) => (await inspect(asked)).body['operation'];
    expect(await found({ ...DESK_TENANT, path: `/v1/payments/${payment}/refunds`, key: 'r' })).toBe(refund.body['id']);
    expect(await found({ ...DESK_TENANT, path: '/v1/orders', key: 'o' })).toBe(order.body['id']);
    const path = `/v1/admin/payments/${payment}/annotations`;
    expect(await found({ path, key: 'n', operator: 'Ada Example' })).toBe(note.body['id']);
  });
});

describe('a request for the record of an idempotency key', () => {
  test.each([
    ['for another tenant', { ...DESK_TENANT, tenant: 'ten_other' }],
    ['for the other mode', { tenant: 'ten_desk' }],
    ['for another path', { ...DESK_TENANT, path: '/v1/orders' }],
    ['for an unused key', { ...DESK_TENANT, key: 'other' }],
  ])('finds nothing %s', async (_which, asked) => {
    api.registerKey('sk_test_otherothertenant000000', { tenantId: tenantId('ten_other') });
    await api.pay('k');
    const reply = await inspect({ path: '/v1/payments', key: 'k', ...asked });
    expect([reply.status, reply.body['code']]).toEqual([404, 'not_found']);
  });

  test.each(['wh_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'mkr_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'pay_1', 'biz_a', '..'])(
    'finds nothing for an id without a record that operators may see: %s',
    async (id) => {
      expect((await api.get(`/v1/admin/idempotency_keys/${id}`)).status).toBe(404);
    },
  );

  test.each([
    ['key', { ...DESK_TENANT, path: '/v1/payments' }],
    ['key', { ...DESK_TENANT, path: '/v1/payments', key: 'with a space' }],
    ['path', { ...DESK_TENANT, key: 'k' }],
    ['path', { ...DESK_TENANT, path: '/v1/webhook_endpoints', key: 'k' }],
    ['path', { ...DESK_TENANT, path: '/v1/payments/pay_1/refunds', key: 'k' }],
    ['tenant', { path: '/v1/payments', key: 'k' }],
    ['tenant', { path: '/v1/payments', key: 'k', tenant: 'desk' }],
    ['mode', { path: '/v1/payments', key: 'k', tenant: 'ten_desk', mode: 'both' }],
    ['operator', { path: '/v1/admin/corrections', key: 'k' }],
    ['operator', { ...DESK_TENANT, path: '/v1/payments', key: 'k', operator: 'Ada' }],
    ['mode', { path: '/v1/admin/corrections', key: 'k', operator: 'Ada', mode: 'test' }],
  ])('is refused if it is invalid, and the refusal names the parameter %s', async (param, asked) => {
    const reply = await inspect(asked);
    expect([reply.status, reply.body['param']]).toEqual([400, param]);
  });
});
