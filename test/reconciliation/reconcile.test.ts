/** Tests the guarantee "matching books". */
import { beforeEach, describe, expect, test } from '@jest/globals';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import type { ProcessorCharge } from '../../lambdas/payments/domain/processor-charge.ts';
import { parsePaymentId } from '../../lambdas/payments/ids.ts';
import type { ProcessorBooks } from '../../lambdas/payments/use/processor.ts';
import type { RecentOutcomes } from '../../lambdas/payments/use/transition-reader.ts';
import { callback, paymentIdFor } from '../payments/payment-fixtures.ts';
import { whole } from '../support/slice.ts';
import { as, LIVE_KEY, OTHER_KEY } from '../world/api.ts';
import { createSandboxInProcess } from '../world/sandbox-in-process.ts';
import { ReconcileHarness } from './reconcile-harness.ts';

const UNKNOWN = parsePaymentId(`pay_${'a'.repeat(32)}`);
const HOUR = 60;
const DAY = 24 * HOUR;

let harness: ReconcileHarness;

beforeEach(() => {
  harness = new ReconcileHarness();
});

/** One charge per page. Reads each list of the given books only once. */
function paged(books: ProcessorBooks): ProcessorBooks {
  const lists = new Map<string, readonly ProcessorCharge[]>();
  return {
    ...books,
    listCharges: async ({ cursor, ...window }, limit) => {
      const name = JSON.stringify(window);
      if (cursor === undefined) lists.set(name, (await books.listCharges(window, limit)).charges);
      const charges = lists.get(name) ?? [];
      const at = Number(cursor ?? 0);
      return { charges: charges.slice(at, at + 1), ...(at + 1 < charges.length ? { next: String(at + 1) } : {}) };
    },
  };
}

describe('books that agree', () => {
  test('leave the view empty, and report a count of zero', async () => {
    await harness.paid('k-1');
    await harness.paid('k-2', { source: 'tok_declined' });
    await harness.paid('k-3', { capture: 'manual' });
    await harness.paid('k-4', { source: 'tok_async' });
    expect(await harness.recent()).toMatchObject({ done: 4, left: 0, failed: 0 });
    expect(harness.views.all()).toEqual([]);
    expect(harness.counted).toEqual([{ confirmed: 0, suspected: 0 }]);
  });

  test('need 11 reads and 1 list request for an hour without payments, and about 8 reads for each day of the daily comparison', async () => {
    await harness.recent();
    harness.wait(HOUR);
    const { counts, tools } = harness.metered();
    await harness.recent(tools);
    expect(counts).toEqual({ reads: 11, lists: 1, searches: 0, charges: 0 });
    await harness.days(tools);
    expect(counts.reads).toBeLessThanOrEqual(11 + 7 * 8 + 2);
    expect(counts.lists).toBe(2);
  });

  test('need one read per new payment, about one list request per 80 payments, and nothing for earlier hours', async () => {
    await harness.recent();
    const { counts, tools } = harness.metered();
    const { hours, payments } = whole({ hours: 3, payments: 150 }, { slice: { hours: 2, payments: 90 } });
    for (let hour = 0; hour < hours; hour += 1) {
      for (let payment = 0; payment < payments; payment += 1) {
        await harness.paid(`k-${hour}-${payment}`);
        harness.clock.advance(2_250_000 / payments);
      }
      harness.wait(22);
      Object.assign(counts, { reads: 0, lists: 0 });
      expect(await harness.recent(tools)).toMatchObject({ done: payments });
      expect(counts.reads).toBeLessThanOrEqual(payments + 5 * 8 + 20);
      expect(counts.lists).toBeLessThanOrEqual(5);
    }
    expect(counts).toMatchObject({ searches: 0, charges: 0 });
  });

  test('need one read by id and no search for a charge listed in an earlier hour', async () => {
    const payment = await harness.paid('k-1');
    const { chargeId } = harness.chargeOf(payment);
    await harness.inside.refund(chargeId, 100);
    await harness.world.learn(payment);
    harness.wait(HOUR / 2);
    await harness.recent();
    harness.wait(HOUR);
    await harness.inside.refund(chargeId, 200);
    await harness.world.learn(payment);
    const { counts, tools } = harness.metered();
    // The charge is in the list of an earlier hour, so it is read by its id.
    expect(await harness.recent(tools)).toMatchObject({ done: 1, left: 0, failed: 0 });
    expect(counts).toMatchObject({ searches: 0, charges: 1 });
    expect(harness.views.all()).toEqual([]);
  });
});

describe('the mark up to which all outcomes are compared', () => {
  const away = (kind: 'readCharge' | 'chargesOfPayment'): ProcessorBooks => ({
    ...harness.processor,
    listCharges: async () => ({ charges: [] }),
    [kind]: () => Promise.reject(new RetryableError('processor_unavailable', 'no response')),
  });
  const mark = async () => Number(await harness.store.jobMarks.readMark('reconcile-recent'));

  test('stays before a part of the run with an uncompared payment, and the next run compares that payment', async () => {
    await harness.recent();
    const before = await mark();
    harness.wait(20);
    const payment = await harness.paid('k-1');
    await harness.inside.refund(harness.chargeOf(payment).chargeId, 300);
    harness.wait(HOUR);

    expect(await harness.recent({ books: [away('readCharge')] })).toMatchObject({ done: 0, failed: 1 });
    expect(await mark()).toBe(before);
    expect(harness.reported).toMatchObject([{ code: 'processor_unavailable' }]);
    expect(harness.views.all()).toEqual([]);
    harness.wait(10 * HOUR);
    expect(await harness.recent()).toMatchObject({ done: 1, failed: 0 });
    expect(harness.differences()).toMatchObject([{ subject: payment }]);
    expect(await mark()).toBeGreaterThan(before);
  });

  test('stays fifteen minutes in the past, so that a late outcome is compared', async () => {
    const payment = await harness.paid('k-1');
    await harness.inside.refund(harness.chargeOf(payment).chargeId, 300);
    harness.wait(12);
    const unseen: ProcessorBooks = { ...harness.processor, listCharges: async () => ({ charges: [] }) };
    const outcomes: RecentOutcomes = { outcomesAfter: async () => ({ outcomes: [], isLast: true }) };
    expect(await harness.recent({ books: [unseen], outcomes })).toMatchObject({ done: 0 });
    expect(harness.clock.nowMs() - (await mark())).toBe(15 * 60_000);
    harness.wait(HOUR);
    await harness.recent({ books: [unseen] });
    expect(harness.differences()).toMatchObject([{ subject: payment }]);
  });

  /**
   * The writer's clock sets the time of the outcome, so the outcome appears five minutes late by the database's clock.
   */
  test.each([-5, 0, 5])(
    'stays before an outcome from a clock that is five minutes slow, even with a worker’s clock %d minutes off',
    async (minutes) => {
      const payment = await harness.paid('k-1');
      await harness.inside.refund(harness.chargeOf(payment).chargeId, 300);
      harness.wait(5);
      const unseen: ProcessorBooks = { ...harness.processor, listCharges: async () => ({ charges: [] }) };
      const outcomes: RecentOutcomes = { outcomesAfter: async () => ({ outcomes: [], isLast: true }) };
      const clock = { nowMs: () => harness.clock.nowMs() + minutes * 60_000 };
      expect(await harness.recent({ books: [unseen], outcomes, clock })).toMatchObject({ done: 0 });
      harness.wait(HOUR);
      await harness.recent({ books: [unseen], clock });
      expect(harness.differences()).toMatchObject([{ subject: payment }]);
    },
  );

  test('does not advance past a part of the run if the page’s deadline passes before all payments of the part are compared', async () => {
    await harness.recent();
    const before = await mark();
    harness.wait(20);
    for (let payment = 0; payment < 12; payment += 1) await harness.paid(`k-${payment}`);
    harness.wait(HOUR);
    const deadlineMs = harness.clock.nowMs() + 10 * 60_000;
    const effects = {
      queueOrNote: harness.store.queueOrNote.bind(harness.store),
      listTransitions: (...asked: Parameters<typeof harness.store.listTransitions>) => {
        harness.wait(11);
        return harness.store.listTransitions(...asked);
      },
    };
    expect(await harness.recent({ effects }, { deadlineMs })).toMatchObject({ done: 1, failed: 0 });
    expect(await mark()).toBe(before);
  });

  test('stays before a failed part of the run even if later parts succeed, but for at most 25 hours', async () => {
    await harness.recent();
    harness.wait(20);
    const beginMs = harness.clock.nowMs();
    for (let payment = 0; payment < 12; payment += 1) {
      await harness.paid(`k-${payment}`);
      harness.wait(2);
    }
    harness.wait(30);
    let looks = 0;
    const effects = {
      queueOrNote: harness.store.queueOrNote.bind(harness.store),
      listTransitions: (...asked: Parameters<typeof harness.store.listTransitions>) => {
        looks += 1;
        if (looks === 1) return Promise.reject(new RetryableError('store_unavailable', 'no response'));
        return harness.store.listTransitions(...asked);
      },
    };
    const run = await harness.recent({ books: [paged(harness.processor)], effects });
    expect(run.failed).toBe(1);
    expect(run.pages).toBeGreaterThan(3);
    expect(await mark()).toBeLessThan(beginMs);
    harness.wait(3 * DAY);
    await harness.recent();
    expect(harness.clock.nowMs() - (await mark())).toBe(15 * 60_000);
  });
});

describe('a difference', () => {
  test('is suspected by the first comparison, confirmed by the second, and removed once the books agree', async () => {
    const payment = await harness.paid('k-1');
    const stray = await harness.makeStrayCharge(payment, 700);
    const firstSeen = harness.clock.nowMs();

    await harness.recent();
    expect(harness.differences()).toMatchObject([
      {
        status: 'suspected',
        owner: { tenantId: 'ten_desk', mode: 'test' },
        mismatch: {
          paymentId: payment,
          paymentStatus: 'succeeded',
          currency: 'EUR',
          processorMinor: 1700,
          ledgerMinor: 1000,
          chargeIds: [harness.chargeOf(payment).chargeId, stray.chargeId],
          kind: 'amounts_differ',
        },
      },
    ]);
    harness.wait(HOUR);
    await harness.recent();
    const [open] = harness.differences();
    expect(open).toMatchObject({ status: 'confirmed' });
    invariant(open !== undefined, 'the mismatch is missing');
    expect(open.firstSeenAtMs - firstSeen).toBeLessThanOrEqual(2 * 60_000);
    expect(open.lastSeenAtMs - open.firstSeenAtMs).toBeGreaterThanOrEqual(HOUR * 60_000);

    await harness.world.learn(payment);
    harness.wait(HOUR);
    await harness.recent();

    expect(harness.views.all()).toEqual([]);
    expect(harness.changes).toEqual(['suspected 1700/1000', 'confirmed 1700/1000', 'gone 1700/1000']);
    expect(harness.counted).toEqual([
      { confirmed: 0, suspected: 1 },
      { confirmed: 1, suspected: 0 },
      { confirmed: 0, suspected: 0 },
    ]);
  });

  test('raises no alarm while a payment is changing, and is removed by the next comparison', async () => {
    const payment = await harness.paid('k-1');
    await harness.inside.refund(harness.chargeOf(payment).chargeId, 400);
    await harness.recent();
    await harness.world.learn(payment);
    harness.wait(HOUR);
    await harness.recent();

    expect(harness.changes).toEqual(['suspected 600/1000', 'gone 600/1000']);
    expect(harness.counted.map(({ confirmed }) => confirmed)).toEqual([0, 0]);
  });

  test('is never confirmed if it changes at every comparison', async () => {
    const payment = await harness.paid('k-1');
    const { chargeId } = harness.chargeOf(payment);
    for (const amount of [100, 200, 300]) {
      await harness.inside.refund(chargeId, amount);
      await harness.recent();
      harness.wait(HOUR);
    }

    expect(harness.counted.map(({ confirmed }) => confirmed)).toEqual([0, 0, 0]);
    await harness.recent();
    expect(harness.counted.at(-1)).toEqual({ confirmed: 1, suspected: 0 });
  });

  test('is not confirmed by two comparisons in quick succession, and stays confirmed if its amount changes', async () => {
    const payment = await harness.paid('k-1');
    await harness.makeStrayCharge(payment, 700);
    await harness.recent();
    harness.wait(5);
    await harness.recent();
    expect(harness.counted.at(-1)).toEqual({ confirmed: 0, suspected: 1 });

    harness.wait(5);
    await harness.recent();
    expect(harness.counted.at(-1)).toEqual({ confirmed: 1, suspected: 0 });

    await harness.makeStrayCharge(payment, 50);
    await harness.recent();
    expect(harness.differences()).toMatchObject([{ status: 'confirmed', mismatch: { processorMinor: 1750 } }]);
  });

  test('is stored in one row for each currency, and only in the list of its own tenant and mode', async () => {
    harness.registerKey(OTHER_KEY, { tenantId: tenantId('ten_other') });
    const ours = await harness.paid('k-1');
    await harness.makeStrayCharge(ours, 700);
    await harness.makeStrayCharge(ours, 700, 'USD');
    await harness.makeStrayCharge(await harness.paid('k-1', {}, as(OTHER_KEY)), 800);
    const live = createSandboxInProcess({
      clock: harness.clock,
      mode: 'live',
      newId: (prefix, n) => `${prefix}live${n}`,
    });
    const inLive = harness.with({ processor: live });
    inLive.registerKey(LIVE_KEY, { mode: 'live' });
    const paymentId = await inLive.paid('k-1', {}, as(LIVE_KEY));
    await live.inside.charge({ operationId: 'by-hand', paymentId, amountMinor: 900, currency: 'EUR' });

    const books = [harness.processor, live];
    await harness.recent({ books }, { doubled: true });
    await harness.recent({ books });
    const listed = (list: string) =>
      harness.listed(list).map(({ mismatch }) => `${mismatch.processorMinor} ${mismatch.currency}`);
    expect(listed('MISMATCH#ten_desk#test').toSorted()).toEqual(['1700 EUR', '700 USD']);
    expect(listed('MISMATCH#ten_desk#live')).toEqual(['1900 EUR']);
    expect(listed('MISMATCH#ten_other#test')).toEqual(['1800 EUR']);
    expect(harness.differences()).toHaveLength(4);
    expect(harness.changes).toHaveLength(4);
  });

  test('is replaced by a difference of the right payment after a charge’s wrong payment id is corrected', async () => {
    const wrong = await harness.paid('k-1');
    const right = await harness.paid('k-2');
    const stray = await harness.makeStrayCharge(wrong, 700);
    await harness.recent();
    harness.wait(HOUR);
    await harness.recent();
    expect(harness.differences()).toMatchObject([{ status: 'confirmed', subject: wrong }]);

    const { processor } = harness;
    const renamed = (charge: ProcessorCharge) =>
      charge.chargeId === stray.chargeId ? { ...charge, paymentId: right } : charge;
    const books: ProcessorBooks = {
      ...processor,
      readCharge: async (id, limit) => {
        const charge = await processor.readCharge(id, limit);
        return charge === undefined ? undefined : renamed(charge);
      },
      chargesOfPayment: async (id, limit) =>
        (await Promise.all([wrong, right].map((each) => processor.chargesOfPayment(each, limit))))
          .flat()
          .map(renamed)
          .filter(({ paymentId }) => paymentId === id),
      listCharges: async (window, limit) => ({
        charges: (await processor.listCharges(window, limit)).charges.map(renamed),
      }),
    };
    harness.wait(DAY);
    await harness.days({ books: [books] });
    expect(harness.differences()).toMatchObject([{ status: 'suspected', subject: right }]);
  });

  test('is found if a later hour lists a second charge of the same amount', async () => {
    const payment = await harness.paid('k-1');
    harness.wait(HOUR);
    await harness.recent();
    harness.wait(HOUR);
    await harness.makeStrayCharge(payment, 1_000);
    harness.wait(HOUR / 2);
    await harness.recent();
    expect(harness.differences()).toMatchObject([
      { subject: payment, mismatch: { processorMinor: 2_000, ledgerMinor: 1_000 } },
    ]);
  });

  test('is found without a new outcome of the payment if only the processor has the money', async () => {
    const payment = await harness.paid('k-1', { source: 'tok_async' });
    harness.wait(2 * DAY);
    await harness.recent();
    expect(harness.differences()).toEqual([]);

    await harness.inside.approve(harness.chargeOf(payment).chargeId);
    await harness.days();
    expect(harness.differences()).toMatchObject([{ mismatch: { kind: 'missing_in_ledger', processorMinor: 1000 } }]);
  });

  test('is found through the outcome of its payment if the processor’s books show no charge', async () => {
    const payment = await harness.paid('k-1');
    const { processor } = harness;
    const empty: ProcessorBooks = {
      ...processor,
      readCharge: async () => undefined,
      chargesOfPayment: async () => [],
      listCharges: async () => ({ charges: [] }),
    };
    await harness.recent({ books: [empty] });

    expect(harness.differences()).toMatchObject([
      { mismatch: { paymentId: payment, kind: 'missing_at_processor', ledgerMinor: 1000 } },
    ]);
  });

  test('is found through the payment’s previous outcome if a slow clock dated the newest outcome before the window', async () => {
    const payment = await harness.paid('k-1');
    const { chargeId } = harness.chargeOf(payment);
    harness.wait(-10);
    await harness.inside.refund(chargeId, 300);
    await harness.world.deliver(callback('evt_1', chargeId));
    harness.wait(10);
    await harness.inside.refund(chargeId, 200);
    harness.wait(25 * HOUR - 5);
    await harness.recent({ books: [{ ...harness.processor, listCharges: async () => ({ charges: [] }) }] });
    expect(harness.differences()).toMatchObject([{ subject: payment, mismatch: { processorMinor: 500 } }]);
  });

  test('stays open while its charge appears neither in the list nor in the search', async () => {
    const payment = await harness.paid('k-1');
    await harness.makeStrayCharge(payment, 700);
    await harness.recent();
    harness.wait(2 * DAY);
    const behind = { listCharges: async () => ({ charges: [] }), chargesOfPayment: async () => [] };
    await harness.recent({ books: [{ ...harness.processor, ...behind }] });
    expect(harness.differences()).toMatchObject([{ subject: payment, status: 'confirmed' }]);
  });

  test('is removed once it is resolved, even for a payment outside the window', async () => {
    const payment = await harness.paid('k-1');
    await harness.makeStrayCharge(payment, 700);
    await harness.recent();
    harness.wait(30 * DAY);
    await harness.recent();
    expect(harness.differences()).toMatchObject([{ status: 'confirmed' }]);

    await harness.world.learn(payment);
    harness.wait(2 * DAY);
    await harness.recent();
    expect(harness.differences()).toEqual([]);
  });
});

describe('a charge that belongs to no payment of its processor account', () => {
  test('is listed separately for operators, with the payment id in its metadata, until it is refunded', async () => {
    invariant(UNKNOWN !== undefined, 'the payment id is malformed');
    const named = await harness.makeStrayCharge(UNKNOWN, 300);
    const { processor } = harness;
    const { paymentId: _name, operationId: _operation, ...nameless } = { ...named, chargeId: 'ch_nameless' };
    const all = () => processor.inside.all;
    let extra = [nameless, { ...nameless, chargeId: 'ch_declined', status: 'declined' as const, capturedMinor: 0 }];
    const books: ProcessorBooks = {
      ...processor,
      readCharge: async (id) => [...all(), ...extra].find(({ chargeId }) => chargeId === id),
      listCharges: async () => ({ charges: [...all(), ...extra] }),
    };

    expect(await harness.recent({ books: [books] })).toMatchObject({ done: 3, left: 0 });
    harness.wait(HOUR);
    await harness.recent({ books: [books] });
    expect(
      harness.listed('MISMATCH#').map(({ subject, status, mismatch }) => [subject, status, mismatch.paymentId]),
    ).toEqual(
      expect.arrayContaining([
        [named.chargeId, 'confirmed', UNKNOWN],
        ['ch_nameless', 'confirmed', undefined],
      ]),
    );

    await harness.inside.refund(named.chargeId, 300);
    extra = [];
    harness.wait(2 * DAY);
    await harness.recent({ books: [books] });
    expect(harness.views.all()).toEqual([]);
  });

  test('becomes a mismatch of the payment that it names as soon as that payment exists', async () => {
    const { chargeId } = await harness.makeStrayCharge(paymentIdFor('k-1', 'ten_desk'), 700);
    await harness.recent();
    expect(harness.differences()).toMatchObject([{ subject: chargeId }]);
    const payment = await harness.paid('k-1');
    harness.wait(HOUR);
    await harness.recent();
    expect(harness.differences()).toMatchObject([{ subject: payment, mismatch: { processorMinor: 1_700 } }]);
  });

  test('is a mismatch of the payment in its metadata, even if that payment was made with another processor account', async () => {
    const payment = await harness.paid('k-1');
    const { processor } = harness;
    const other: ProcessorBooks = { ...processor, account: 'acct_other' };

    await harness.recent({ books: [processor, other] });

    expect(harness.differences()).toMatchObject([
      {
        books: { account: 'acct_other' },
        owner: { tenantId: 'ten_desk' },
        mismatch: { paymentId: payment, processorMinor: 1000, ledgerMinor: 0, kind: 'missing_in_ledger' },
      },
    ]);
  });
});

describe('a run', () => {
  test('compares the payments of all pages of all books, although each page continues from a cursor', async () => {
    const payments: string[] = [];
    for (let payment = 0; payment < 12; payment += 1) {
      payments.push(await harness.paid(`k-${payment}`));
      harness.clock.advance(payment % 3 === 0 ? 0 : 7_000);
    }
    for (const id of payments) {
      const charge = harness.processor.inside.all.find(({ paymentId }) => paymentId === id);
      await harness.inside.refund(charge?.chargeId ?? '', 100);
    }
    harness.wait(DAY);
    const books = [
      paged(harness.processor),
      { ...harness.processor, account: 'acct_z', listCharges: async () => ({ charges: [] }) },
    ];
    const run = await harness.days({ books });
    expect(run.pages).toBeGreaterThan(3);
    expect(run).toMatchObject({ left: 0, failed: 0 });
    expect(
      harness
        .differences()
        .map(({ subject }) => subject)
        .toSorted(),
    ).toEqual(payments.toSorted());
  });

  test('finds every charge at list boundaries, even if charges created in the same second fill all pages of a list', async () => {
    invariant(UNKNOWN !== undefined, 'the payment id is malformed');
    for (let charge = 0; charge < 98; charge += 1) {
      await harness.makeStrayCharge(UNKNOWN, 100 + charge);
      // Nine of the charges are created in the same second.
      if (charge < 60 || charge >= 68) harness.clock.advance(1_000);
    }
    expect(await harness.recent({ books: [paged(harness.processor)] })).toMatchObject({ left: 0, failed: 0 });
    expect(harness.differences()).toHaveLength(98);
  });

  test('compares every payment, even if a part of the run ends between two outcomes in the same second', async () => {
    const payments: string[] = [];
    for (let payment = 0; payment < 7; payment += 1) payments.push(await harness.paid(`k-${payment}`));
    harness.wait(10);
    const outcomes: RecentOutcomes = {
      outcomesAfter: (position, untilMs, limit) =>
        harness.store.ledger.outcomesAfter(position, untilMs, Math.min(limit, 2)),
    };
    const empty: ProcessorBooks = {
      ...harness.processor,
      readCharge: async () => undefined,
      chargesOfPayment: async () => [],
      listCharges: async () => ({ charges: [] }),
    };
    expect(await harness.recent({ books: [empty], outcomes })).toMatchObject({ done: 7 });
    expect(
      harness
        .differences()
        .map(({ subject }) => subject)
        .toSorted(),
    ).toEqual(payments.toSorted());
  });

  test('keeps a mismatch, and leaves payments uncompared, if their processor is no longer configured', async () => {
    const payment = await harness.paid('k-1');
    const { processor } = harness;
    const second = {
      ...processor,
      name: 'second',
      listCharges: async () => ({ charges: [harness.chargeOf(payment)] }),
    };
    await harness.recent({ books: [processor, second] });
    expect(harness.differences()).toHaveLength(1);
    harness.wait(HOUR);

    expect(await harness.recent()).toMatchObject({ done: 1, left: 1 });
    harness.wait(DAY);
    expect(await harness.days({ books: [] })).toMatchObject({ left: 2 });
    expect(harness.differences()).toHaveLength(1);
  });

  test('fails if a list cannot be read', async () => {
    const away: ProcessorBooks = {
      ...harness.processor,
      listCharges: () => Promise.reject(new RetryableError('processor_unavailable', 'no response')),
    };
    await expect(harness.recent({ books: [away] })).rejects.toMatchObject({ code: 'processor_unavailable' });
  });

  test('reads a charge by id if neither list nor search includes it yet', async () => {
    await harness.paid('k-1');
    const behind: ProcessorBooks = {
      ...harness.processor,
      listCharges: async () => ({ charges: [] }),
      chargesOfPayment: async () => [],
    };
    await harness.recent({ books: [behind] });
    expect(harness.differences()).toEqual([]);
  });

  test('finds each difference once, although lists show several charges of a payment', async () => {
    const payment = await harness.paid('k-1');
    for (const amount of [100, 200, 300]) await harness.makeStrayCharge(payment, amount);
    harness.wait(1);
    await harness.recent();
    expect(harness.differences()).toMatchObject([{ mismatch: { processorMinor: 1600, ledgerMinor: 1000 } }]);
    expect(harness.changes).toEqual(['suspected 1600/1000']);
  });

  test('stops at its deadline, and leaves the remaining work to a later run', async () => {
    await harness.paid('k-1');
    expect(await harness.recent({}, { deadlineMs: 0 })).toMatchObject({ done: 0, left: 2 });
    expect(harness.counted).toEqual([]);
  });
});
