import { expect, test } from '@jest/globals';
import { Api, dataOf, OPERATOR_KEY } from '../world/api.ts';

const asOperator = { headers: { Authorization: `Bearer ${OPERATOR_KEY}`, 'Payonce-Tenant': 'ten_desk/test' } };

test('an operator sees the processor’s charges of a payment with an unknown outcome, and the read changes nothing', async () => {
  const api = new Api();
  const id = await api.paid('k', { source: 'tok_async', amount: 1500 });
  const { inside } = api.processor;
  const [made] = inside.all;
  await inside.correct(made?.chargeId ?? '', { status: 'succeeded', amount_captured: 600 });
  const answer = await api.ask('GET', `/v1/payments/${id}/charges`, asOperator);
  expect(dataOf(answer)).toMatchObject([
    { id: made?.chargeId, own: true, status: 'succeeded', amount: 1500, amount_captured: 600, refunds: [] },
  ]);
  expect((await api.get(`/v1/payments/${id}`)).body).toMatchObject({ status: 'processing' });
});

test('payments of another tenant and payments that do not exist are not found', async () => {
  const api = new Api();
  const id = await api.paid('k');
  const headers = { ...asOperator.headers, 'Payonce-Tenant': 'ten_other/test' };
  expect((await api.ask('GET', `/v1/payments/${id}/charges`, { headers })).status).toBe(404);
  expect((await api.ask('GET', '/v1/payments/pay_none/charges', asOperator)).status).toBe(404);
});

test('an operator finds a payment by the id of its charge', async () => {
  const api = new Api();
  const id = await api.paid('k');
  const [made] = api.processor.inside.all;
  const found = await api.ask('GET', `/v1/payments?charge_id=${made?.chargeId}`, asOperator);
  expect(dataOf(found)).toMatchObject([{ id }]);
});
