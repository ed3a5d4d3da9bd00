import { beforeEach, describe, expect, test } from '@jest/globals';
import { Api } from '../world/api.ts';

let harness: Api;

beforeEach(() => {
  harness = new Api();
});

describe('a payment over HTTP', () => {
  test('is created, and a read returns the same body as the creation', async () => {
    const made = await harness.pay('k-1', { reference: 'order-1', description: 'Shirts', metadata: { order: '1' } });

    expect(made.status).toBe(201);
    expect(made.headers).toMatchObject({ 'Request-Id': 'req-1', 'Cache-Control': 'no-store' });
    expect(made.body).toMatchObject({
      object: 'payment',
      amount: 1000,
      amount_captured: 1000,
      amount_refunded: 0,
      currency: 'EUR',
      status: 'succeeded',
      source: 'tok_ok',
      capture: 'automatic',
      failure: null,
      reference: 'order-1',
      description: 'Shirts',
      metadata: { order: '1' },
      created: Date.UTC(2026, 2, 1, 12) / 1000,
      livemode: false,
    });
    expect(made.headers['Location']).toBe(`../v1/payments/${String(made.body['id'])}`);

    const shown = await harness.get(`/v1/payments/${String(made.body['id'])}`);
    expect(shown.status).toBe(200);
    expect(shown.text).toBe(made.text);
  });

  test('lists its transitions, oldest first, with balanced postings', async () => {
    const made = await harness.pay('k-1');

    const list = await harness.get(`/v1/payments/${String(made.body['id'])}/transitions`);

    const created = Date.UTC(2026, 2, 1, 12) / 1000;
    const caused_by = { type: 'request', request_id: 'req-1', api_key: expect.stringMatching(/^key_[a-z2-7]{16}$/) };
    expect(list.status).toBe(200);
    expect(list.body).toEqual({
      object: 'list',
      data: [
        { sequence: 1, type: 'payment.created', created, caused_by, subject: null, postings: [] },
        {
          sequence: 2,
          type: 'payment.completed',
          created,
          caused_by,
          subject: null,
          postings: [
            { account: 'processor_clearing', direction: 'debit', amount: 1000, currency: 'EUR' },
            { account: 'merchant_payable', direction: 'credit', amount: 1000, currency: 'EUR' },
          ],
        },
      ],
      has_more: false,
    });
  });
});
