import { describe, expect, test } from '@jest/globals';
import { Hono } from 'hono';
import { createOnce, type OnceVariables } from '../../lambdas/services/once.ts';
import { createVendor } from '../../lambdas/services/vendor.ts';
import { gatewayEvent } from '../world/gateway-event.ts';

const client = { send: () => Promise.reject(new Error('a call was sent')) };

test('an event retention that is shorter than the redelivery period is refused', () => {
  const made = (events: number) => () =>
    createOnce({ table: 'points', client: client as never, retentionHours: { events } });
  expect(made(671)).toThrow('retentionHours.events 671 must be at least 672');
  expect(made(672)).not.toThrow();
});

describe('a caller that is undefined', () => {
  const table = createOnce({ table: 'points', client: client as never });
  const headers = { 'idempotency-key': 'k' };
  const answer = { status: 200, headers: {}, body: '' };
  const operation = { scope: 'add-points', caller: () => undefined as never };

  test('is refused by a route, because such callers would share their keys', async () => {
    const app = new Hono<{ Variables: OnceVariables }>();
    app.onError(({ message }) => new Response(message, { status: 500 }));
    const once = table.idempotent({ scope: 'add-points', caller: (c) => c.get('userId') as string });
    app.post('/points', once, () => new Response('done'));
    const response = await app.request('/points', { method: 'POST', headers });
    expect([response.status, await response.text()]).toEqual([500, 'caller undefined must be a string.']);
  });

  test('is refused by a Lambda function', async () => {
    const postgres = createOnce({ postgres: {} as never });
    const event = gatewayEvent('POST', '/points', headers);
    for (const handle of [
      table.idempotentLambda(operation, async () => answer),
      postgres.idempotentLambda(operation, async () => answer),
    ])
      await expect(handle(event)).rejects.toThrow('caller undefined must be a string');
  });
});

test.each(['', undefined as never])(
  'a vendor refuses the local key %j, because all requests without a key would share it',
  async (key: string) => {
    const vendor = createVendor({
      name: 'vouchers',
      postgres: {} as never,
      probe: async () => undefined,
      deadLetter: async () => undefined,
    });
    const request = { key, operation: 'voucher.buy', payload: {}, deadlineMs: 0, withinCall: 'never' as const };
    const sent = vendor.sendOnce({ ...request, send: async () => ({ kind: 'sent', vendorId: 'v' }) });
    await expect(sent).rejects.toThrow(/^key .* must be a non-empty string/);
  },
);
