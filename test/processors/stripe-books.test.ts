import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { callOnce, type SendRequest } from '../../lambdas/outbound/http-call.ts';
import type { ProcessorCharge } from '../../lambdas/payments/domain/processor-charge.ts';
import { factsOf } from '../../lambdas/payments/domain/processor-charge.ts';
import type { ChargeOrder, ChargeWindow, Processor, ProcessorBooks } from '../../lambdas/payments/use/processor.ts';
import { createStripeBooks } from '../../lambdas/processors/stripe/stripe-books.ts';
import { freshChange, freshOrder } from '../orders/sandbox-orders.ts';
import { inTurn } from '../support/slice.ts';
import { DOUBLE_KEY, type StripeDouble, serveStripe } from './stripe-double.ts';
import { clientAt } from './stripe-double-client.ts';
import type { DoubleIntent } from './stripe-double-objects.ts';

const LIMIT = { timeoutMs: 600_000 };
const START_S = Date.UTC(2026, 0, 1) / 1_000;

describe('Stripe’s books', () => {
  let double: StripeDouble;
  let client: Processor;
  let books: ProcessorBooks;
  beforeEach(async () => {
    double = await serveStripe({ fee: 88 });
    const { url: baseUrl, clock } = double;
    client = clientAt(baseUrl, { clock, returnUrl: 'https://shop.example/back' });
    books = booksBy(callOnce);
  });
  afterEach(async () => {
    await double[Symbol.asyncDispose]();
  });

  const booksBy = (send: SendRequest): ProcessorBooks =>
    createStripeBooks({
      apiKey: async () => DOUBLE_KEY,
      mode: 'test',
      account: 'acct_double',
      baseUrl: double.url,
      clock: double.clock,
      send,
    });

  const charged = async (changes: Partial<ChargeOrder> = {}) => {
    const order = freshOrder({ source: 'pm_card_visa', ...changes });
    const { chargeId = '' } = await client.charge(order, LIMIT);
    return { order, chargeId };
  };
  const read = (chargeId: string) => books.readCharge(chargeId, LIMIT);

  test('have the same name and account as the client; payments are pinned to both', () => {
    expect([books.name, books.account]).toEqual([client.name, client.account]);
  });

  test('return a charge with its ids, captured amount, fee, refunds and disputes', async () => {
    const { order, chargeId } = await charged();
    const refund = freshChange(order, chargeId, { kind: 'refund', amountMinor: 700 });
    await client.change(refund, LIMIT);
    const disputeId = double.books.dispute(chargeId, 1_299, 'needs_response');
    expect(await read(chargeId)).toEqual({
      chargeId,
      paymentId: order.paymentId,
      operationId: order.operationId,
      status: 'succeeded',
      amountMinor: 1_999,
      capturedMinor: 1_999,
      currency: 'EUR',
      feeMinor: 88,
      refunds: [
        {
          kind: 'refund',
          refundId: refund.operationId,
          processorId: expect.stringMatching(/^re_/),
          chargeId,
          amountMinor: 700,
          status: 'succeeded',
        },
      ],
      disputes: [{ kind: 'dispute', disputeId, chargeId, amountMinor: 1_299, status: 'open' }],
      createdAtSeconds: START_S,
    });
  });

  const feesOf = async (chargeId: string) => {
    const { feeMinor, otherFees } = (await read(chargeId)) ?? {};
    return { feeMinor, otherFees };
  };

  test('add dispute fees to the charge’s fee, and subtract those that Stripe refunds', async () => {
    const { chargeId } = await charged();
    const [taken, givenBack] = [
      { fee: 1_500, currency: 'eur' },
      { fee: -1_500, currency: 'eur' },
    ];
    double.books.dispute(chargeId, 500, 'needs_response', undefined, [taken]);
    expect(await feesOf(chargeId)).toEqual({ feeMinor: 1_588 });
    // A dispute inquiry withdraws no money, but may have a fee.
    double.books.dispute(chargeId, 500, 'warning_closed', undefined, [taken]);
    double.books.dispute(chargeId, 500, 'won', undefined, [taken, givenBack]);
    expect(await feesOf(chargeId)).toEqual({ feeMinor: 3_088 });
  });

  test('add refund fees to the charge’s fee, and subtract those that Stripe reverses when a refund fails', async () => {
    const { order, chargeId } = await charged();
    await client.change(freshChange(order, chargeId, { kind: 'refund', amountMinor: 700 }), LIMIT);
    const fees = async () => {
      const window = { fromSeconds: START_S, untilSeconds: START_S + 1 };
      const { charges } = await books.listCharges(window, LIMIT);
      expect(charges).toEqual([await read(chargeId)]);
      return charges[0]?.feeMinor;
    };
    expect(await fees()).toBe(88);
    double.books.bookRefunds(chargeId, { fee: 25, currency: 'eur' });
    expect(await fees()).toBe(113);
    double.books.bookRefunds(chargeId, { fee: 25, currency: 'eur' }, { fee: -25, currency: 'eur' });
    expect(await fees()).toBe(88);
  });

  test.each([
    ['captures a part of', { kind: 'capture', amountMinor: 1_299 } as const, 1_299, 67],
    ['cancels', { kind: 'void' } as const, 0, 88],
  ])(
    'omit the refund that Stripe creates for clients with an old API version when Payonce %s a hold',
    async (_how, change, capturedMinor, feeMinor) => {
      const { order, chargeId } = await charged({ capture: 'manual' });
      await client.change(freshChange(order, chargeId, change), LIMIT);
      double.books.refundUncaptured(chargeId);
      expect(await read(chargeId)).toMatchObject({ capturedMinor, feeMinor, refunds: [] });
    },
  );

  test('report a fee in the account’s settlement currency, and no fee until Stripe has booked it', async () => {
    await double[Symbol.asyncDispose]();
    double = await serveStripe({});
    client = clientAt(double.url, { clock: double.clock });
    books = booksBy(callOnce);
    const { chargeId } = await charged();
    expect(await feesOf(chargeId)).toEqual({});
    double.books.bookFee(chargeId, { fee: 95, currency: 'usd' });
    expect(await feesOf(chargeId)).toEqual({ otherFees: [{ amountMinor: 95, currency: 'USD' }] });
    double.books.dispute(chargeId, 500, 'lost', undefined, [
      { fee: 1_500, currency: 'usd' },
      { fee: 2_000, currency: 'chf' },
    ]);
    expect(await feesOf(chargeId)).toEqual({
      otherFees: [
        { amountMinor: 2_000, currency: 'CHF' },
        { amountMinor: 1_595, currency: 'USD' },
      ],
    });
  });

  test('require one request for a charge without a dispute', async () => {
    const { chargeId } = await charged();
    const before = double.calls.length;
    await read(chargeId);
    expect(double.calls.length - before).toBe(1);
  });

  const standing = async (chargeId: string): Promise<Partial<ProcessorCharge>> => {
    const { status, actionUrl, failure, cancelReason } = (await read(chargeId)) ?? {};
    return { status, actionUrl, failure, cancelReason } as Partial<ProcessorCharge>;
  };

  test('return every status of a charge', async () => {
    const held = await charged({ capture: 'manual' });
    expect(await standing(held.chargeId)).toEqual({ status: 'authorized' });
    double.books.expire(held.chargeId);
    expect(await standing(held.chargeId)).toEqual({ status: 'voided', cancelReason: 'expired' });
    const letGo = await charged({ capture: 'manual' });
    await client.change(freshChange(letGo.order, letGo.chargeId, { kind: 'void' }), LIMIT);
    expect(await standing(letGo.chargeId)).toEqual({ status: 'voided', cancelReason: 'requested' });
    const slow = await charged({ source: 'pm_usBankAccount_success' });
    expect(await standing(slow.chargeId)).toEqual({ status: 'pending' });
    const asked = await charged({ source: 'pm_card_authenticationRequired' });
    expect(await standing(asked.chargeId)).toEqual({
      status: 'requires_action',
      actionUrl: expect.stringMatching(/^https:\/\/hooks\.stripe\.com\//),
    });
    double.books.settle(asked.chargeId, 'refused');
    expect(await standing(asked.chargeId)).toEqual({
      status: 'declined',
      failure: { code: 'card_declined', message: 'Your card was declined.' },
    });
  });

  test.each([
    ['warning_needs_response', undefined],
    ['warning_under_review', undefined],
    ['warning_closed', undefined],
    ['prevented', undefined],
    ['needs_response', 'open'],
    ['under_review', 'open'],
    ['appeal_needs_response', 'open'],
    ['won', 'won'],
    ['lost', 'lost'],
  ])('report a dispute whose status at Stripe is %s as %s (undefined: not reported)', async (status, ours) => {
    const { chargeId } = await charged();
    double.books.dispute(chargeId, 500, status);
    expect((await read(chargeId))?.disputes.map((dispute) => dispute.status)).toEqual(ours === undefined ? [] : [ours]);
  });

  test('identify the first refund of an operation by that operation, and every other refund by Stripe’s id', async () => {
    const { order, chargeId } = await charged();
    const ours = freshChange(order, chargeId, { kind: 'refund', amountMinor: 10 });
    await client.change(ours, LIMIT);
    double.advance(24 * 60 * 60 * 1_000);
    await client.change(ours, LIMIT);
    const theirs = { ...ours, operationId: 'made_in_the_dashboard' as typeof ours.operationId };
    await client.change(theirs, LIMIT);
    const charge = await read(chargeId);
    const facts = charge === undefined ? [] : factsOf(charge, { id: order.paymentId }, 0);
    expect(facts.flatMap((fact) => (fact.kind === 'refund' ? [fact.refundId] : []))).toEqual([
      ours.operationId,
      expect.stringMatching(/^re_/),
      expect.stringMatching(/^re_/),
    ]);
  });

  test('return undefined for an unknown charge, and throw while Stripe is unavailable', async () => {
    expect(await read('pi_none')).toBeUndefined();
    double.trouble(['unavailable'], 'anyCall');
    await expect(read('pi_none')).rejects.toMatchObject({ name: 'AmbiguousError', code: 'processor_error' });
  });

  test('find all charges of a payment, oldest first, even if two have the same operation', async () => {
    const { order, chargeId } = await charged();
    double.advance(24 * 60 * 60 * 1_000);
    const again = await client.charge(order, LIMIT);
    await charged();
    const found = await books.chargesOfPayment(order.paymentId, LIMIT);
    expect(found.map((charge) => charge.chargeId)).toEqual([chargeId, again.chargeId]);
    expect(await books.chargesOfPayment(freshOrder().paymentId, LIMIT)).toEqual([]);
  });

  const listed = async (window: ChargeWindow): Promise<{ ids: string[]; pages: number }> => {
    const ids: string[] = [];
    let cursor: string | undefined;
    for (let pages = 1; pages <= 50; pages += 1) {
      const page = await books.listCharges(cursor === undefined ? window : { ...window, cursor }, LIMIT);
      ids.push(...page.charges.map(({ chargeId }) => chargeId));
      if (page.next === undefined) return { ids, pages };
      cursor = page.next;
    }
    throw new Error('the pages have no end');
  };

  test('include the start of a creation-time window and exclude its end', async () => {
    const ids: string[] = [];
    for (let made = 0; made < 5; made += 1) {
      ids.push((await charged()).chargeId);
      double.advance(1_000);
    }
    const window = { fromSeconds: START_S + 1, untilSeconds: START_S + 4 };
    expect(await listed(window)).toEqual({ ids: ids.slice(1, 4), pages: 1 });
    expect(await listed({ fromSeconds: START_S, untilSeconds: START_S })).toEqual({ ids: [], pages: 1 });
  });

  // Each slice runs one of the tests with many charges.
  const ofMonth = 'list all charges of a month exactly once, oldest first, regardless of their distribution over time';
  inTurn(test, { place: 0, of: 4, otherwise: test.skip })(ofMonth, async () => {
    const ids: string[] = [];
    const gaps = [
      ...Array<number>(150).fill(0),
      ...Array<number>(120).fill(3_000),
      ...Array<number>(20).fill(86_400_000),
    ];
    for (const gapMs of gaps) {
      ids.push((await charged()).chargeId);
      double.advance(gapMs);
    }
    const { ids: found, pages } = await listed({ fromSeconds: START_S, untilSeconds: START_S + 31 * 86_400 });
    expect(found).toEqual(ids);
    expect(pages).toBeLessThanOrEqual(30);
  });

  const outside = 'reject a page after the first if it contains charges outside the one-second window';
  inTurn(test, { place: 1, of: 4, otherwise: test.skip })(outside, async () => {
    const window = /&?created(%5B|\[)\w+(%5D|\])=\d+/g;
    await charged();
    double.advance(1_000);
    for (let made = 0; made < 101; made += 1) await charged();
    const forgetful: SendRequest = (call) =>
      callOnce(call.url.includes('starting_after') ? { ...call, url: call.url.replaceAll(window, '') } : call);
    const list = booksBy(forgetful).listCharges({ fromSeconds: START_S + 1, untilSeconds: START_S + 2 }, LIMIT);
    await expect(list).rejects.toMatchObject({ name: 'AmbiguousError', code: 'processor_answer_unexpected' });
  });

  const ofAnother = 'reject a further page that contains refunds of another charge';
  inTurn(test, { place: 2, of: 4, otherwise: test.skip })(ofAnother, async () => {
    const intent = /&?payment_intent=[^&]+/g;
    const [other, { order, chargeId }] = [await charged(), await charged()];
    const refunded = async (of: ChargeOrder, id: string, amountMinor: number) =>
      client.change(freshChange(of, id, { kind: 'refund', amountMinor }), LIMIT);
    await refunded(other.order, other.chargeId, 1);
    for (let made = 0; made < 101; made += 1) await refunded(order, chargeId, 1);
    const forgetful: SendRequest = (call) =>
      callOnce(call.url.includes('starting_after') ? { ...call, url: call.url.replaceAll(intent, '') } : call);
    await expect(booksBy(forgetful).readCharge(chargeId, LIMIT)).rejects.toMatchObject({
      name: 'AmbiguousError',
      code: 'processor_answer_unexpected',
    });
  });

  test.each([
    ['an unknown status', (intent: DoubleIntent) => Object.assign(intent, { status: 'requires_patience' })],
    ['a fraction of a minor unit', (intent: DoubleIntent) => Object.assign(intent, { currency: 'isk', amount: 150 })],
    ['a field of the wrong type', (intent: DoubleIntent) => Object.assign(intent, { last_payment_error: 'declined' })],
    ['a dispute in another currency', ({ id }: DoubleIntent) => double.books.dispute(id, 500, 'lost', 'usd')],
    ['a dispute with an unknown status', ({ id }: DoubleIntent) => double.books.dispute(id, 500, 'forgotten')],
  ])(
    'list a charge with %s as unreadable together with its payment, and still list all other charges',
    async (_, change) => {
      const [before, odd, after] = [await charged(), await charged(), await charged()];
      const intent = double.books.intents.get(odd.chargeId);
      invariant(intent !== undefined, 'the intent does not exist');
      change(intent);
      const { charges, unreadable } = await books.listCharges(
        { fromSeconds: START_S, untilSeconds: START_S + 1 },
        LIMIT,
      );
      expect(charges.map(({ chargeId }) => chargeId)).toEqual([before.chargeId, after.chargeId]);
      expect(unreadable).toEqual([
        {
          chargeId: odd.chargeId,
          paymentId: odd.order.paymentId,
          createdAtSeconds: START_S,
          fault: expect.objectContaining({ name: 'AmbiguousError', message: expect.stringContaining(odd.chargeId) }),
        },
      ]);
    },
  );

  test('list an unreadable charge without a payment if its metadata contains no payment', async () => {
    const { chargeId } = await charged();
    Object.assign(double.books.intents.get(chargeId) ?? {}, { metadata: { operation: 7 } });
    const { charges, unreadable = [] } = await books.listCharges(
      { fromSeconds: START_S, untilSeconds: START_S + 1 },
      LIMIT,
    );
    expect([charges, unreadable.map(({ paymentId }) => paymentId)]).toEqual([[], [undefined]]);
  });

  const tooLong = 'split a page whose disputes take too long to read, and list each charge exactly once';
  inTurn(test, { place: 3, of: 4, otherwise: test.skip })(tooLong, async () => {
    const made: { chargeId: string; disputeId: string }[] = [];
    for (let at = 0; at < 60; at += 1) {
      const { chargeId } = await charged();
      made.push({ chargeId, disputeId: double.books.dispute(chargeId, 500, 'lost') });
      if (at % 3 === 2) double.advance(1_000);
    }
    const slow = booksBy((call) => {
      double.advance(500);
      return callOnce(call);
    });
    const window = { fromSeconds: START_S, untilSeconds: START_S + 60 };
    const found: typeof made = [];
    let next: string | undefined;
    for (let page = 0; page < 10; page += 1) {
      const began = double.clock.nowMs();
      const asked = next === undefined ? window : { ...window, cursor: next };
      const list = await slow.listCharges(asked, { timeoutMs: 20_000 });
      expect(double.clock.nowMs() - began).toBeLessThanOrEqual(12_000);
      found.push(
        ...list.charges.map(({ chargeId, disputes }) => ({ chargeId, disputeId: disputes[0]?.disputeId ?? 'none' })),
      );
      next = list.next;
      if (next === undefined) break;
    }
    expect([found, next]).toEqual([made, undefined]);
  });

  test('throw instead of listing a page whose disputes cannot be read', async () => {
    const { chargeId } = await charged();
    double.books.dispute(chargeId, 500, 'lost');
    const send: SendRequest = (call) => {
      if (call.url.includes('/v1/disputes')) double.trouble(['unavailable'], 'anyCall');
      return callOnce(call);
    };
    const list = booksBy(send).listCharges({ fromSeconds: START_S, untilSeconds: START_S + 1 }, LIMIT);
    await expect(list).rejects.toMatchObject({ name: 'AmbiguousError', code: 'processor_error' });
  });
});
