import { expect, test } from '@jest/globals';
import { Api } from '../world/api.ts';

test.each(['.', '..'])('the charge id %s is refused because it would change the path at the processor', async (id) => {
  const { status, body } = await new Api().get(`/v1/payments?charge_id=${id}`);
  expect(body).toMatchObject({ status: 400, param: 'charge_id' });
  expect(status).toBe(400);
});
