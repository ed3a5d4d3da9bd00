import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import { createVendor } from '../../lambdas/services/vendor.ts';

test('a redirect is an ambiguous error unless its status is expected, because the request may not have reached the vendor', async () => {
  const server = createServer((_request, response) => {
    response.writeHead(307, { location: 'https://elsewhere.example' }).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/vouchers`;
  const vendor = createVendor({ name: 'vouchers', probe: async () => undefined, deadLetter: async () => undefined });
  const buy = async (expected: readonly number[]) =>
    vendor.request({ method: 'POST', url }, { timeoutMs: 60_000 }, expected);
  await expect(buy([])).rejects.toMatchObject({ name: 'AmbiguousError', code: 'vouchers_answer_unexpected' });
  expect(await buy([307])).toMatchObject({ status: 307 });
  server.close();
});
