import { beforeEach, describe, expect, test } from '@jest/globals';
import { ReconcileDesk } from '../support/reconcile-desk.ts';

let desk: ReconcileDesk;

beforeEach(() => {
  desk = new ReconcileDesk();
});

describe('books that agree', () => {
  test('have no mismatch: captured, declined, authorized, refunded, disputed, won, lost, with fees', async () => {
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

    expect(await desk.mismatches()).toEqual([]);
  });

  test('have no mismatch when the fee equals the captured amount', async () => {
    const payment = await desk.paid('k-1', { amount: 59 });
    await desk.record(payment, { kind: 'fee', chargeId: desk.chargeOf(payment).chargeId, feeMinor: 59 });
    const late = await desk.paid('k-2', { amount: 59, source: 'tok_async' });
    desk.inside.succeed(desk.chargeOf(late).chargeId);
    desk.inside.change(desk.chargeOf(late).chargeId, { feeMinor: 59 });
    await desk.learn(late);

    expect(await desk.mismatches()).toEqual([]);
  });
});

describe('money at the processor that the Ledger does not have', () => {
  test('is a payment whose outcome has not arrived yet, and is none after its arrival', async () => {
    const payment = await desk.paid('k-1', { source: 'tok_async' });
    desk.inside.succeed(desk.chargeOf(payment).chargeId);

    expect(await desk.mismatches()).toMatchObject([
      { paymentId: payment, paymentStatus: 'processing', kind: 'missing_in_ledger', processorMinor: 1000 },
    ]);
    await desk.learn(payment);
    expect(await desk.mismatches()).toEqual([]);
  });
});

describe('money in the Ledger that the processor does not have', () => {
  test('is a refund without a transition, or one that failed meanwhile', async () => {
    const payment = await desk.paid('k-1');
    const refund = desk.inside.refund(desk.chargeOf(payment).chargeId, 400);
    expect(await desk.mismatches()).toMatchObject([{ processorMinor: 600, ledgerMinor: 1000, kind: 'amounts_differ' }]);

    await desk.learn(payment);
    expect(await desk.mismatches()).toEqual([]);

    desk.inside.setRefund(refund, 'failed');
    expect(await desk.mismatches()).toMatchObject([{ processorMinor: 1000, ledgerMinor: 600, kind: 'amounts_differ' }]);
  });

  test('results from a wrong correction and is gone after its reversal', async () => {
    const payment = await desk.paid('k-1');
    desk.inside.change(desk.chargeOf(payment).chargeId, { feeMinor: 59 });
    await desk.learn(payment);
    await desk.correct('c-1', { payment, reverses: 2 });
    expect(await desk.mismatches()).toMatchObject([{ processorMinor: 1000, ledgerMinor: 0, kind: 'amounts_differ' }]);

    const { sequence } = (await desk.correct('c-2', { payment, reverses: 4 })).body;
    expect(sequence).toBe(5);
    expect(await desk.mismatches()).toEqual([]);
  });
});

describe('a correction', () => {
  const legs = (debit: string, credit: string, amount: number) => [
    { account: debit, direction: 'debit', amount },
    { account: credit, direction: 'credit', amount },
  ];

  test('of clearing counts, because it resolves a mismatch', async () => {
    const payment = await desk.paid('k-1');
    desk.inside.change(desk.chargeOf(payment).chargeId, { capturedMinor: 950 });
    expect(await desk.mismatches()).toMatchObject([{ processorMinor: 950, ledgerMinor: 1000 }]);

    await desk.correct('c-1', { payment, postings: legs('corrections', 'processor_clearing', 50) });
    expect(await desk.mismatches()).toEqual([]);
  });

  test('of a fee does not count, and neither does its reversal', async () => {
    const payment = await desk.paid('k-1');
    await desk.correct('c-1', { payment, postings: legs('fees', 'processor_clearing', 30) });
    await desk.correct('c-2', { payment, postings: legs('fees', 'corrections', 30) });
    expect(await desk.mismatches()).toEqual([]);

    await desk.correct('c-3', { payment, reverses: 3 });
    expect(await desk.mismatches()).toEqual([]);
  });
});
