import { beforeEach, describe, expect, test } from '@jest/globals';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { storedOperationId, tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { ChargeWindow, ProcessorBooks } from '../../lambdas/payments/use/processor.ts';
import { keepLook } from '../../lambdas/reconciling/use/mismatch-view.ts';
import { dataOf, LedgerDesk } from '../support/ledger-desk.ts';
import { apartBy, lookedAt } from '../support/mismatch-fixtures.ts';
import { PaymentsDesk } from '../support/payments-desk.ts';

const PATH = '/v1/admin/mismatches';
const NOW = Date.UTC(2026, 2, 1, 12) / 1000;
const SINCE = `${PATH}?created_from=${NOW - 3_600}`;

let payments: PaymentsDesk;
let desk: LedgerDesk;
/** The times that the processor was asked for. */
let windows: ChargeWindow[];

beforeEach(() => {
  payments = new PaymentsDesk();
  windows = [];
  desk = new LedgerDesk({ books: [watched(payments.processor)] }, payments);
});

function watched(books: ProcessorBooks): ProcessorBooks {
  return {
    ...books,
    listCharges: (window, limit) => {
      windows.push(window);
      return books.listCharges(window, limit);
    },
  };
}

describe('the mismatches of a time', () => {
  test('are told with both figures and their difference', async () => {
    const payment = await desk.paid('k-1');
    const [own] = payments.processor.charges(payment);
    const order = { amountMinor: 250, currency: 'EUR', source: 'tok_ok', capture: 'automatic' as const };
    const stray = payments.processor.inside.add(
      { ...order, operationId: storedOperationId('by-hand'), paymentId: payment },
      'succeeded',
    );

    const reply = await desk.get(SINCE);

    expect(reply.status).toBe(200);
    expect(reply.body).toEqual({
      object: 'list',
      data: [
        {
          object: 'mismatch',
          payment,
          payment_status: 'succeeded',
          currency: 'EUR',
          processor_amount: 1250,
          ledger_amount: 1000,
          difference: 250,
          charges: [own?.chargeId, stray.chargeId],
          kind: 'amounts_differ',
        },
      ],
      has_more: false,
      compared: { charges: 2, payments: 1 },
    });
  });

  test('are none when the books agree, and the answer says what was compared', async () => {
    await desk.paid('k-1');
    await desk.paid('k-2');

    expect((await desk.get(SINCE)).body).toEqual({
      object: 'list',
      data: [],
      has_more: false,
      compared: { charges: 2, payments: 2 },
    });
  });

  test.each([
    [`?created_from=${NOW - 10}`, NOW - 10, NOW + 1],
    [`?created_to=${NOW - 10}`, NOW - 10 - 86_400, NOW - 10],
    [`?created_from=${NOW - 31 * 86_400}&created_to=${NOW}`, NOW - 31 * 86_400, NOW],
    ['?created_to=10', 0, 10],
  ])(
    'are of the time asked for, and of a day when only its end is given: %s',
    async (search, fromSeconds, untilSeconds) => {
      await desk.get(`${PATH}${search}`);

      expect(windows).toEqual([{ fromSeconds, untilSeconds }]);
    },
  );

  test.each([
    [`created_from=${NOW}&created_to=${NOW}`, 'created_from', 'invalid_request'],
    [`created_from=${NOW + 100}`, 'created_from', 'invalid_request'],
    [`created_from=${NOW - 31 * 86_400 - 1}&created_to=${NOW}`, 'created_from', 'invalid_request'],
    ['created_from=yesterday', 'created_from', 'invalid_request'],
    ['created_to=-1', 'created_to', 'invalid_request'],
    ['created_to=1e9', 'created_to', 'invalid_request'],
    ['limit=0', 'limit', 'invalid_request'],
    ['tenant=ten_other', 'tenant', 'unknown_parameter'],
    ['starting_after=pay_1', 'starting_after', 'invalid_request'],
    [`created_to=${NOW}&starting_after=mis_1`, 'starting_after', 'invalid_request'],
  ])('are refused for %s, naming %s', async (search, param, code) => {
    const reply = await desk.get(`${PATH}?${search}`);

    expect(reply.status).toBe(400);
    expect(reply.body).toMatchObject({ code, param });
    expect(windows).toEqual([]);
  });

  test('of more than a request can compare are refused, with what to do', async () => {
    const charges = Array.from({ length: 5_001 }, () => ({}) as never);
    const crowded = new LedgerDesk(
      { books: [{ ...payments.processor, listCharges: async () => ({ charges }) }] },
      payments,
    );

    expect((await crowded.get(SINCE)).body).toMatchObject({
      status: 400,
      code: 'invalid_request',
      param: 'created_from',
      detail: 'There are more than 5000 charges in this time. Ask for a shorter one.',
    });
  });

  test('are 503 while the processor cannot be read', async () => {
    const away = new LedgerDesk({
      books: [
        {
          ...payments.processor,
          listCharges: () => Promise.reject(new RetryableError('processor_unavailable', 'no answer')),
        },
      ],
    });

    expect((await away.get(SINCE)).body).toMatchObject({ status: 503, code: 'processor_unavailable' });
  });
});

describe('the open mismatches, asked for without a time', () => {
  const keep = (atMs: number, about = lookedAt('k-1'), mismatch = apartBy(1250)) =>
    keepLook({ views: desk.views, digest: systemDigest }, about, mismatch, atMs);

  test('are told as the comparisons of the clock have left them, and the processor is not asked', async () => {
    const about = lookedAt('k-1');
    await keep(NOW * 1000);
    await keep((NOW + 3_600) * 1000);

    const reply = await desk.get(PATH);

    expect(reply.status).toBe(200);
    expect(reply.body).toEqual({
      object: 'list',
      data: [
        {
          id: expect.stringMatching(/^mis_[0-9a-z]+_[a-z2-7]{26}$/),
          object: 'mismatch',
          payment: null,
          payment_status: null,
          currency: 'EUR',
          processor_amount: 1250,
          ledger_amount: 1000,
          difference: 250,
          charges: ['ch_1'],
          kind: 'amounts_differ',
          processor: about.books.name,
          account: about.books.account,
          status: 'confirmed',
          first_seen: NOW,
          last_seen: NOW + 3_600,
        },
      ],
      has_more: false,
    });
    expect(windows).toEqual([]);
  });

  test('come page by page, the caller’s own and nobody’s alone', async () => {
    const { owner: _owner, ...nobodys } = lookedAt('n', { subject: 'ch_9', createdAtMs: 5 });
    await keep(1, nobodys, apartBy(1));
    await keep(1, lookedAt('k', { createdAtMs: 7 }), apartBy(2));
    await keep(1, lookedAt('k', { owner: { tenantId: tenantId('ten_other'), mode: 'test' } }), apartBy(3));
    await keep(1, lookedAt('k', { owner: { tenantId: tenantId('ten_desk'), mode: 'live' } }), apartBy(4));

    const first = await desk.get(`${PATH}?limit=1`);
    expect(first.body).toMatchObject({ data: [{ processor_amount: 2 }], has_more: true });
    const second = await desk.get(`${PATH}?limit=1&starting_after=${String(dataOf(first)[0]?.['id'])}`);
    expect(second.body).toMatchObject({ data: [{ processor_amount: 1 }], has_more: false });
  });
});
