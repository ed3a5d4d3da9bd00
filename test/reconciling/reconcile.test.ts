import { beforeEach, describe, expect, test } from '@jest/globals';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { parsePaymentId, tenantId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import type { ProcessorCharge } from '../../lambdas/payments/domain/processor-charge.ts';
import { LedgerTransitions } from '../../lambdas/payments/store/ledger-transitions.ts';
import type { ProcessorBooks } from '../../lambdas/payments/use/processor.ts';
import { reconcileRecent } from '../../lambdas/reconciling/use/reconcile.ts';
import { RUN } from '../support/causes.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { as, LIVE_KEY, OTHER_KEY } from '../world/api.ts';
import { createSandboxInProcess } from '../world/sandbox-in-process.ts';
import { TABLES } from '../world/tables.ts';
import { ReconcileHarness } from './reconcile-harness.ts';

const UNKNOWN = parsePaymentId(`pay_${'a'.repeat(32)}`);
const HOUR = 60;
const DAY = 24 * HOUR;

let harness: ReconcileHarness;

beforeEach(() => {
  harness = new ReconcileHarness();
});

/** The same books with one charge per page. */
function paged(books: ProcessorBooks, asked: (string | undefined)[] = []): ProcessorBooks {
  return {
    ...books,
    listCharges: async ({ cursor, ...window }, limit) => {
      asked.push(cursor);
      const { charges } = await books.listCharges(window, limit);
      const at = Number(cursor ?? 0);
      return {
        charges: charges.slice(at, at + 1),
        ...(at + 1 < charges.length ? { next: String(at + 1) } : {}),
      };
    },
  };
}

describe('books that agree', () => {
  test('leave the view empty, and the count of zero is reported', async () => {
    await harness.paid('k-1');
    await harness.paid('k-2', { source: 'tok_declined' });
    await harness.paid('k-3', { capture: 'manual' });
    await harness.paid('k-4', { source: 'tok_async' });

    expect(await harness.recent()).toMatchObject({ done: 4, left: 0, failed: 0 });
    expect(harness.views.all()).toEqual([]);
    expect(harness.counted).toEqual([{ confirmed: 0, suspected: 0 }]);
  });

  test.each([
    ['recent', 2],
    ['days', 7],
  ] as const)('cost one query for each shard of a day without outcomes (%s)', async (run, days) => {
    let queries = 0;
    const { store, clock } = harness;
    const client = store.database.clientWith((command, apply) => {
      if (command === 'QueryCommand') queries += 1;
      return apply();
    });
    const outcomes = new LedgerTransitions(client, TABLES, { clock, entropy: countingEntropy() });
    await harness[run]({ outcomes });
    expect(queries).toBe(days * 8);
    queries = 0;
    clock.advance(-HOUR * 60_000);
    for (let payment = 0; payment < 10; payment += 1) await harness.paid(`k-${payment}`);
    clock.advance(DAY * 60_000);
    // Pages of two.
    expect(await harness[run]({ outcomes })).toMatchObject({ done: 10 });
    expect(queries).toBeLessThanOrEqual((days + 10 / 2 + 1) * 8);
  });

  test('are compared payment by payment, each once, for any history and either direction', async () => {
    const payment = await harness.paid('k-1');
    const { chargeId } = harness.chargeOf(payment);
    await harness.inside.refund(chargeId, 100);
    await harness.world.learn(payment);
    harness.wait(5);
    await harness.inside.refund(chargeId, 200);
    await harness.world.learn(payment);
    const compared: string[] = [];
    const { processor } = harness;
    const books: ProcessorBooks = {
      ...processor,
      chargesOfPayment: (id, limit) => {
        compared.push(id);
        return processor.chargesOfPayment(id, limit);
      },
    };

    const run = await harness.recent({ books: [books] });

    expect(run.names).toEqual([chargeId, `${payment}#000002`, `${payment}#000003`, `${payment}#000004`, 'count']);
    expect(run).toMatchObject({ done: 1, left: 0, failed: 0 });
    expect(compared).toEqual([payment]);
  });
});

describe('a difference', () => {
  test('is suspected by one look, confirmed by a second one, and removed by the first that finds no difference', async () => {
    const payment = await harness.paid('k-1');
    const stray = await harness.chargeBeside(payment, 700);
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
    invariant(open !== undefined, 'it is there');
    expect(open.firstSeenAtMs - firstSeen).toBeLessThanOrEqual(2 * 60_000);
    expect(open.lastSeenAtMs - open.firstSeenAtMs).toBeGreaterThanOrEqual(HOUR * 60_000);

    await harness.world.learn(payment);
    harness.wait(HOUR);
    await harness.recent();

    expect(harness.views.all()).toEqual([]);
    expect(harness.told).toEqual(['suspected 1700/1000', 'confirmed 1700/1000', 'gone 1700/1000']);
    expect(harness.counted).toEqual([
      { confirmed: 0, suspected: 1 },
      { confirmed: 1, suspected: 0 },
      { confirmed: 0, suspected: 0 },
    ]);
  });

  test('of a payment that is changing raises no alarm and is gone at the next look', async () => {
    const payment = await harness.paid('k-1');
    await harness.inside.refund(harness.chargeOf(payment).chargeId, 400);
    await harness.recent();
    await harness.world.learn(payment);
    harness.wait(HOUR);
    await harness.recent();

    expect(harness.told).toEqual(['suspected 600/1000', 'gone 600/1000']);
    expect(harness.counted.map(({ confirmed }) => confirmed)).toEqual([0, 0]);
  });

  test('that differs at every look is never confirmed', async () => {
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

  test('is not confirmed by two looks close together, and stays confirmed when it changes', async () => {
    const payment = await harness.paid('k-1');
    await harness.chargeBeside(payment, 700);
    await harness.recent();
    harness.wait(5);
    await harness.recent();
    expect(harness.counted.at(-1)).toEqual({ confirmed: 0, suspected: 1 });

    harness.wait(5);
    await harness.recent();
    expect(harness.counted.at(-1)).toEqual({ confirmed: 1, suspected: 0 });

    await harness.chargeBeside(payment, 50);
    await harness.recent();
    expect(harness.differences()).toMatchObject([{ status: 'confirmed', mismatch: { processorMinor: 1750 } }]);
  });

  test('is one row for each currency, in its owner’s list; every tenant and mode is compared', async () => {
    harness.registerKey(OTHER_KEY, { tenantId: tenantId('ten_other') });
    const ours = await harness.paid('k-1');
    await harness.chargeBeside(ours, 700);
    await harness.chargeBeside(ours, 700, 'USD');
    await harness.chargeBeside(await harness.paid('k-1', {}, as(OTHER_KEY)), 800);
    const live = createSandboxInProcess({
      clock: harness.clock,
      mode: 'live',
      newId: (prefix, n) => `${prefix}live${n}`,
    });
    const inLive = harness.beside({ processor: live });
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
    expect(harness.told).toHaveLength(4);
  });

  test('by a charge with a wrong payment id is removed after the id is corrected', async () => {
    const wrong = await harness.paid('k-1');
    const right = await harness.paid('k-2');
    const stray = await harness.chargeBeside(wrong, 700);
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
    harness.wait(HOUR);
    await harness.recent({ books: [books] });
    expect(harness.differences()).toMatchObject([{ status: 'suspected', subject: right }]);
  });

  test('of money that only the processor has is found without any outcome', async () => {
    const payment = await harness.paid('k-1', { source: 'tok_async' });
    harness.wait(2 * DAY);
    await harness.recent();
    expect(harness.differences()).toEqual([]);

    await harness.inside.approve(harness.chargeOf(payment).chargeId);
    await harness.days();
    expect(harness.differences()).toMatchObject([{ mismatch: { kind: 'missing_in_ledger', processorMinor: 1000 } }]);
  });

  test('of money that only the Ledger has is found by its outcome', async () => {
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

  test('is removed also when its payment is outside the window', async () => {
    const payment = await harness.paid('k-1');
    await harness.chargeBeside(payment, 700);
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

describe('a charge without a payment', () => {
  test('is listed for operators, each by itself, with the payment id that it names, until it is refunded', async () => {
    invariant(UNKNOWN !== undefined, 'it has the form of an id');
    const named = await harness.chargeBeside(UNKNOWN, 300);
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

  test('that names a payment at another account is a mismatch of that payment there', async () => {
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
  test('covers all pages of all books and all minutes, each item once, from any cursor', async () => {
    const payments = [await harness.paid('k-1'), await harness.paid('k-2'), await harness.paid('k-3')];
    const asked: (string | undefined)[] = [];
    const books = [
      paged(harness.processor, asked),
      { ...harness.processor, account: 'acct_z', listCharges: async () => ({ charges: [] }) },
    ];
    for (const limit of [1, 2, 50]) {
      const run = await harness.recent({ books }, { limit });
      expect(run.names).toEqual([
        ...payments.map((id) => harness.chargeOf(id).chargeId),
        ...run.names.slice(3, 6),
        'count',
      ]);
      expect(run.names.slice(3, 6).toSorted()).toEqual(payments.map((id) => `${id}#000002`).toSorted());
    }
    expect(new Set(asked)).toEqual(new Set([undefined, '1', '2']));
  });

  test('continues with the next processor, or with the Ledger, when a processor is no longer configured', async () => {
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
    expect(await harness.recent({ books: [] })).toMatchObject({ left: 2 });
    expect(harness.differences()).toHaveLength(1);
  });

  test('fails when a read fails, and writes nothing into the view', async () => {
    const { processor } = harness;
    await harness.paid('k-1');
    const away: ProcessorBooks = {
      ...processor,
      chargesOfPayment: () => Promise.reject(new RetryableError('processor_unavailable', 'no answer')),
    };

    await expect(harness.recent({ books: [away] })).rejects.toMatchObject({ code: 'processor_unavailable' });
    expect(harness.views.all()).toEqual([]);
  });

  test('reads a charge by id when the processor’s search does not include it yet', async () => {
    await harness.paid('k-1');
    const behind: ProcessorBooks = { ...harness.processor, chargesOfPayment: async () => [] };

    await harness.recent({ books: [behind] });
    expect(harness.differences()).toEqual([]);
  });

  test('looks at several payments concurrently, so that a busy day fits into an hour, and finds each difference once', async () => {
    const payment = await harness.paid('k-1');
    for (const amount of [100, 200, 300]) await harness.chargeBeside(payment, amount);
    harness.wait(1);
    const job = reconcileRecent(harness.tools());
    expect(job.atOnce).toBeGreaterThan(1);
    const nowMs = harness.clock.nowMs();
    const { items } = await job.page(undefined, 100, { ...RUN, scheduledForMs: nowMs });
    const run = { ...RUN, scheduledForMs: nowMs, deadlineMs: nowMs + 60_000 };
    await Promise.all(items.map(({ thing }) => job.handle(thing, run)));
    expect(harness.differences()).toMatchObject([{ mismatch: { processorMinor: 1600, ledgerMinor: 1000 } }]);
    expect(harness.told).toEqual(['suspected 1600/1000']);
  });

  test('leaves the rest at its deadline to a later run', async () => {
    await harness.paid('k-1');
    expect(await harness.recent({}, { deadlineMs: 0 })).toMatchObject({ done: 0, left: 3 });
    expect(harness.counted).toEqual([]);
  });
});
