/** Tests the guarantee "matching books". */
import { beforeEach, describe, expect, test } from '@jest/globals';
import { ReconcileHarness } from './reconcile-harness.ts';

let harness: ReconcileHarness;

beforeEach(() => {
  harness = new ReconcileHarness();
});

describe('books that agree', () => {
  test('have no mismatch for captured, declined, authorized, refunded and disputed payments with fees', async () => {
    await harness.paid('k-ok');
    await harness.paid('k-no', { source: 'tok_declined' });
    await harness.paid('k-held', { capture: 'manual' });
    const [given, open, won, lost, back] = [
      await harness.paid('k-given', { amount: 900 }),
      await harness.paid('k-open'),
      await harness.paid('k-won'),
      await harness.paid('k-lost', { currency: 'JPY' }),
      await harness.paid('k-back'),
    ];
    await harness.inside.refund(harness.chargeOf(given).chargeId, 300);
    await harness.inside.refund(harness.chargeOf(given).chargeId, 100, 'pending');
    await harness.inside.dispute(harness.chargeOf(open).chargeId, 1000);
    const wonDispute = await harness.inside.dispute(harness.chargeOf(won).chargeId, 1000);
    const lostDispute = await harness.inside.dispute(harness.chargeOf(lost).chargeId, 1000);
    const failing = await harness.inside.refund(harness.chargeOf(back).chargeId, 500);
    const all = [given, open, won, lost, back];
    for (const id of all) await harness.inside.correct(harness.chargeOf(id).chargeId, { fee: 59 });
    for (const id of all) await harness.world.learn(id);
    await harness.inside.closeDispute(wonDispute, 'won');
    await harness.inside.closeDispute(lostDispute, 'lost');
    await harness.inside.endRefund(failing, 'failed');
    await harness.inside.correct(harness.chargeOf(back).chargeId, { fee: 30 });
    for (const id of all) await harness.world.learn(id);

    expect(await harness.mismatches()).toEqual([]);
  });

  test('have no mismatch if the fee equals the captured amount', async () => {
    const payment = await harness.paid('k-1', { amount: 59 });
    await harness.world.record(payment, { kind: 'fee', chargeId: harness.chargeOf(payment).chargeId, feeMinor: 59 });
    const late = await harness.paid('k-2', { amount: 59, source: 'tok_async' });
    await harness.inside.approve(harness.chargeOf(late).chargeId);
    await harness.inside.correct(harness.chargeOf(late).chargeId, { fee: 59 });
    await harness.world.learn(late);

    expect(await harness.mismatches()).toEqual([]);
  });
});

describe('money that only the processor has', () => {
  test('is a mismatch until the payment’s outcome arrives', async () => {
    const payment = await harness.paid('k-1', { source: 'tok_async' });
    await harness.inside.approve(harness.chargeOf(payment).chargeId);

    expect(await harness.mismatches()).toMatchObject([
      { paymentId: payment, paymentStatus: 'processing', kind: 'missing_in_ledger', processorMinor: 1000 },
    ]);
    await harness.world.learn(payment);
    expect(await harness.mismatches()).toEqual([]);
  });
});

test('two differences of one payment that cancel each other out are still a mismatch', async () => {
  const payment = await harness.paid('k-1');
  const own = harness.chargeOf(payment).chargeId;
  await harness.inside.dispute(own, 1000);
  const { chargeId } = await harness.makeStrayCharge(payment, 1000);
  expect(await harness.mismatches()).toMatchObject([
    { processorMinor: 1000, ledgerMinor: 1000, kind: 'charges_differ', chargeIds: [own, chargeId] },
  ]);

  await harness.world.learn(payment);
  expect(await harness.mismatches()).toEqual([]);
});

test('two differences that cancel each other out are a mismatch, even if an operator has decided about the payment', async () => {
  const payment = await harness.paid('k-1', { capture: 'manual' });
  const own = harness.chargeOf(payment).chargeId;
  await harness.inside.correct(own, { status: 'succeeded', amount_captured: 1_500 });
  await harness.world.learn(payment);
  await harness.inside.correct(own, { amount_captured: 900 });
  const decision = { outcome: 'succeeded', amount: 900, reason: 'Seen on the statement' };
  const decided = await harness.write(`/v1/admin/payments/${payment}/resolve`, 'd-1', decision);
  expect(decided.status).toBe(200);
  expect(await harness.mismatches()).toEqual([]);

  await harness.inside.dispute(own, 900);
  const { chargeId } = await harness.makeStrayCharge(payment, 900);
  expect(await harness.mismatches()).toMatchObject([{ kind: 'charges_differ', chargeIds: [own, chargeId] }]);
});

test('a failed refund of a stray charge is a mismatch, even if the charge is older than the compared days', async () => {
  const payment = await harness.paid('k-1');
  const { chargeId } = await harness.makeStrayCharge(payment, 700);
  await harness.world.learn(payment);
  harness.wait(20 * 24 * 60);
  const refund = await harness.inside.refund(chargeId, 700);
  await harness.world.learn(payment);
  expect(await harness.mismatches()).toEqual([]);

  await harness.inside.endRefund(refund, 'failed');
  expect(await harness.mismatches()).toMatchObject([
    { paymentId: payment, processorMinor: 1_700, ledgerMinor: 1_000, kind: 'amounts_differ' },
  ]);
});

test('a recorded stray charge is no mismatch, even if the processor’s search does not find it', async () => {
  const payment = await harness.paid('k-1');
  const { chargeId } = await harness.makeStrayCharge(payment, 700);
  await harness.world.learn(payment);
  harness.wait(20 * 24 * 60);
  await harness.inside.refund(chargeId, 300);
  await harness.world.learn(payment);
  harness.wait(24 * 60);
  await harness.days({ books: [{ ...harness.processor, chargesOfPayment: async () => [] }] });
  expect(harness.differences()).toEqual([]);
});

describe('a charge of a payment, after its metadata was changed,', () => {
  test('is a mismatch of both payments if the metadata names another payment than the one that recorded the charge', async () => {
    const [payment, other] = [await harness.paid('k-1'), await harness.paid('k-2')];
    const { chargeId } = harness.chargeOf(payment);
    await harness.inside.correct(chargeId, { metadata: { payment: other, operation: payment } });

    const found = new Map((await harness.mismatches()).map((each) => [each.paymentId, each]));
    expect(found.get(payment)).toMatchObject({ processorMinor: 0, ledgerMinor: 1000, chargeIds: [chargeId] });
    expect(found.get(other)).toMatchObject({ processorMinor: 2000, ledgerMinor: 1000 });
  });

  test('is a mismatch if only the operation in its metadata differs, even though the amounts are equal', async () => {
    const [payment, other] = [await harness.paid('k-1'), await harness.paid('k-2')];
    const { chargeId } = harness.chargeOf(payment);
    await harness.inside.correct(chargeId, { metadata: { payment, operation: other } });

    expect(await harness.mismatches()).toMatchObject([
      { paymentId: payment, processorMinor: 1000, ledgerMinor: 1000, kind: 'charges_differ', chargeIds: [chargeId] },
    ]);
  });
});

describe('a fee that no callback reported', () => {
  test.each([
    ['on the charge', { fee: 59 }, { currency: 'EUR', processorMinor: 59 }],
    ['on the charge, in another currency', { fee: 64, fee_currency: 'USD' }, { currency: 'USD', processorMinor: 64 }],
  ])('is a mismatch until it is posted: %s', async (_what, changes, shown) => {
    const payment = await harness.paid('k-1');
    const { chargeId } = harness.chargeOf(payment);
    await harness.inside.correct(chargeId, changes);
    expect(await harness.mismatches()).toEqual([
      {
        paymentId: payment,
        paymentStatus: 'succeeded',
        ...shown,
        ledgerMinor: 0,
        chargeIds: [chargeId],
        kind: 'fees_differ',
      },
    ]);

    await harness.world.learn(payment);
    expect(await harness.mismatches()).toEqual([]);
  });

  test('is a mismatch until it is posted, even if it is the fee of a dispute', async () => {
    const payment = await harness.paid('k-1');
    const { chargeId } = harness.chargeOf(payment);
    await harness.inside.dispute(chargeId, 400);
    await harness.world.learn(payment);
    const disputes = (await harness.inside.read(chargeId)).disputes.map((dispute) => ({ ...dispute, fee: 1_500 }));
    await harness.inside.correct(chargeId, { fee: 59, disputes });
    expect(await harness.mismatches()).toMatchObject([{ processorMinor: 1_559, ledgerMinor: 0, kind: 'fees_differ' }]);

    await harness.world.learn(payment);
    expect(await harness.mismatches()).toEqual([]);
  });
});

describe('a difference between the Ledger and the processor’s books', () => {
  test('is a mismatch if a refund is not posted, or if a posted refund has failed', async () => {
    const payment = await harness.paid('k-1');
    const refund = await harness.inside.refund(harness.chargeOf(payment).chargeId, 400);
    expect(await harness.mismatches()).toMatchObject([
      { processorMinor: 600, ledgerMinor: 1000, kind: 'amounts_differ' },
    ]);

    await harness.world.learn(payment);
    expect(await harness.mismatches()).toEqual([]);

    await harness.inside.endRefund(refund, 'failed');
    expect(await harness.mismatches()).toMatchObject([
      { processorMinor: 1000, ledgerMinor: 600, kind: 'amounts_differ' },
    ]);
  });

  test('caused by a wrong correction is a mismatch until the correction is reversed', async () => {
    const payment = await harness.paid('k-1');
    await harness.inside.correct(harness.chargeOf(payment).chargeId, { fee: 59 });
    await harness.world.learn(payment);
    await harness.correct('c-1', { payment, reverses: 2 });
    expect(await harness.mismatches()).toMatchObject([
      { processorMinor: 1000, ledgerMinor: 0, kind: 'amounts_differ' },
    ]);

    const { sequence } = (await harness.correct('c-2', { payment, reverses: 4 })).body;
    expect(sequence).toBe(5);
    expect(await harness.mismatches()).toEqual([]);
  });
});

describe('a correction', () => {
  const legs = (debit: string, credit: string, amount: number) => [
    { account: debit, direction: 'debit', amount },
    { account: credit, direction: 'credit', amount },
  ];

  test('resolves a mismatch if it posts to processor clearing', async () => {
    const payment = await harness.paid('k-1');
    await harness.inside.correct(harness.chargeOf(payment).chargeId, { amount_captured: 950 });
    expect(await harness.mismatches()).toMatchObject([{ processorMinor: 950, ledgerMinor: 1000 }]);

    await harness.correct('c-1', { payment, postings: legs('corrections', 'processor_clearing', 50) });
    expect(await harness.mismatches()).toEqual([]);
  });

  test('that posts only fees does not resolve a mismatch of two charges whose differences cancel each other out', async () => {
    const payment = await harness.paid('k-1');
    await harness.inside.dispute(harness.chargeOf(payment).chargeId, 1000);
    await harness.makeStrayCharge(payment, 1000);
    await harness.correct('c-1', { payment, postings: legs('fees', 'corrections', 30) });
    await harness.correct('c-2', { payment, postings: legs('fees', 'processor_clearing', 30) });

    expect(await harness.mismatches()).toMatchObject([{ kind: 'charges_differ' }]);
  });

  test('counts towards the posted fee if it posts to the account `fees`', async () => {
    const payment = await harness.paid('k-1');
    await harness.inside.correct(harness.chargeOf(payment).chargeId, { fee: 59 });
    await harness.correct('c-1', { payment, postings: legs('fees', 'processor_clearing', 59) });
    expect(await harness.mismatches()).toEqual([]);

    // The late callback posts the fee again.
    await harness.world.learn(payment);
    expect(await harness.mismatches()).toMatchObject([{ processorMinor: 59, ledgerMinor: 118, kind: 'fees_differ' }]);
  });

  test('of a fee that the processor does not report causes no mismatch, and neither does its reversal', async () => {
    const payment = await harness.paid('k-1');
    await harness.correct('c-1', { payment, postings: legs('fees', 'processor_clearing', 30) });
    await harness.correct('c-2', { payment, postings: legs('fees', 'corrections', 30) });
    expect(await harness.mismatches()).toEqual([]);

    await harness.correct('c-3', { payment, reverses: 3 });
    expect(await harness.mismatches()).toEqual([]);
  });
});
