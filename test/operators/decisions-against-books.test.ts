/** Tests the guarantee "confirmed decisions". */
import { describe, expect, test } from '@jest/globals';
import { AmbiguousError, RetryableError, TerminalError } from '../../lambdas/kernel/faults.ts';
import { type PaymentId, storedOperationId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { callback } from '../payments/payment-fixtures.ts';
import { ChangedPayment, paymentInReview } from '../payments/provoked-changes.ts';
import { Api, type ApiWorldTools, as, dataOf, type Reply } from '../world/api.ts';

const SAID = { reason: 'Seen on the bank statement of 3 March' };
const TWO_HOURS_MS = 2 * 3_600_000;

const refuse = () => Promise.reject(new RetryableError('processor_unreachable', 'no'));
const away = ({ ledger }: ChangedPayment): Api =>
  ledger.with({ books: [{ ...ledger.processor, readCharge: refuse, chargesOfPayment: refuse }] });

function decide(api: Api, { id }: ChangedPayment, body: object, key = 'd'): Promise<Reply> {
  return api.write(`/v1/admin/payments/${id}/resolve`, key, { ...SAID, ...body });
}

const typesOf = async ({ ledger, id }: ChangedPayment) =>
  dataOf(await ledger.get(`/v1/payments/${id}/transitions`)).map(({ type }) => type);

async function isRefused(payment: ChangedPayment, body: object, refusal: object, api = payment.ledger): Promise<void> {
  const before = await typesOf(payment);
  for (const dry of [{ dry_run: true }, {}])
    expect((await decide(api, payment, { ...body, ...dry })).body).toMatchObject(refusal);
  expect(await typesOf(payment)).toEqual(before);
}

describe('a decision that a payment succeeded', () => {
  test('is refused without an amount or with a wrong amount, and can be retried with the captured amount under the same key', async () => {
    const payment = await paymentInReview();
    await isRefused(payment, { outcome: 'succeeded' }, { status: 400, code: 'invalid_request', param: 'amount' });
    await isRefused(
      payment,
      { outcome: 'succeeded', amount: 6 },
      {
        status: 409,
        code: 'amount_differs_from_processor',
        detail: 'The processor shows 6.00 EUR captured, not 0.06 EUR.',
        processor_amount: 600,
        processor_currency: 'EUR',
      },
    );
    expect((await decide(payment.ledger, payment, { outcome: 'succeeded', amount: 600 })).status).toBe(200);
  });

  test('is refused if it names a charge that is unknown to the processor', async () => {
    const payment = await paymentInReview();
    const asked = { outcome: 'succeeded', amount: 600, charge_id: 'ch_nowhere' };
    await isRefused(payment, asked, { status: 409, code: 'charge_unknown_at_processor', param: 'charge_id' });
  });

  test.each([
    ['names another payment', (other: string) => ({ payment: other })],
    ['names no payment', () => ({})],
  ])('is refused if it names a charge whose metadata %s', async (_which, metadata) => {
    const payment = await paymentInReview();
    const other = await payment.ledger.paid('other');
    const { chargeId } = await payment.inside.charge({ amountMinor: 1000 });
    await payment.inside.correct(chargeId, { metadata: metadata(other) });
    const asked = { outcome: 'succeeded', amount: 1000, charge_id: chargeId };
    await isRefused(payment, asked, { code: 'charge_unknown_at_processor' });
  });

  test('is accepted with another charge that the processor captured for the payment', async () => {
    const payment = await paymentInReview();
    const named = { paymentId: payment.id, operationId: storedOperationId('by-hand') };
    const { chargeId } = await payment.inside.charge({ ...named, amountMinor: 1000 });
    const asked = { outcome: 'succeeded', amount: 1000, charge_id: chargeId };
    expect((await decide(payment.ledger, payment, asked)).body).toMatchObject({
      amount_captured: 1000,
      processor: { charge_id: chargeId },
    });
  });

  test.each([
    ['has not captured', { status: 'authorized', amount_captured: 0 }, 0, 'EUR'],
    ['captured in another currency', { currency: 'USD' }, 600, 'USD'],
  ] as const)('is refused for a charge that the processor %s', async (_what, change, amount, currency) => {
    const payment = await paymentInReview();
    await payment.inside.correct(payment.chargeId, change);
    const refusal = { code: 'amount_differs_from_processor', processor_amount: amount, processor_currency: currency };
    await isRefused(payment, { outcome: 'succeeded', amount: 600 }, refusal);
  });
});

describe('an open dispute in the processor’s books', () => {
  test.each<readonly [string, number, object]>([
    ['is refused', 409, {}],
    ['waits for a second person', 202, { approvals: { aboveMinor: { EUR: 1 }, lifetimeMs: 72 * 3_600_000 } }],
  ])(
    'is queued by a decision that %s, and stays queued until the dispute is closed; a dry run does not queue it',
    async (_end, status, approvals) => {
      const payment = await paymentInReview();
      const { ledger, chargeId } = payment;
      const desk = ledger.with(approvals);
      const asked = { outcome: 'succeeded', amount: status === 202 ? 600 : 6 };
      const queued = async () => (await ledger.world.store.inquiries()).map(({ operationId }) => operationId);
      const dispute = await payment.inside.dispute(chargeId, 600);
      await decide(desk, payment, { ...asked, dry_run: true });
      expect(await queued()).not.toContain(chargeId);
      expect((await decide(desk, payment, asked)).status).toBe(status);
      const lookForADay = async () => {
        ledger.clock.advance(24 * 3_600_000);
        await ledger.world.resolveInquiries();
      };
      for (const _day of [1, 2]) await lookForADay();
      expect(await queued()).toContain(chargeId);
      await payment.inside.closeDispute(dispute, 'won');
      await lookForADay();
      expect(await queued()).not.toContain(chargeId);
    },
  );
});

describe('a decision that a payment failed', () => {
  test('must not name a charge or have an override, and requires no read of the books', async () => {
    const payment = await paymentInReview();
    const named = await decide(payment.ledger, payment, { outcome: 'failed', charge_id: payment.chargeId });
    expect(named.body).toMatchObject({ status: 400, param: 'charge_id' });
    const overridden = await decide(payment.ledger, payment, { outcome: 'failed', override: true });
    expect(overridden.body).toMatchObject({ code: 'override_not_allowed', param: 'override' });
    expect((await decide(away(payment), payment, { outcome: 'failed' })).status).toBe(200);
  });
});

type Change = readonly [step: string, body: object, capture: 'automatic' | 'manual'];
const REFUND: Change = ['refunds', { amount: 400 }, 'automatic'];
const CAPTURE: Change = ['capture', { amount: 400 }, 'manual'];
const CANCEL: Change = ['cancel', {}, 'manual'];

/** The change never reaches the processor and stays undecided. */
async function undecided([step, body, capture]: Change) {
  const payment = await ChangedPayment.of({ capture });
  const silent = () => Promise.reject(new AmbiguousError('processor_timeout', 'no answer'));
  const desk = payment.withProcessor({ change: silent, findChange: silent });
  const reply = await desk.change(`${payment.id}/${step}`, 'c', { ...body });
  payment.ledger.clock.advance(TWO_HOURS_MS);
  invariant(reply.status === 202, `${step} was not accepted: ${reply.text}`);
  const { state } = await payment.ledger.world.chain({ paymentId: payment.id as PaymentId });
  const [change = ''] = [...state.refunds.keys(), ...state.holdChanges.keys()];
  return { payment, change };
}

/** Keyed by the name of the resulting state. */
const AT_THE_PROCESSOR = {
  nothing: async () => undefined,
  refunded: ({ inside, chargeId }: ChangedPayment, change: string) => refundAs(inside, chargeId, change, 'succeeded'),
  'refund pending': ({ inside, chargeId }: ChangedPayment, change: string) =>
    refundAs(inside, chargeId, change, 'pending'),
  'refunded without metadata': ({ inside, chargeId }: ChangedPayment) => inside.refund(chargeId, 400),
  captured: ({ inside, chargeId }: ChangedPayment) => inside.capture(chargeId, 400),
  'captured more': ({ inside, chargeId }: ChangedPayment) => inside.capture(chargeId, 401),
  voided: ({ inside, chargeId }: ChangedPayment) => inside.void(chargeId),
} as const satisfies Readonly<Record<string, (payment: ChangedPayment, change: string) => Promise<unknown>>>;

async function refundAs(
  inside: ChangedPayment['inside'],
  chargeId: string,
  operation: string,
  begins: 'pending' | 'succeeded',
): Promise<void> {
  const id = await inside.refund(chargeId, 400, begins);
  const { refunds } = await inside.read(chargeId);
  const named = refunds.map((refund) => (refund.id === id ? { ...refund, metadata: { operation } } : refund));
  await inside.correct(chargeId, { refunds: named });
}

describe('a decision about a change', () => {
  test.each<readonly [Change, keyof typeof AT_THE_PROCESSOR, 'succeeded' | 'failed', number | undefined]>([
    [REFUND, 'nothing', 'succeeded', 0],
    [REFUND, 'nothing', 'failed', undefined],
    [REFUND, 'refunded', 'succeeded', undefined],
    [REFUND, 'refunded', 'failed', 400],
    [REFUND, 'refund pending', 'succeeded', 0],
    [REFUND, 'refund pending', 'failed', 400],
    [REFUND, 'refunded without metadata', 'succeeded', undefined],
    [REFUND, 'refunded without metadata', 'failed', undefined],
    [CAPTURE, 'nothing', 'succeeded', 0],
    [CAPTURE, 'nothing', 'failed', undefined],
    [CAPTURE, 'captured', 'succeeded', undefined],
    [CAPTURE, 'captured', 'failed', 400],
    [CAPTURE, 'captured more', 'succeeded', 401],
    [CAPTURE, 'voided', 'succeeded', 0],
    [CAPTURE, 'voided', 'failed', undefined],
    [CANCEL, 'nothing', 'succeeded', 1000],
    [CANCEL, 'nothing', 'failed', undefined],
    [CANCEL, 'captured', 'succeeded', 400],
    [CANCEL, 'captured', 'failed', undefined],
    [CANCEL, 'voided', 'succeeded', undefined],
    [CANCEL, 'voided', 'failed', 0],
  ])('is compared with the books: change %j, processor state %s, outcome %s', async (asked, did, outcome, shown) => {
    const { payment, change } = await undecided(asked);
    await AT_THE_PROCESSOR[did](payment, change);
    const about = { change, outcome };
    if (shown !== undefined) {
      const refusal = { code: 'amount_differs_from_processor', processor_amount: shown, processor_currency: 'EUR' };
      await isRefused(payment, about, refusal);
    } else expect((await decide(payment.ledger, payment, about)).status).toBe(200);
  });
});

describe('a refund in the books without metadata', () => {
  const silent = () => Promise.reject(new AmbiguousError('processor_timeout', 'no answer'));
  const NOTHING_SHOWN = { code: 'amount_differs_from_processor', processor_amount: 0, processor_currency: 'EUR' };

  /** The processor receives neither the request nor a look-up. */
  async function unanswered(payment: ChangedPayment, key: string): Promise<unknown> {
    const desk = payment.withProcessor({ change: silent, findChange: silent });
    const reply = await desk.change(`${payment.id}/refunds`, key, { amount: 400 });
    expect(reply.status).toBe(202);
    return reply.body['id'];
  }

  test('confirms no decision if Payonce has already recorded it as another refund', async () => {
    const payment = await ChangedPayment.of({});
    await payment.change('refunds', { amount: 400 }, 'first');
    const { refunds } = await payment.inside.read(payment.chargeId);
    await payment.inside.correct(payment.chargeId, { refunds: refunds.map((each) => ({ ...each, metadata: {} })) });
    const change = await unanswered(payment, 'second');
    payment.ledger.clock.advance(TWO_HOURS_MS);
    await isRefused(payment, { change, outcome: 'succeeded' }, NOTHING_SHOWN);
  });

  test('confirms only one of two decisions; a second refund without metadata confirms the other decision', async () => {
    const payment = await ChangedPayment.of({});
    const changes = [await unanswered(payment, 'first'), await unanswered(payment, 'second')];
    payment.ledger.clock.advance(TWO_HOURS_MS);
    await payment.inside.refund(payment.chargeId, 400);
    const [first, second] = changes.map((change) => ({ change, outcome: 'succeeded' }));
    expect((await decide(payment.ledger, payment, { ...first }, 'd-1')).status).toBe(200);
    await isRefused(payment, { ...second }, NOTHING_SHOWN);
    await payment.inside.refund(payment.chargeId, 400);
    expect((await decide(payment.ledger, payment, { ...second }, 'd-2')).status).toBe(200);
  });

  test('confirms a decision although an earlier refund of the same amount has failed', async () => {
    const { payment, change } = await undecided(REFUND);
    const failed = await payment.inside.refund(payment.chargeId, 400);
    await payment.inside.endRefund(failed, 'failed');
    await isRefused(payment, { change, outcome: 'succeeded' }, NOTHING_SHOWN);
    await payment.inside.refund(payment.chargeId, 400);
    expect((await decide(payment.ledger, payment, { change, outcome: 'succeeded' })).status).toBe(200);
  });
});

describe('a decision about the pending refund of a stray charge', () => {
  /** Creates a stray charge whose refund is pending at the bank, and removes the refund's metadata at the processor. */
  async function pendingReturn(currency = 'EUR') {
    const api = new Api();
    const { world, processor, clock } = api;
    const { inside } = processor;
    const id = await api.paid('mine');
    const { chargeId: stray } = await inside.charge({
      paymentId: id,
      operationId: 'by-hand',
      amountMinor: 900,
      currency,
    });
    await inside.failNextChange(1, 'tok_async');
    await world.deliver(callback('evt_stray', stray));
    await world.returnCharges();
    const [made] = (await inside.read(stray)).refunds;
    invariant(made !== undefined, 'the stray charge was not refunded');
    await inside.correct(stray, { refunds: [{ ...made, metadata: {} }] });
    clock.advance(TWO_HOURS_MS);
    const { state } = await world.chain({ paymentId: id });
    const change = [...state.refunds.keys()].find((refundId) => refundId.startsWith('rtn_'));
    invariant(change !== undefined, 'the refund is not recorded');
    return { api, id, stray, made, change };
  }

  const resolve = (api: Api, id: string, change: string, outcome = 'failed') =>
    api.write(`/v1/admin/payments/${id}/resolve`, 'd', { ...SAID, outcome, change });

  test('with the outcome “failed” marks the refund as failed, and Payonce then refunds the stray charge again', async () => {
    const { api, id, stray, made, change } = await pendingReturn();
    const { world, processor } = api;
    await processor.inside.endRefund(made.id, 'failed');
    await world.deliver(callback('evt_failed', stray));
    expect(await world.returnCharges()).toMatchObject({ undecidable: 1 });
    const decided = await resolve(api, id, change);
    expect([decided.status, decided.body]).toMatchObject([200, { object: 'refund', id: change, status: 'failed' }]);
    expect(await world.returnCharges()).toMatchObject({ finished: 1 });
    const kept = processor.inside.all.find(({ chargeId }) => chargeId === stray);
    expect(kept?.refunds.filter(({ status }) => status === 'succeeded')).toMatchObject([{ amountMinor: 900 }]);
  });

  test.each([
    [{ EUR: 5000, USD: 899 }, 202],
    [{ EUR: 0, USD: 900 }, 200],
  ])(
    'is compared with the limit of its own currency: with the limits %j, a decision about 9.00 USD gets a %d response',
    async (aboveMinor, status) => {
      const { api, id, change } = await pendingReturn('USD');
      const desk = api.with({ approvals: { aboveMinor, lifetimeMs: 72 * 3_600_000 } });
      const decided = await resolve(desk, id, change);
      expect([decided.status, decided.body]).toMatchObject([status, { amount: 900, currency: 'USD' }]);
    },
  );

  test('does not count towards the limit of another currency', async () => {
    const { api, id, stray, made, change } = await pendingReturn('USD');
    await api.processor.inside.correct(stray, { refunds: [{ ...made, status: 'succeeded' }] });
    expect((await resolve(api, id, change, 'succeeded')).status).toBe(200);
    const desk = api.with({ approvals: { aboveMinor: { EUR: 500 }, lifetimeMs: 72 * 3_600_000 } });
    const refund = (key: string, amount: number) =>
      desk.write(`/v1/admin/payments/${id}/refunds`, key, { ...SAID, amount });
    expect([(await refund('r-1', 500)).status, (await refund('r-2', 1)).status]).toEqual([201, 202]);
  });
});

describe('unreadable books', () => {
  test.each<readonly [string, (payment: ChangedPayment) => Api]>([
    ['while the processor is unavailable', away],
    [
      'of a processor without a look-up',
      ({ ledger }) => {
        const { processor } = ledger;
        const abilities = { ...processor.abilities, lookup: { kind: 'none' } as const };
        return ledger.with({ processor: { ...processor, abilities } });
      },
    ],
    [
      'because no valid request can be sent',
      ({ ledger }) => {
        const readCharge = () => Promise.reject(new TerminalError('processor_request_invalid', 'nothing was sent'));
        return ledger.with({ books: [{ ...ledger.processor, readCharge }] });
      },
    ],
    ['of another account', ({ ledger }) => ledger.with({ books: [{ ...ledger.processor, account: 'other' }] })],
    ['of the other mode', ({ ledger }) => ledger.with({ books: [{ ...ledger.processor, mode: 'live' }] })],
  ])(
    '(%s) make a decision fail without an override; chain, log and timeline show an override',
    async (_which, blind) => {
      const payment = await paymentInReview();
      const desk = blind(payment);
      const asked = { outcome: 'succeeded', amount: 600 };
      await isRefused(payment, asked, { status: 409, code: 'processor_books_unreadable' }, desk);
      expect((await decide(desk, payment, { ...asked, override: true })).status).toBe(200);
      const { ledger } = payment;
      expect(dataOf(await ledger.get(`/v1/decisions?payment=${payment.id}`))).toMatchObject([{ override: true }]);
      const [entry] = dataOf(await ledger.get('/v1/admin/activity?tenant=ten_desk&mode=test'));
      expect(entry).toMatchObject({ action: 'decision.made', details: { override: 'true' } });
      const timeline = dataOf(await ledger.get(`/v1/admin/payments/${payment.id}/timeline`));
      const overridden = timeline.filter(({ override }) => override === true);
      expect(overridden).toMatchObject([{ kind: 'transition', type: 'payment.completed' }]);
    },
  );

  test('are required for an override, which is refused while the books are readable', async () => {
    const payment = await paymentInReview();
    const asked = { outcome: 'succeeded', amount: 600, override: true };
    await isRefused(payment, asked, { status: 409, code: 'override_not_allowed', param: 'override' });
  });

  test('permit an override in a decision about a change; the timeline shows the override once', async () => {
    const { payment, change } = await undecided(REFUND);
    const asked = { outcome: 'failed', change };
    await isRefused(payment, asked, { code: 'processor_books_unreadable' }, away(payment));
    expect((await decide(away(payment), payment, { ...asked, override: true })).status).toBe(200);
    await refundAs(payment.inside, payment.chargeId, change, 'succeeded');
    await payment.learn();
    const timeline = dataOf(await payment.ledger.get(`/v1/admin/payments/${payment.id}/timeline`));
    expect(timeline.filter(({ override }) => override === true)).toMatchObject([{ type: 'refund.failed' }]);
  });
});

describe('a decision above the limit', () => {
  const APPROVALS = { aboveMinor: { EUR: 500 }, lifetimeMs: 72 * 3_600_000 };
  const BEN = as('ok_benbenbenbenbenbenbenben03');

  function apiOf(payment: ChangedPayment, changes: Partial<ApiWorldTools> = {}): Api {
    const desk = payment.ledger.with({ ...changes, approvals: APPROVALS });
    desk.registerOperator('ok_benbenbenbenbenbenbenben03', { operator: 'Ben Example', role: 'approver' });
    return desk;
  }

  test('is checked against the books again when a second person approves it, and stays open if the approval is refused', async () => {
    const payment = await paymentInReview();
    const desk = apiOf(payment);
    const asked = await decide(desk, payment, { outcome: 'succeeded', amount: 600 });
    expect([asked.status, asked.body['request']]).toMatchObject([202, { override: false }]);
    const approve = () => desk.approve(String(asked.body['id']), BEN);
    await payment.inside.correct(payment.chargeId, { amount_captured: 599 });
    expect((await approve()).body).toMatchObject({ code: 'amount_differs_from_processor', processor_amount: 599 });
    await payment.inside.correct(payment.chargeId, { amount_captured: 600 });
    expect((await approve()).body).toMatchObject({ status: 'approved' });
  });

  test('waits for approval even with an override, and the approval is refused once the books are readable again', async () => {
    const payment = await paymentInReview();
    const { processor } = payment.ledger;
    const blind = apiOf(payment, { books: [{ ...processor, readCharge: refuse }] });
    const asked = await decide(blind, payment, { outcome: 'succeeded', amount: 6, override: true });
    expect([asked.status, asked.body['request']]).toMatchObject([202, { override: true }]);
    const id = String(asked.body['id']);
    expect((await apiOf(payment).approve(id, BEN)).body).toMatchObject({ code: 'override_not_allowed' });
    expect((await blind.approve(id, BEN)).body).toMatchObject({ status: 'approved' });
    const log = dataOf(await payment.ledger.get('/v1/admin/activity?tenant=ten_desk&mode=test'));
    expect(log).toMatchObject([
      { action: 'decision.made', details: { override: 'true', approval: id } },
      { action: 'approval.requested', details: { override: 'true' } },
    ]);
  });
});
