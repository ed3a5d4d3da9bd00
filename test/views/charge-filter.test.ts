import { expect, test } from '@jest/globals';
import { PaymentsApiHarness } from '../payments/payments-api-harness.ts';

test.each(['.', '..'])('the charge %s is refused: it would be another path of the processor', async (id) => {
  const { status, body } = await new PaymentsApiHarness().get(`/v1/payments?charge_id=${id}`);
  expect(body).toMatchObject({ status: 400, param: 'charge_id' });
  expect(status).toBe(400);
});
