import { DatabaseSync } from 'node:sqlite';
import { afterEach, expect, jest, test } from '@jest/globals';
import { shop } from '../../examples/shop/shop.ts';
import { API_KEY, Api } from '../world/api.ts';
import { URL_OF_API } from './client-world.ts';

const DAY_MS = 24 * 60 * 60 * 1_000;

afterEach(() => void jest.restoreAllMocks());

test('the shop completes a purchase whose response was lost, even after Payonce has deleted the stored response', async () => {
  const api = new Api();
  const calls = jest.spyOn(globalThis, 'fetch');
  calls.mockImplementation((url, init) => api.fetch(new Request(url, init)));
  jest.spyOn(console, 'error').mockImplementation(() => undefined);
  const database = new DatabaseSync(':memory:');
  const { app, resume } = shop({ database, apiUrl: URL_OF_API, apiKey: API_KEY, webhookSecrets: [] });
  const body = new URLSearchParams({ sku: 'sku_tea', source: 'tok_ok' });
  await app.request('/purchases/p-1', { method: 'POST', body });
  const row = () => database.prepare('SELECT status, order_id FROM purchases').get();
  const paid = row();
  expect(paid).toMatchObject({ status: 'paid' });

  // The shop ended before it stored the response.
  database.exec("UPDATE purchases SET status = 'open', answer = NULL, order_id = NULL");
  api.clock.advance(9 * DAY_MS);
  await resume();
  expect(row()).toEqual(paid);
  const before = calls.mock.calls.length;
  await resume();
  expect(calls.mock.calls.length).toBe(before);
});
