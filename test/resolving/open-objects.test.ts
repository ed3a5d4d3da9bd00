/**
 * An object that is open at the processor, according to a read or a callback, stays in a queue until it has a result,
 * whatever the state of its payment. Each case ends the object days later without a callback, and compares the books.
 * Tests the guarantee "known outcomes".
 */
import { beforeEach, describe, expect, test } from '@jest/globals';
import { AmbiguousError } from '../../lambdas/kernel/faults.ts';
import { fingerprintOf } from '../../lambdas/kernel/fingerprint.ts';
import { ownerToken, storedOperationId } from '../../lambdas/kernel/ids.ts';
import { type AskedDecision, decidePayment } from '../../lambdas/operators/use/decide-payment.ts';
import { netDebitMinor } from '../../lambdas/payments/domain/posting.ts';
import { chargeOperation } from '../../lambdas/payments/ids.ts';
import type { ChangePayment } from '../../lambdas/payments/use/change-payment.ts';
import type { CreatePayment } from '../../lambdas/payments/use/create-payment.ts';
import { booksInquiry } from '../../lambdas/payments/use/queued-with.ts';
import { readCharge, recordCharge } from '../../lambdas/payments/use/record-charge.ts';
import { resolveClaims, resolveInquiries } from '../../lambdas/resolving/use/resolve.ts';
import { returnCharges } from '../../lambdas/resolving/use/return-charges.ts';
import { callback, change, paymentRequest } from '../payments/payment-fixtures.ts';
import { BY_OPERATOR, OPERATOR } from '../support/causes.ts';
import { ALL_DUE } from '../support/due.ts';
import { sliceOf, whole } from '../support/slice.ts';
import { World } from '../world/world.ts';

const MINUTE_MS = 60_000;
const DAY_HOURS = 24;
/** Time between two runs of the jobs while nothing changes for days, in half hours. */
const QUIET_HALVES = whole(1, { slice: 8 });

let world: World;
let alarms: string[];
let count: number;

beforeEach(() => {
  world = new World();
  alarms = [];
  count = 0;
});

const tools = () => ({ ...world.tools, alarm: (what: string) => void alarms.push(what) });
const unanswered = async (): Promise<never> => {
  throw new AmbiguousError('injected_ambiguity', 'the response is lost');
};

/** The jobs run once every `halves` half hours. */
async function live(hours: number, halves = 1): Promise<void> {
  for (let half = 0; half < 2 * hours; half += halves) {
    await resolveClaims(tools());
    await resolveInquiries(tools());
    await returnCharges(tools());
    world.clock.advance(halves * 30 * MINUTE_MS);
  }
}

const sendCallback = async (chargeId: string): Promise<void> => {
  count += 1;
  await world.deliver(callback(`evt_${count}`, chargeId), { alarm: (what) => void alarms.push(what) });
};

async function decide(payment: CreatePayment, asked: Omit<AskedDecision, 'kind'>, books = world.tools.books) {
  count += 1;
  const outcome = await decidePayment(
    { ...world.tools, books },
    {
      cause: BY_OPERATOR,
      operationId: storedOperationId(`dec_${count}`),
      fingerprint: fingerprintOf(world.tools.digest, { body: {}, query: {} }),
      payment: payment.paymentId,
      reason: 'Seen on the statement',
      by: OPERATOR,
      asked: { kind: 'decision', ...asked },
    },
  );
  expect(outcome).toMatchObject({ kind: 'first', answer: { status: 200 } });
}

/** The processor's books cannot be read at the time of the decision. */
const decideUnread = (payment: CreatePayment, { operationId }: ChangePayment) =>
  decide(payment, { outcome: 'failed', change: operationId, override: true }, [
    { ...world.processor, readCharge: unanswered },
  ]);

/** No request reaches the processor. */
async function sendUnanswered(asked: ChangePayment): Promise<void> {
  const lost = { processor: { ...world.processor, change: unanswered } };
  await world.change(asked, lost);
  for (let minute = 0; minute < 50; minute += 1) {
    world.clock.advance(MINUTE_MS);
    await resolveInquiries({ ...tools(), ...lost });
  }
}

async function held(payment: CreatePayment) {
  const charges = world.processor.charges(payment.paymentId);
  const there = charges.reduce((sum, { capturedMinor, refunds, disputes }) => {
    const refunded = refunds.filter(({ status }) => status === 'succeeded').map(({ amountMinor }) => amountMinor);
    const disputed = disputes.filter(({ status }) => status !== 'won').map(({ amountMinor }) => amountMinor);
    return [...refunded, ...disputed].reduce((left, minor) => left - minor, sum + capturedMinor);
  }, 0);
  const { transitions } = await world.chain(payment);
  const postings = transitions.flatMap((transition) => transition.postings);
  return { there, booked: netDebitMinor('processor_clearing', 'EUR', postings) };
}

/** The object ends at the processor after nine days. */
async function endsWithoutCallback(
  payment: CreatePayment,
  end: () => Promise<void>,
  alarmsBefore: readonly string[] = [],
): Promise<void> {
  await live(9 * DAY_HOURS, QUIET_HALVES);
  expect(alarms).toEqual(expect.arrayContaining([...alarmsBefore]));
  await end();
  await live(2 * DAY_HOURS);
  const { there, booked } = await held(payment);
  expect(booked).toBe(there);
  expect(await world.store.inquiries()).toEqual([]);
  expect(await world.store.chargesToReturn(ALL_DUE)).toEqual([]);
  expect(world.reported).toEqual([]);
}

describe('a refund that is pending at the processor but final in the chain', () => {
  let payment: CreatePayment;
  let refund: ChangePayment;
  const refundId = () => String(world.processor.charges(payment.paymentId)[0]?.refunds[0]?.refundId);

  beforeEach(async () => {
    payment = paymentRequest('refunded');
    await world.pay(payment);
    refund = change(payment, 'refund', { kind: 'refund', amountMinor: 400 });
  });

  test('is tracked after an operator decided that it failed', async () => {
    await world.processor.inside.failNextChange(1, 'tok_async');
    await world.change(refund);
    await live(2);
    await decideUnread(payment, refund);
    await endsWithoutCallback(payment, () => world.processor.inside.endRefund(refundId(), 'succeeded'), [
      'contradiction',
    ]);
  });

  test('is tracked if its request arrives after Payonce declared it not attempted', async () => {
    await sendUnanswered(refund);
    expect((await world.chain(payment)).state.refunds.get(refund.operationId)).toMatchObject({ status: 'failed' });
    const { operationId } = refund;
    await world.processor.inside.refund(world.chargeOf(payment), 400, 'pending');
    await world.processor.inside.correct(world.chargeOf(payment), {
      refunds: (await world.processor.inside.read(world.chargeOf(payment))).refunds.map((each) => ({
        ...each,
        metadata: { operation: operationId, payment: payment.paymentId },
      })),
    });
    await sendCallback(world.chargeOf(payment));
    await endsWithoutCallback(payment, () => world.processor.inside.endRefund(refundId(), 'succeeded'), [
      'contradiction',
    ]);
  });

  test('is tracked even if only the response to the refund request reported it', async () => {
    await world.processor.inside.failNextChange(1, 'tok_async');
    const store = world.storeWithRival(async () => {
      world.clock.advance(50 * MINUTE_MS);
      await decideUnread(payment, refund);
    });
    await world.change(refund, { store });
    for (const entry of await world.store.inquiries())
      if (entry.waitsFor === 'books') await world.store.closeInquiry(entry);
    await endsWithoutCallback(payment, () => world.processor.inside.endRefund(refundId(), 'succeeded'), [
      'contradiction',
    ]);
  });

  test('is tracked if its owner crashed after the send, and an operator decided before the takeover of its claim', async () => {
    await world.processor.inside.failNextChange(1, 'tok_async');
    await world.dieAfterChange(refund);
    world.clock.advance(50 * MINUTE_MS);
    await decideUnread(payment, refund);
    for (const entry of await world.store.inquiries()) await world.store.closeInquiry(entry);
    await endsWithoutCallback(payment, () => world.processor.inside.endRefund(refundId(), 'succeeded'), [
      'contradiction',
    ]);
  });
});

describe('a pending charge made by another attempt of the payment', () => {
  test('is tracked if its owner crashed after the send, and another charge of the operation has completed the payment', async () => {
    const payment = paymentRequest('owner-dies', { source: 'tok_async' });
    await world.claimThenDie(payment, true);
    const first = world.chargeOf(payment);
    const { paymentId } = payment;
    const about = { paymentId, operationId: chargeOperation(paymentId), amountMinor: 1000 };
    const { chargeId: second } = await world.processor.inside.charge(about);
    await sendCallback(second);
    expect((await world.chain(payment)).state.payment).toMatchObject({ status: 'succeeded', chargeId: second });
    await endsWithoutCallback(payment, () => world.processor.inside.approve(first));
    expect(world.refundedAtProcessor(payment)).toBe(1000);
  });

  test('is tracked if its owner received no response, and another charge has completed the payment', async () => {
    const payment = paymentRequest('no-answer', { source: 'tok_async' });
    const { processor } = world;
    const { paymentId } = payment;
    const charge: typeof processor.charge = async (...asked) => processor.charge(...asked).then(unanswered);
    const store = world.storeWithRival(async () => {
      const about = { paymentId, operationId: chargeOperation(paymentId), amountMinor: 1000 };
      await sendCallback((await processor.inside.charge(about)).chargeId);
    });
    await world.pay(payment, { store, processor: { ...processor, charge, findCharge: unanswered } });
    expect((await world.chain(payment)).state.payment.status).toBe('succeeded');
    const first = String(processor.charges(paymentId).find(({ status }) => status === 'pending')?.chargeId);
    await endsWithoutCallback(payment, () => processor.inside.approve(first));
    expect(world.refundedAtProcessor(payment)).toBe(1000);
  });
});

/** Ways to bring a payment into each state. */
const COURSES = {
  processing: async (payment: CreatePayment) => {
    await world.pay({ ...payment, source: 'tok_async' });
  },
  'requires action': async (payment: CreatePayment) => {
    await world.pay({ ...payment, source: 'tok_action' });
  },
  authorized: async (payment: CreatePayment) => {
    await world.pay({ ...payment, capture: 'manual' });
  },
  succeeded: async (payment: CreatePayment) => {
    await world.pay(payment);
  },
  failed: async (payment: CreatePayment) => {
    await world.pay({ ...payment, source: 'tok_declined' });
  },
  canceled: async (payment: CreatePayment) => {
    const authorized: CreatePayment = { ...payment, capture: 'manual' };
    await world.pay(authorized);
    await world.change(change(authorized, 'cancel', { kind: 'cancel' }));
  },
  'in review': inReview,
  'decided failed': async (payment: CreatePayment) => {
    await inReview(payment);
    await decide(payment, { outcome: 'failed' });
  },
  'decided succeeded': async (payment: CreatePayment) => {
    await inReview(payment);
    await decide(payment, { outcome: 'succeeded', takenMinor: 999 });
  },
} as const satisfies Record<string, (payment: CreatePayment) => Promise<void>>;
type Course = keyof typeof COURSES;
const ALL = Object.keys(COURSES) as readonly Course[];

async function inReview(payment: CreatePayment): Promise<void> {
  await world.pay({ ...payment, source: 'tok_async' });
  const charge = world.chargeOf(payment);
  await world.processor.inside.correct(charge, { status: 'succeeded', amount_captured: 999 });
  await sendCallback(charge);
}

interface Opened {
  readonly chargeId: string;
  readonly end: () => Promise<void>;
}

const second = (payment: CreatePayment, source: string, operationId = 'by-hand') =>
  world.processor.inside.charge({
    paymentId: payment.paymentId,
    operationId: storedOperationId(operationId),
    amountMinor: 1000,
    source,
  });

/** `courses` are the payment states in which the object can be open. */
const KINDS: Readonly<
  Record<string, { readonly courses: readonly Course[]; readonly open: (payment: CreatePayment) => Promise<Opened> }>
> = {
  'a pending second charge': {
    courses: ALL,
    open: async (payment) => {
      const { chargeId } = await second(payment, 'tok_async');
      return { chargeId, end: () => world.processor.inside.approve(chargeId) };
    },
  },
  'a pending second charge that names the operation': {
    courses: ALL.filter((course) => course !== 'processing' && course !== 'requires action'),
    open: async (payment) => {
      const { chargeId } = await second(payment, 'tok_async', chargeOperation(payment.paymentId));
      return { chargeId, end: () => world.processor.inside.approve(chargeId) };
    },
  },
  'a second charge that waits for its payer': {
    courses: ALL,
    open: async (payment) => {
      const { chargeId } = await second(payment, 'tok_action');
      return { chargeId, end: () => world.processor.inside.approve(chargeId) };
    },
  },
  'its own charge, which has become pending again,': {
    courses: ['failed', 'canceled'],
    open: async (payment) => {
      const chargeId = world.chargeOf(payment);
      await world.processor.inside.correct(chargeId, { status: 'pending', amount_captured: 0 });
      return { chargeId, end: () => world.processor.inside.approve(chargeId) };
    },
  },
  'a refund by another user': {
    courses: ['succeeded', 'decided succeeded'],
    open: async (payment) => {
      const chargeId = world.chargeOf(payment);
      const refund = await world.processor.inside.refund(chargeId, 300, 'pending');
      return { chargeId, end: () => world.processor.inside.endRefund(refund, 'succeeded') };
    },
  },
  'a refund by another user in a review': {
    courses: ['in review'],
    open: async (payment) => {
      const chargeId = world.chargeOf(payment);
      const refund = await world.processor.inside.refund(chargeId, 300, 'pending');
      return { chargeId, end: () => world.processor.inside.endRefund(refund, 'failed') };
    },
  },
  'its own charge, which is authorized again': {
    courses: ['succeeded'],
    open: async (payment) => {
      const chargeId = world.chargeOf(payment);
      const { status, amount_captured: captured } = await world.processor.inside.read(chargeId);
      await world.processor.inside.correct(chargeId, { status: 'authorized', amount_captured: 0 });
      return { chargeId, end: () => world.processor.inside.correct(chargeId, { status, amount_captured: captured }) };
    },
  },
  'a dispute that was won and reopened': {
    courses: ['succeeded'],
    open: async (payment) => {
      const chargeId = world.chargeOf(payment);
      const dispute = await world.processor.inside.dispute(chargeId, 300);
      await world.processor.inside.closeDispute(dispute, 'won');
      await sendCallback(chargeId);
      const { disputes } = await world.processor.inside.read(chargeId);
      const showAs = (status: 'open' | 'won') =>
        world.processor.inside.correct(chargeId, { disputes: disputes.map((each) => ({ ...each, status })) });
      await showAs('open');
      return { chargeId, end: () => showAs('won') };
    },
  },
  'a dispute': {
    courses: ['succeeded', 'decided succeeded'],
    open: async (payment) => {
      const chargeId = world.chargeOf(payment);
      const dispute = await world.processor.inside.dispute(chargeId, 300);
      return { chargeId, end: () => world.processor.inside.closeDispute(dispute, 'won') };
    },
  },
};

/** Ways in which Payonce learns about an object. */
const SHOWN: Readonly<Record<string, (payment: CreatePayment, chargeId: string) => Promise<void>>> = {
  'a callback': async (_payment, chargeId) => sendCallback(chargeId),
  'a read of the charge': async ({ paymentId }, chargeId) => {
    const read = () => readCharge(world.processor, chargeId);
    await recordCharge(tools(), paymentId, storedOperationId('look'), read);
  },
  'a read of the books': async ({ paymentId }) => {
    const nowMs = world.clock.nowMs();
    await world.store.recordEffect({
      record: {
        operationId: storedOperationId('queued'),
        paymentId,
        owner: ownerToken('open-objects'),
        recordedAtMs: nowMs,
        expiresAtSeconds: nowMs / 1000 + 86_400,
      },
      transitions: [],
      inquiries: [booksInquiry(paymentId, nowMs)],
    });
  },
};

/**
 * This number has no common factor with the number of ways or the number of states, so each slice covers all of them.
 */
const PARTS = 7;
const MATRIX = Object.entries(KINDS).flatMap(([kind, { courses }]) =>
  courses.flatMap((course) => Object.keys(SHOWN).map((way) => [kind, way, course] as const)),
);

test('a second read of a queued object does not change its queue entry', async () => {
  const payment = paymentRequest('again');
  await world.pay(payment);
  const { chargeId } = await second(payment, 'tok_async');
  const queued = async () => (await world.store.inquiries()).map(({ claimedAtMs }) => claimedAtMs);
  await SHOWN['a read of the charge']?.(payment, chargeId);
  const before = await queued();
  world.clock.advance(MINUTE_MS);
  await SHOWN['a read of the charge']?.(payment, chargeId);
  expect(await queued()).toEqual(before);
});

describe('a dispute that is open in the chain', () => {
  let payment: CreatePayment;
  let chargeId: string;
  const queued = async () => (await world.store.inquiries()).map(({ operationId }) => operationId);

  beforeEach(async () => {
    payment = paymentRequest('vanished');
    await world.pay(payment);
    chargeId = world.chargeOf(payment);
    await world.processor.inside.dispute(chargeId, 300);
    await sendCallback(chargeId);
  });

  test('stays queued while the processor shows the charge without the dispute', async () => {
    await world.processor.inside.correct(chargeId, { disputes: [] });
    await live(3);
    expect(await queued()).toEqual([chargeId]);
  });

  test('stays queued and raises an alarm while the processor does not know the charge', async () => {
    const books = [{ ...world.processor, readCharge: async () => undefined }];
    world.clock.advance(2 * DAY_HOURS * 60 * MINUTE_MS);
    await resolveInquiries({ ...tools(), books });
    expect(await queued()).toEqual([chargeId]);
    expect(alarms).toEqual(['undecidable']);
    expect(world.reported).toEqual([]);
  });
});

describe('an object that is open at the processor', () => {
  test.each(sliceOf(MATRIX, PARTS))(
    'is tracked: %s, reported by %s, while the payment is %s',
    async (kind, way, course) => {
      const payment = paymentRequest('open');
      await COURSES[course](payment);
      const opened = await KINDS[kind]?.open(payment);
      if (opened === undefined) throw new Error('the kind is unknown');
      await SHOWN[way]?.(payment, opened.chargeId);
      await live(3);
      expect(world.reported).toEqual([]);
      const entries = await world.store.inquiries();
      expect(entries.map(({ operationId }) => operationId)).toContain(opened.chargeId);
      await opened.end();
      await live(2 * DAY_HOURS);
      const left = (await world.store.inquiries()).map(({ operationId }) => operationId);
      expect(left).not.toContain(opened.chargeId);
      if (course === 'in review') await decide(payment, { outcome: 'succeeded', takenMinor: 999 });
      await live(3);
      const { there, booked } = await held(payment);
      expect(booked).toBe(there);
    },
  );
});
