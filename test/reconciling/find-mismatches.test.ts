import { beforeEach, describe, expect, test } from '@jest/globals';
import { parsePaymentId, tenantId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import type { ProcessorBooks } from '../../lambdas/payments/use/processor.ts';
import { compared, DAY_SECONDS, MismatchDesk, START_SECONDS } from '../support/mismatch-desk.ts';

const OTHER_KEY = 'sk_test_zyxwvutsrqponmlkjihgfe';
const as = (key: string) => ({ headers: { Authorization: `Bearer ${key}` } });
const UNKNOWN = parsePaymentId(`pay_${'a'.repeat(32)}`);

let desk: MismatchDesk;

beforeEach(() => {
  desk = new MismatchDesk();
});

describe('books that agree', () => {
  test('have no mismatch: taken, declined, held, refunded, disputed, won, lost, with fees', async () => {
    await desk.paid('k-ok');
    await desk.paid('k-no', { source: 'tok_declined' });
    await desk.paid('k-held', { capture: 'manual' });
    const [given, open, won, lost, back] = [
      await desk.paid('k-given', { amount: 900 }),
      await desk.paid('k-open'),
      await desk.paid('k-won'),
      await desk.paid('k-lost', { currency: 'JPY' }),
      await desk.paid('k-back'),
    ];
    desk.inside.refund(desk.chargeOf(given).chargeId, 300);
    desk.inside.refund(desk.chargeOf(given).chargeId, 100, 'pending');
    desk.inside.dispute(desk.chargeOf(open).chargeId, 1000);
    const wonDispute = desk.inside.dispute(desk.chargeOf(won).chargeId, 1000);
    const lostDispute = desk.inside.dispute(desk.chargeOf(lost).chargeId, 1000);
    const failing = desk.inside.refund(desk.chargeOf(back).chargeId, 500);
    const all = [given, open, won, lost, back];
    for (const id of all) desk.inside.change(desk.chargeOf(id).chargeId, { feeMinor: 59 });
    for (const id of all) await desk.learn(id);
    desk.inside.setDispute(wonDispute, 'won');
    desk.inside.setDispute(lostDispute, 'lost');
    desk.inside.setRefund(failing, 'failed');
    desk.inside.change(desk.chargeOf(back).chargeId, { feeMinor: 30 });
    for (const id of all) await desk.learn(id);

    expect(await desk.find()).toEqual(compared([], 8, 8));
  });

  test('have no mismatch either when the fee is as large as what was taken', async () => {
    const payment = await desk.paid('k-1', { amount: 59 });
    await desk.record(payment, { kind: 'fee', chargeId: desk.chargeOf(payment).chargeId, feeMinor: 59 });
    const late = await desk.paid('k-2', { amount: 59, source: 'tok_async' });
    desk.inside.succeed(desk.chargeOf(late).chargeId);
    desk.inside.change(desk.chargeOf(late).chargeId, { feeMinor: 59 });
    await desk.learn(late);

    expect(await desk.find()).toEqual(compared([], 2, 2));
  });

  test('of nothing at all have no mismatch', async () => {
    expect(await desk.find()).toEqual(compared([], 0, 0));
  });
});

describe('money at the processor that the Ledger does not have', () => {
  test('is a charge made behind our back, in the name of a payment of ours', async () => {
    const payment = await desk.paid('k-1');
    const stray = desk.chargeBeside(payment, 700);

    expect(await desk.find()).toEqual(
      compared(
        [
          {
            paymentId: payment,
            paymentStatus: 'succeeded',
            currency: 'EUR',
            processorMinor: 1700,
            ledgerMinor: 1000,
            chargeIds: [desk.chargeOf(payment).chargeId, stray.chargeId],
            kind: 'amounts_differ',
          },
        ],
        2,
        1,
      ),
    );
    await desk.learn(payment);
    expect(await desk.find()).toEqual(compared([], 2, 1));
  });

  test('is told by currency: a charge beside it in another is missing as a whole', async () => {
    const payment = await desk.paid('k-1');
    const stray = desk.chargeBeside(payment, 700, 'USD');

    expect(await desk.find()).toMatchObject({
      mismatches: [
        {
          currency: 'USD',
          processorMinor: 700,
          ledgerMinor: 0,
          kind: 'missing_in_ledger',
          chargeIds: [stray.chargeId],
        },
      ],
    });
  });

  test('is a payment whose outcome has not arrived yet, and no longer once it has', async () => {
    const payment = await desk.paid('k-1', { source: 'tok_async' });
    desk.inside.succeed(desk.chargeOf(payment).chargeId);

    expect(await desk.find()).toMatchObject({
      mismatches: [
        { paymentId: payment, paymentStatus: 'processing', kind: 'missing_in_ledger', processorMinor: 1000 },
      ],
    });
    await desk.learn(payment);
    expect(await desk.find()).toMatchObject({ mismatches: [] });
  });

  test('is a charge in the name of a payment that nobody knows, or in nobody’s name', async () => {
    invariant(UNKNOWN !== undefined, 'it has the form of an id');
    const named = desk.chargeBeside(UNKNOWN, 300);
    const { processor } = desk.payments;
    const { paymentId: _name, operationId: _operation, ...nameless } = { ...named, chargeId: 'ch_nameless' };
    const declined = { ...nameless, chargeId: 'ch_declined', status: 'declined' as const, capturedMinor: 0 };
    const books: ProcessorBooks = {
      ...processor,
      listCharges: async (window, limit) => ({
        charges: [...(await processor.listCharges(window, limit)).charges, nameless, declined],
      }),
    };

    expect(await desk.find({}, books)).toEqual(
      compared(
        [
          {
            paymentId: UNKNOWN,
            currency: 'EUR',
            processorMinor: 300,
            ledgerMinor: 0,
            chargeIds: [named.chargeId],
            kind: 'missing_in_ledger',
          },
          {
            currency: 'EUR',
            processorMinor: 300,
            ledgerMinor: 0,
            chargeIds: ['ch_nameless'],
            kind: 'missing_in_ledger',
          },
        ],
        3,
        0,
      ),
    );
  });
});

describe('money in the Ledger that the processor does not have', () => {
  test('is a payment whose charge is gone there', async () => {
    const payment = await desk.paid('k-1');
    const { processor } = desk.payments;
    const empty: ProcessorBooks = {
      ...processor,
      chargesOfPayment: async () => [],
      listCharges: async () => ({ charges: [] }),
    };

    expect(await desk.find({}, empty)).toEqual(
      compared(
        [
          {
            paymentId: payment,
            paymentStatus: 'succeeded',
            currency: 'EUR',
            processorMinor: 0,
            ledgerMinor: 1000,
            chargeIds: [],
            kind: 'missing_at_processor',
          },
        ],
        0,
        1,
      ),
    );
  });

  test('is a refund that we have not heard of, or one that failed meanwhile', async () => {
    const payment = await desk.paid('k-1');
    const refund = desk.inside.refund(desk.chargeOf(payment).chargeId, 400);
    expect(await desk.find()).toMatchObject({
      mismatches: [{ processorMinor: 600, ledgerMinor: 1000, kind: 'amounts_differ' }],
    });

    await desk.learn(payment);
    expect(await desk.find()).toMatchObject({ mismatches: [] });

    desk.inside.setRefund(refund, 'failed');
    expect(await desk.find()).toMatchObject({
      mismatches: [{ processorMinor: 1000, ledgerMinor: 600, kind: 'amounts_differ' }],
    });
  });

  test('is what a correction made wrong, and is right again once that is reversed', async () => {
    const payment = await desk.paid('k-1');
    desk.inside.change(desk.chargeOf(payment).chargeId, { feeMinor: 59 });
    await desk.learn(payment);
    await desk.correct('c-1', { payment, reverses: 2 });
    expect(await desk.find()).toMatchObject({
      mismatches: [{ processorMinor: 1000, ledgerMinor: 0, kind: 'amounts_differ' }],
    });

    const { sequence } = (await desk.correct('c-2', { payment, reverses: 4 })).body;
    expect(sequence).toBe(5);
    expect(await desk.find()).toMatchObject({ mismatches: [] });
  });
});

describe('a correction', () => {
  const legs = (debit: string, credit: string, amount: number) => [
    { account: debit, direction: 'debit', amount },
    { account: credit, direction: 'credit', amount },
  ];

  test('of clearing counts: by it an operator sets right what differed', async () => {
    const payment = await desk.paid('k-1');
    desk.inside.change(desk.chargeOf(payment).chargeId, { capturedMinor: 950 });
    expect(await desk.find()).toMatchObject({ mismatches: [{ processorMinor: 950, ledgerMinor: 1000 }] });

    await desk.correct('c-1', { payment, postings: legs('corrections', 'processor_clearing', 50) });
    expect(await desk.find()).toMatchObject({ mismatches: [] });
  });

  test('of a fee does not count, as no fee does, and neither does its reversal', async () => {
    const payment = await desk.paid('k-1');
    await desk.correct('c-1', { payment, postings: legs('fees', 'processor_clearing', 30) });
    await desk.correct('c-2', { payment, postings: legs('fees', 'corrections', 30) });
    expect(await desk.find()).toMatchObject({ mismatches: [] });

    await desk.correct('c-3', { payment, reverses: 3 });
    expect(await desk.find()).toMatchObject({ mismatches: [] });
  });
});

describe('the time asked for', () => {
  test('finds a payment by its charge or by its entry, and then compares the whole of it', async () => {
    const payment = await desk.paid('k-1', { source: 'tok_async' });
    desk.payments.clock.advance(DAY_SECONDS * 1000);
    desk.inside.succeed(desk.chargeOf(payment).chargeId);
    await desk.learn(payment);
    desk.inside.refund(desk.chargeOf(payment).chargeId, 1);
    const byCharge = { fromSeconds: START_SECONDS, untilSeconds: START_SECONDS + 1 };
    const byEntry = { fromSeconds: START_SECONDS + 10, untilSeconds: START_SECONDS + 2 * DAY_SECONDS };
    const byNothing = { fromSeconds: START_SECONDS + 10, untilSeconds: START_SECONDS + 20 };

    const found = { mismatches: [{ paymentId: payment, processorMinor: 999, ledgerMinor: 1000 }] };
    expect(await desk.find(byCharge)).toMatchObject(found);
    expect(await desk.find(byEntry)).toMatchObject(found);
    expect(await desk.find(byNothing)).toEqual(compared([], 0, 0));
  });

  test('is read to its last page', async () => {
    const payments = [await desk.paid('k-1'), await desk.paid('k-2'), await desk.paid('k-3')];
    const charges = payments.map((id) => desk.chargeOf(id));
    const asked: (string | undefined)[] = [];
    const books: ProcessorBooks = {
      ...desk.payments.processor,
      listCharges: async ({ cursor }) => {
        asked.push(cursor);
        const at = Number(cursor ?? 0);
        const next = at + 1 < charges.length ? { next: String(at + 1) } : {};
        return { charges: charges.slice(at, at + 1), ...next };
      },
    };

    expect(await desk.find({}, books)).toEqual(compared([], 3, 3));
    expect(asked).toEqual([undefined, '1', '2']);
  });
});

describe('what is told', () => {
  test('are the caller’s own payments: another tenant’s and another mode’s are not even counted', async () => {
    desk.payments.registerKey(OTHER_KEY, { tenantId: tenantId('ten_other') });
    desk.payments.registerKey('sk_live_0123456789abcdefghijkl', { mode: 'live' });
    const theirs = await desk.paid('k-1', {}, as(OTHER_KEY));
    const live = await desk.paid('k-1', {}, as('sk_live_0123456789abcdefghijkl'));
    desk.chargeBeside(theirs, 700);
    desk.chargeBeside(live, 800);

    expect(await desk.find()).toEqual(compared([], 0, 0));
  });

  test.each([['name'], ['account']])(
    'are payments that were sent to these books: another %s is passed over',
    async (what) => {
      const payment = await desk.paid('k-1');
      desk.chargeBeside(payment, 700);

      expect(await desk.find({}, { ...desk.payments.processor, [what]: 'another' })).toEqual(compared([], 0, 0));
    },
  );

  test('is as many as asked for, and that there are more', async () => {
    for (const key of ['k-1', 'k-2', 'k-3']) desk.chargeBeside(await desk.paid(key), 700 + Number(key.slice(2)));

    const some = await desk.find({ limit: 2 });
    const all = await desk.find({ limit: 3 });

    expect(some).toMatchObject({ hasMore: true, charges: 6, payments: 3 });
    expect(all).toMatchObject({ hasMore: false });
    invariant(some.kind === 'compared' && all.kind === 'compared', 'there are few');
    expect(some.mismatches).toEqual(all.mismatches.slice(0, 2));
  });
});
