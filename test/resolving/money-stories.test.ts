/** A bank, a payer or another program acts between two steps of Payonce. Tests the guarantee "returned money". */
import { beforeEach, describe, expect, test } from '@jest/globals';
import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import { fingerprintOf } from '../../lambdas/kernel/fingerprint.ts';
import { storedOperationId } from '../../lambdas/kernel/ids.ts';
import { type AskedDecision, decidePayment } from '../../lambdas/operators/use/decide-payment.ts';
import { moneyOf } from '../../lambdas/payments/domain/charge-money.ts';
import { netDebitMinor } from '../../lambdas/payments/domain/posting.ts';
import type { CreatePayment } from '../../lambdas/payments/use/create-payment.ts';
import type { Effect } from '../../lambdas/payments/use/effect-store.ts';
import type { PaymentStore } from '../../lambdas/payments/use/payment-store.ts';
import { BacklogMetric } from '../../lambdas/resolving/contract.ts';
import { type Backlog, observedWork } from '../../lambdas/resolving/use/observed-work.ts';
import { resolveClaims, resolveInquiries } from '../../lambdas/resolving/use/resolve.ts';
import { returnCharges } from '../../lambdas/resolving/use/return-charges.ts';
import { callback, change, paymentRequest } from '../payments/payment-fixtures.ts';
import { BY_OPERATOR, OPERATOR } from '../support/causes.ts';
import { ALL_DUE } from '../support/due.ts';
import { whole } from '../support/slice.ts';
import { createSandboxInProcess } from '../world/sandbox-in-process.ts';
import { World } from '../world/world.ts';

/** Minutes between two runs of the resolver. When deployed, the resolver runs once a minute. */
const RUN_EVERY_MINUTES = whole(1, { slice: 30 });

let events = 0;
let harness: World;
beforeEach(() => void (harness = new World()));

async function sendCallback(charge: string): Promise<void> {
  events += 1;
  await harness.deliver(callback(`story_${events}`, charge));
}

async function paid(key: string): Promise<{ request: CreatePayment; charge: string }> {
  const request = paymentRequest(key);
  await harness.pay(request);
  return { request, charge: harness.chargeOf(request) };
}

/** The failed payment's charge succeeds later, without a callback. */
async function succeedsLate(key: string): Promise<{ request: CreatePayment; charge: string }> {
  const request = paymentRequest(key, { source: 'tok_async' });
  await harness.pay(request);
  const charge = harness.chargeOf(request);
  await harness.processor.inside.decline(charge);
  await sendCallback(charge);
  await harness.processor.inside.approve(charge);
  return { request, charge };
}

async function live(days: number): Promise<void> {
  for (let minute = 0; minute < days * 24 * 60; minute += RUN_EVERY_MINUTES) {
    await harness.resolveInquiries();
    await harness.returnCharges();
    if (minute % 30 === 0) await harness.resolveClaims();
    harness.clock.advance(RUN_EVERY_MINUTES * 60_000);
  }
}

function heldAtProcessor(request: CreatePayment): number {
  const disputed = harness.processor
    .charges(request.paymentId)
    .flatMap(({ disputes }) => disputes)
    .filter(({ status }) => status !== 'won')
    .reduce((sum, { amountMinor }) => sum + amountMinor, 0);
  return harness.capturedAtProcessor(request) - harness.refundedAtProcessor(request) - disputed;
}

async function expectBooksToAgree(request: CreatePayment): Promise<void> {
  const { transitions } = await harness.chain(request);
  const postings = transitions.flatMap((transition) => transition.postings);
  expect(netDebitMinor('processor_clearing', 'EUR', postings)).toBe(heldAtProcessor(request));
}

describe('a stray charge with a dispute', () => {
  test('is not refunded while the dispute withholds its money, even if no callback arrived before the dispute', async () => {
    const { request, charge } = await succeedsLate('disputed');
    await harness.processor.inside.dispute(charge, 1000);
    await sendCallback(charge);
    await live(2);
    expect(harness.refundedAtProcessor(request)).toBe(0);
    await expectBooksToAgree(request);
  });

  test('is refunded after the dispute is won, even without the callback about the win', async () => {
    const { request, charge } = await succeedsLate('won');
    const dispute = await harness.processor.inside.dispute(charge, 1000);
    await sendCallback(charge);
    await live(1);
    await harness.processor.inside.closeDispute(dispute, 'won');
    await live(3);
    expect(harness.refundedAtProcessor(request)).toBe(1000);
    expect(heldAtProcessor(request)).toBe(0);
    await expectBooksToAgree(request);
  });

  test('is refunded up to the amount that a partial dispute leaves', async () => {
    const { request, charge } = await succeedsLate('partial');
    await harness.processor.inside.dispute(charge, 400);
    await sendCallback(charge);
    await live(1);
    expect(harness.refundedAtProcessor(request)).toBe(600);
    await expectBooksToAgree(request);
  });

  test('is not refunded even if the callback of the dispute is lost', async () => {
    const { request, charge } = await succeedsLate('unreported');
    await sendCallback(charge);
    await harness.processor.inside.dispute(charge, 1000);
    await live(1);
    expect(harness.refundedAtProcessor(request)).toBe(0);
    await expectBooksToAgree(request);
  });
});

test.each([
  ['no money', { status: 'declined', amount_captured: 0 }],
  ['less money', { amount_captured: 999 }],
] as const)('a stray charge is left to an operator if the processor’s books now show %s', async (_what, changes) => {
  const { request, charge } = await succeedsLate('gone');
  await sendCallback(charge);
  await harness.processor.inside.correct(charge, changes);
  expect(await harness.returnCharges()).toMatchObject({ undecidable: 1 });
  expect(harness.processor.inside.sent.filter(({ kind }) => kind === 'refund')).toEqual([]);
  await harness.processor.inside.correct(charge, { status: 'succeeded', amount_captured: 1000 });
  expect(await harness.returnCharges()).toMatchObject({ finished: 1 });
  await expectBooksToAgree(request);
});

test('the refund of a stray charge is retried if it fails at the bank three days after its success', async () => {
  const { request, charge } = await succeedsLate('bounced');
  await sendCallback(charge);
  await live(1);
  expect(harness.refundedAtProcessor(request)).toBe(1000);
  await live(3);
  const [first] = harness.processor.charges(request.paymentId)[0]?.refunds ?? [];
  await harness.processor.inside.endRefund(String(first?.refundId), 'failed');
  await sendCallback(charge);
  await live(1);
  expect(harness.refundedAtProcessor(request)).toBe(1000);
  await expectBooksToAgree(request);
});

describe('a refund whose owner crashed before sending it', () => {
  const diesBeforeSending = async (request: CreatePayment) => {
    const refund = change(request, 'refund', { kind: 'refund', amountMinor: 1000 });
    await harness.dieBeforeChange(refund);
    return refund;
  };

  test.each(['received', 'lost'])(
    'is not sent after a dispute withdrew the money, if the dispute’s callback is %s',
    async (callback_) => {
      const { request, charge } = await paid('dead');
      const refund = await diesBeforeSending(request);
      await harness.processor.inside.dispute(charge, 1000);
      if (callback_ === 'received') await sendCallback(charge);
      await live(1);
      expect(harness.refundedAtProcessor(request)).toBe(0);
      const { state } = await harness.chain(request);
      expect(state.refunds.get(refund.operationId)).toMatchObject({
        status: 'failed',
        failure: { code: 'not_attempted' },
      });
      expect(moneyOf(charge, state)).toMatchObject({ leftMinor: 0, pendingMinor: 0 });
      await expectBooksToAgree(request);
    },
  );

  test('is sent if a partial dispute leaves enough money', async () => {
    const { request, charge } = await paid('enough');
    const refund = change(request, 'refund', { kind: 'refund', amountMinor: 300 });
    await harness.dieBeforeChange(refund);
    await harness.processor.inside.dispute(charge, 700);
    await sendCallback(charge);
    harness.clock.advance(60_000);
    await harness.resolveClaims();
    expect(harness.refundedAtProcessor(request)).toBe(300);
  });
});

test('a refund is not resent if a dispute takes the money between two attempts of one request', async () => {
  const { request, charge } = await paid('twice');
  let sends = 0;
  const processor: typeof harness.processor = {
    ...harness.processor,
    change: async (...asked) => {
      sends += 1;
      if (sends > 1) return harness.processor.change(...asked);
      await harness.processor.inside.dispute(charge, 1000);
      await sendCallback(charge);
      throw new AmbiguousError('processor_timeout', 'nothing was applied');
    },
  };
  const refund = change(request, 'refund', { kind: 'refund', amountMinor: 1000 });
  expect(await harness.change(refund, { processor })).toMatchObject({ answer: { status: 202 } });
  expect(sends).toBe(1);
  await live(1);
  expect((await harness.chain(request)).state.refunds.get(refund.operationId)).toMatchObject({
    status: 'failed',
    failure: { code: 'not_attempted' },
  });
  await expectBooksToAgree(request);
});

test('a refund is not resent while the payment cannot be read', async () => {
  const { request } = await paid('unread');
  const { store } = harness;
  let sends = 0;
  let isSilent = false;
  const silent: PaymentStore = {
    ...harness.storeMethods(),
    listTransitions: (...page) =>
      isSilent ? Promise.reject(new RetryableError('store_throttled', 'no')) : store.listTransitions(...page),
  };
  const processor: typeof harness.processor = {
    ...harness.processor,
    change: async () => {
      sends += 1;
      isSilent = true;
      throw new AmbiguousError('processor_timeout', 'nothing was applied');
    },
  };
  const refund = change(request, 'refund', { kind: 'refund', amountMinor: 1000 });
  expect(await harness.change(refund, { processor, store: silent })).toMatchObject({ answer: { status: 202 } });
  expect(sends).toBe(1);
  await live(1);
  expect(harness.refundedAtProcessor(request)).toBe(1000);
});

test('a refund made at the processor releases its reserved amount if it fails later, even without a callback', async () => {
  const { request, charge } = await paid('foreign');
  const refundId = await harness.processor.inside.refund(charge, 1000, 'pending');
  await sendCallback(charge);
  expect(moneyOf(charge, (await harness.chain(request)).state)?.leftMinor).toBe(0);
  await harness.processor.inside.endRefund(refundId, 'failed');
  await live(2);
  expect(moneyOf(charge, (await harness.chain(request)).state)?.leftMinor).toBe(1000);
  expect(await harness.store.inquiries()).toEqual([]);
});

describe('a refund that another user of the processor’s account made, with an operation in its metadata', () => {
  async function foreignRefund(charge: string, operation: string): Promise<string> {
    const id = await harness.processor.inside.refund(charge, 1000, 'pending');
    const refund = { id, object: 'refund', charge, amount: 1000, status: 'pending', metadata: { operation } } as const;
    await harness.processor.inside.correct(charge, { refunds: [refund] });
    return id;
  }

  test.each(['another', 'this'])(
    'is looked up if its metadata names an operation that %s payment never started',
    async (whose) => {
      const { request, charge } = await paid('named');
      const other = await paid('other');
      const { operationId } = change(whose === 'this' ? request : other.request, 'never', { kind: 'refund' });
      const id = await foreignRefund(charge, operationId);
      await sendCallback(charge);
      const { refunds } = (await harness.chain(request)).state;
      expect([...refunds.keys()]).toEqual([whose === 'this' ? operationId : id]);
      await harness.processor.inside.endRefund(id, 'failed');
      await live(2);
      expect(moneyOf(charge, (await harness.chain(request)).state)?.leftMinor).toBe(1000);
      expect(await harness.store.inquiries()).toEqual([]);
    },
  );

  test('is recorded as a separate refund if another refund of the charge already has that operation', async () => {
    const { request, charge } = await paid('copied');
    const ours = change(request, 'ours', { kind: 'refund', amountMinor: 400 });
    await harness.change(ours);
    const [made] = harness.processor.charges(request.paymentId)[0]?.refunds ?? [];
    const copy = { object: 'refund', charge, amount: 300, status: 'succeeded' } as const;
    const metadata = { payment: request.paymentId, operation: ours.operationId };
    await harness.processor.inside.correct(charge, {
      refunds: [
        { ...copy, id: String(made?.processorId), amount: 400, metadata },
        { ...copy, id: 're_copy', metadata },
      ],
      amount_refunded: 700,
    });
    await sendCallback(charge);
    expect([...(await harness.chain(request)).state.refunds.keys()]).toEqual([ours.operationId, 're_copy']);
    await expectBooksToAgree(request);
  });
});

test('a stray charge with more new facts than fit into one transaction is recorded by the run that refunds it', async () => {
  const { request, charge } = await succeedsLate('many');
  await sendCallback(charge);
  for (let refund = 0; refund < 120; refund += 1) await harness.processor.inside.refund(charge, 1);
  await live(1);
  expect(heldAtProcessor(request)).toBe(0);
  await expectBooksToAgree(request);
});

test('a run that crashes after it has recorded some facts leaves the other facts to a later run', async () => {
  const request = paymentRequest('part', { source: 'tok_action' });
  await harness.pay(request);
  const charge = harness.chargeOf(request);
  await harness.processor.inside.approve(charge);
  for (let refund = 0; refund < 120; refund += 1) await harness.processor.inside.refund(charge, 1);
  harness.clock.advance(24 * 60 * 60_000);
  let parts = 0;
  const effects = {
    ...harness.tools.effects,
    recordEffect: (effect: Effect) => {
      parts += 1;
      return parts >= 3 ? Promise.reject(new Error('the process died')) : harness.store.recordEffect(effect);
    },
  };
  for (let minute = 0; minute < whole(60, { slice: 15 }); minute += 1) {
    harness.clock.advance(60_000);
    await resolveInquiries({ ...harness.tools, effects });
  }
  expect((await harness.chain(request)).state.payment.amountRefundedMinor).toBe(79);
  await live(1);
  expect((await harness.chain(request)).state.payment.amountRefundedMinor).toBe(120);
  expect(await harness.store.inquiries()).toEqual([]);
});

describe('a payment at a non-default processor', () => {
  test('is finished while the default processor’s breaker is open', async () => {
    const other = { ...createSandboxInProcess({ clock: harness.clock }), account: 'other' };
    const request = paymentRequest('pinned');
    await harness.claimThenDie(request, false, other);
    harness.clock.advance(60_000);
    await harness.processor.inside.goDown();
    const processors = [harness.processor, other];
    expect(await resolveClaims({ ...harness.tools, processors, books: processors })).toMatchObject({
      finished: 1,
    });
    expect(other.charges(request.paymentId)).toMatchObject([{ status: 'succeeded' }]);
  });

  test('is finished by its caller’s retry even while the default processor’s breaker is open', async () => {
    const other = { ...createSandboxInProcess({ clock: harness.clock }), account: 'other' };
    const request = paymentRequest('retried');
    await harness.claimThenDie(request, false, other);
    harness.clock.advance(60_000);
    await harness.processor.inside.goDown();
    expect(await harness.pay(request, { processors: [harness.processor, other] })).toMatchObject({ kind: 'first' });
  });
});

test.each([
  ['a pending charge', 'tok_async'],
  ['a charge whose response was lost', 'tok_timeout_charged'],
])('the books reveal that %s captured a different amount, even without a callback', async (_what, source) => {
  const request = paymentRequest('differs', { source });
  const { processor } = harness;
  const charging = harness.pay(request, {
    processor: {
      ...processor,
      findCharge: () => Promise.reject(new AmbiguousError('processor_timeout', 'no response')),
      charge: async (...order: Parameters<typeof processor.charge>) => {
        const [known] = processor.charges(request.paymentId);
        if (known !== undefined) throw new AmbiguousError('processor_timeout', 'no response');
        return processor.charge(...order);
      },
    },
  });
  expect(await charging).toMatchObject({ answer: { status: 202 } });
  await processor.inside.correct(harness.chargeOf(request), { status: 'succeeded', amount_captured: 999 });
  await live(1);
  expect((await harness.chain(request)).state.payment).toMatchObject({
    status: 'needs_review',
    failure: { code: 'wrong_amount' },
  });
});

/** The deployment no longer calls the harness's processor. */
const moved = () => ({ ...harness.tools, processor: { ...harness.processor, account: 'acct_new' } });

/** An operator must handle work whose processor cannot be called. */
function expectReported({ paymentId }: CreatePayment): void {
  const error = { code: 'processor_elsewhere', message: expect.stringContaining(paymentId) };
  expect(harness.reported).toContainEqual(expect.objectContaining(error));
}

describe('when the processor is no longer configured,', () => {
  test('an open dispute is left to an operator', async () => {
    const { request, charge } = await paid('disputed_elsewhere');
    await harness.processor.inside.dispute(charge, 1000);
    await sendCallback(charge);
    harness.clock.advance(24 * 60 * 60_000);
    let undecidable = 0;
    for (let minute = 0; minute < 3 * 24 * 60; minute += RUN_EVERY_MINUTES) {
      undecidable += (await resolveInquiries(moved())).undecidable;
      harness.clock.advance(RUN_EVERY_MINUTES * 60_000);
    }
    expect(undecidable).toBe(1);
    expectReported(request);
  });

  test('an unknown outcome stays queued, raises one alarm per removal of its processor, and is finished when the processor is configured again', async () => {
    const request = paymentRequest('unknown_elsewhere', { source: 'tok_async' });
    await harness.pay(request);
    const undecidable = async (tools: () => typeof harness.tools) => {
      let alarms = 0;
      for (let minute = 0; minute < 3 * 60; minute += 1) {
        harness.clock.advance(60_000);
        alarms += (await resolveInquiries(tools())).undecidable;
      }
      return alarms;
    };
    expect(await undecidable(moved)).toBe(1);
    expect(harness.reported).toHaveLength(1);
    const backlogs: Backlog[] = [];
    await observedWork(harness.store, harness.clock, (each) => void backlogs.push(each)).unknownOutcomes(ALL_DUE);
    expect(backlogs).toMatchObject([{ [BacklogMetric.unknownOutcomes]: 1 }]);
    expect(await undecidable(() => harness.tools)).toBe(0);
    expect(await undecidable(moved)).toBe(1);
    await harness.processor.inside.approve(harness.chargeOf(request));
    expect(await undecidable(() => harness.tools)).toBe(0);
    expect(await harness.store.inquiries()).toEqual([]);
    expect((await harness.chain(request)).state.payment.status).toBe('succeeded');
  });

  test('an unknown outcome raises one alarm even if the resolver crashes after it has marked the queue entry', async () => {
    const request = paymentRequest('dies_after_mark', { source: 'tok_async' });
    await harness.pay(request);
    const alarms: string[][] = [];
    const kept = observedWork(harness.store, harness.clock, () => undefined);
    const work: typeof kept = {
      ...kept,
      postponeInquiry: async (...next) => {
        await kept.postponeInquiry(...next);
        throw new Error('the process died');
      },
    };
    for (let minute = 0; minute < 3 * 60; minute += 1) {
      harness.clock.advance(60_000);
      await resolveInquiries({ ...moved(), work, alarm: (...alarm) => alarms.push(alarm) });
    }
    expect(alarms).toEqual([['undecidable', request.paymentId]]);
  });

  test('a stray charge raises one alarm, and is refunded when its processor is configured again', async () => {
    const { request, charge } = await succeedsLate('stray_elsewhere');
    await sendCallback(charge);
    const alarms: string[][] = [];
    const looked = new Set<number>();
    for (let minute = 0; minute < 3 * 60; minute += 1) {
      const processors = () => {
        looked.add(minute);
        return moved().processor;
      };
      const tools = { ...moved(), alarm: (...alarm: string[]) => void alarms.push(alarm) };
      await returnCharges(Object.defineProperty(tools, 'processor', { get: processors }));
      harness.clock.advance(60_000);
    }
    expect(alarms).toEqual([['undecidable', request.paymentId]]);
    expect(looked.size).toBe(60 + 2 * 4);
    expect(harness.reported).toHaveLength(1);
    expectReported(request);
    await live(1);
    expect(heldAtProcessor(request)).toBe(0);
    expect(await harness.store.chargesToReturn(ALL_DUE)).toEqual([]);
  });
});

describe('an operator’s decision about a payment', () => {
  const decide = (request: CreatePayment, changes: Partial<Omit<AskedDecision, 'kind'>>) => {
    const readCharge = () => Promise.reject(new RetryableError('processor_unreachable', 'no'));
    const away = { books: [{ ...harness.processor, readCharge }] };
    return decidePayment(
      { ...harness.tools, ...(changes.override ? away : {}) },
      {
        cause: BY_OPERATOR,
        operationId: storedOperationId('dec_story'),
        fingerprint: fingerprintOf(harness.tools.digest, { body: {}, query: {} }),
        payment: request.paymentId,
        reason: 'Seen on the statement',
        by: OPERATOR,
        asked: { kind: 'decision', outcome: 'failed', ...changes },
      },
    );
  };

  /** The captured amount differs from the requested amount. */
  async function inReview(key: string, takenMinor = 999) {
    const request = paymentRequest(key, { source: 'tok_async' });
    await harness.pay(request);
    const charge = harness.chargeOf(request);
    await harness.processor.inside.correct(charge, { status: 'succeeded', amount_captured: takenMinor });
    await sendCallback(charge);
    return { request, charge };
  }

  test('refunds the captured money at the processor if the operator decides "failed"', async () => {
    const { request } = await inReview('wrong');
    expect(await decide(request, {})).toMatchObject({ kind: 'first' });
    await live(1);
    expect(heldAtProcessor(request)).toBe(0);
    await expectBooksToAgree(request);
    expect(await harness.store.inquiries()).toEqual([]);
  });

  test('with the outcome "succeeded" leads to the posting of refunds that were made at the processor before the decision', async () => {
    const { request, charge } = await inReview('refunded');
    await harness.processor.inside.refund(charge, 999);
    expect(await decide(request, { outcome: 'succeeded', takenMinor: 999 })).toMatchObject({ kind: 'first' });
    await live(1);
    expect((await harness.chain(request)).state.payment).toMatchObject({ amountRefundedMinor: 999 });
    await expectBooksToAgree(request);
  });

  test('cannot assign a stray charge to the payment', async () => {
    const { request } = await inReview('stray');
    const { chargeId } = await harness.processor.inside.charge({
      operationId: storedOperationId('other'),
      paymentId: request.paymentId,
      amountMinor: 1000,
    });
    await sendCallback(chargeId);
    expect(await decide(request, { outcome: 'succeeded', chargeId, takenMinor: 1000 })).toMatchObject({
      kind: 'impossible',
    });
  });

  test('cannot post more than the payment’s amount', async () => {
    const { request } = await inReview('more', 1500);
    expect(await decide(request, { outcome: 'succeeded', takenMinor: 1500 })).toMatchObject({ kind: 'impossible' });
    await decide(request, {});
    await live(1);
    expect(heldAtProcessor(request)).toBe(0);
    await expectBooksToAgree(request);
  });

  test('raises an alarm if the processor whose books must be checked is no longer configured', async () => {
    const { request } = await inReview('elsewhere');
    await decide(request, {});
    expect(await resolveInquiries(moved())).toMatchObject({ undecidable: 1, waiting: 0 });
    expectReported(request);
  });

  test('is checked again until the books of an unavailable processor can be read, without a reported failure', async () => {
    const { request } = await inReview('away');
    await decide(request, {});
    const chargesOfPayment = () => Promise.reject(new RetryableError('processor_unreachable', 'no'));
    const away = { ...harness.processor, chargesOfPayment };
    for (let minute = 0; minute < 3 * 60; minute += 1) {
      expect(await resolveInquiries({ ...harness.tools, books: [away] })).toMatchObject({ failed: 0 });
      harness.clock.advance(60_000);
    }
    expect(harness.reported).toEqual([]);
    expect(await harness.store.inquiries()).toHaveLength(1);
    await live(1);
    expect(await harness.store.inquiries()).toEqual([]);
  });

  test.each([
    ['capture', 'manual', { kind: 'capture', amountMinor: 1000 }],
    ['refund', 'automatic', { kind: 'refund', amountMinor: 1000 }],
  ] as const)('raises an alarm for a %s that never appears in the books', async (_what, capture, command) => {
    const request = paymentRequest('never-done', { capture });
    await harness.pay(request);
    await harness.processor.inside.failNextChange(9, 'tok_timeout_not_charged');
    const asked = change(request, 'never-done', command);
    await harness.change(asked);
    harness.clock.advance(2 * 60 * 60_000);
    const decided = await decide(request, { outcome: 'succeeded', change: asked.operationId, override: true });
    expect(decided).toMatchObject({ kind: 'first' });
    const alarms: string[] = [];
    const tools = { ...harness.tools, alarm: (what: string) => void alarms.push(what) };
    await resolveInquiries(tools);
    harness.clock.advance(60_000);
    await resolveInquiries(tools);
    expect(alarms).toHaveLength(1);
    await harness.processor.inside.correct(harness.chargeOf(request), { status: 'voided', amount_captured: 0 });
    harness.clock.advance(60_000);
    await resolveInquiries(tools);
    expect(alarms).toHaveLength(2);
  });

  test('raises one alarm if it names a charge unknown to the processor', async () => {
    const { request } = await inReview('unknown');
    await decide(request, { outcome: 'succeeded', chargeId: 'ch_nowhere', takenMinor: 1000, override: true });
    const alarms: string[] = [];
    const tools = { ...harness.tools, alarm: (what: string) => void alarms.push(what) };
    for (let quarter = 0; quarter < 20; quarter += 1) {
      await resolveInquiries(tools);
      harness.clock.advance(15 * 60_000);
    }
    expect(alarms.filter((what) => what !== 'late_success')).toEqual(['undecidable']);
    expect(await harness.store.inquiries()).toMatchObject([{ operationId: 'ch_nowhere', undecidable: true }]);
  });
});
