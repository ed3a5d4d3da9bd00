/**
 * An object is created at the processor and reported to Payonce while its payment is open. Then the payment ends, and
 * days later the object ends without a callback. Payonce tracks the object until then, and finally the books agree.
 */
import { describe, expect, test } from '@jest/globals';
import { chargeOperation } from '../../lambdas/payments/ids.ts';
import type { CreatePayment } from '../../lambdas/payments/use/create-payment.ts';
import { reconcileRecentJob } from '../../lambdas/reconciliation/use/reconcile.ts';
import { retryOrphans } from '../../lambdas/resolving/use/retry-orphans.ts';
import { returnCharges } from '../../lambdas/resolving/use/return-charges.ts';
import { finishJob } from '../jobs/finish-job.ts';
import { change, paymentRequest } from '../payments/payment-fixtures.ts';
import { ALL_DUE } from '../support/due.ts';
import { sliceOf } from '../support/slice.ts';
import { DAY_HOURS, OpenObjectsWorld, SHOWN } from './open-objects-world.ts';

const MINUTE_MS = 60_000;

type Act = (world: OpenObjectsWorld, payment: CreatePayment) => Promise<void>;

/** The first charge is the payment's own. */
const ownOf = ({ processor }: OpenObjectsWorld, { paymentId }: CreatePayment): string =>
  String(processor.charges(paymentId)[0]?.chargeId);

const pay =
  (source: string): Act =>
  async (world, payment) => {
    await world.pay({ ...payment, source });
  };

const review: Act = async (world, payment) => {
  const own = ownOf(world, payment);
  await world.processor.inside.correct(own, { status: 'succeeded', amount_captured: 999 });
  await world.sendCallback(own);
};

/** `last` decides a payment in review, so that the books can be compared. */
const ENDS: Readonly<Record<string, { readonly begin: Act; readonly end: Act; readonly last?: Act }>> = {
  declined: {
    begin: pay('tok_async'),
    end: async (world, payment) => {
      await world.processor.inside.decline(ownOf(world, payment));
      await world.sendCallback(ownOf(world, payment));
    },
  },
  canceled: {
    begin: pay('tok_action'),
    end: async (world, payment) => {
      await world.processor.inside.expire(ownOf(world, payment));
      await world.sendCallback(ownOf(world, payment));
    },
  },
  succeeded: {
    begin: pay('tok_async'),
    end: async (world, payment) => {
      await world.processor.inside.approve(ownOf(world, payment));
      await world.sendCallback(ownOf(world, payment));
    },
  },
  'decided succeeded': {
    begin: pay('tok_async'),
    end: async (world, payment) => {
      await review(world, payment);
      await world.decide(payment, { outcome: 'succeeded', takenMinor: 999 });
    },
  },
  'decided failed': {
    begin: pay('tok_async'),
    end: async (world, payment) => {
      await review(world, payment);
      await world.decide(payment, { outcome: 'failed' });
    },
  },
  'in review': {
    begin: pay('tok_async'),
    end: review,
    last: async (world, payment) => {
      const { status } = (await world.chain(payment)).state.payment;
      if (status === 'needs_review') await world.decide(payment, { outcome: 'failed' });
    },
  },
  'succeeded by another charge': {
    begin: (world, payment) => world.claimThenDie({ ...payment, source: 'tok_async' }, true),
    end: async (world, payment) => {
      const { chargeId } = await world.second(payment, 'tok_ok', chargeOperation(payment.paymentId));
      await world.sendCallback(chargeId);
    },
  },
};

interface Meantime {
  readonly chargeId: string;
  readonly ends: Readonly<Record<string, () => Promise<unknown>>>;
}
type Open = (world: OpenObjectsWorld, payment: CreatePayment) => Promise<Meantime>;

const secondCharge =
  (source: string, isOfOperation = false): Open =>
  async (world, payment) => {
    const operation = isOfOperation ? chargeOperation(payment.paymentId) : undefined;
    const { chargeId } = await world.second(payment, source, operation);
    const { inside } = world.processor;
    return { chargeId, ends: { approved: () => inside.approve(chargeId), declined: () => inside.decline(chargeId) } };
  };

const KINDS: Readonly<Record<string, { readonly endings: readonly string[]; readonly open: Open }>> = {
  'a pending second charge': { endings: ['approved', 'declined'], open: secondCharge('tok_async') },
  'a pending second charge that names the operation': {
    endings: ['approved', 'declined'],
    open: secondCharge('tok_async', true),
  },
  'a second charge that waits for its payer': { endings: ['approved', 'declined'], open: secondCharge('tok_action') },
  'a stray hold': {
    endings: ['voided by Payonce'],
    open: async (world, payment) => {
      const { chargeId } = await world.second(payment, 'tok_ok');
      const { inside } = world.processor;
      await inside.correct(chargeId, { status: 'authorized', amount_captured: 0 });
      return { chargeId, ends: { 'voided by Payonce': async () => undefined } };
    },
  },
  'a refund of a stray charge by another user': {
    endings: ['succeeded', 'failed'],
    open: async (world, payment) => {
      const { chargeId } = await world.second(payment, 'tok_ok');
      const { inside } = world.processor;
      const refund = await inside.refund(chargeId, 300, 'pending');
      const end = (status: 'succeeded' | 'failed') => () => inside.endRefund(refund, status);
      return { chargeId, ends: { succeeded: end('succeeded'), failed: end('failed') } };
    },
  },
  'a dispute of a stray charge': {
    endings: ['won', 'lost'],
    open: async (world, payment) => {
      const { chargeId } = await world.second(payment, 'tok_ok');
      const { inside } = world.processor;
      const dispute = await inside.dispute(chargeId, 300);
      const end = (outcome: 'won' | 'lost') => () => inside.closeDispute(dispute, outcome);
      return { chargeId, ends: { won: end('won'), lost: end('lost') } };
    },
  },
  'the return of a stray charge': {
    endings: ['succeeded', 'failed'],
    open: async (world, payment) => {
      const { chargeId } = await world.second(payment, 'tok_ok');
      const { inside } = world.processor;
      await world.sendCallback(chargeId);
      await inside.failNextChange(1, 'tok_async');
      world.clock.advance(MINUTE_MS);
      await returnCharges(world.tools);
      const refund = String((await inside.read(chargeId)).refunds[0]?.id);
      const end = (status: 'succeeded' | 'failed') => () => inside.endRefund(refund, status);
      return { chargeId, ends: { succeeded: end('succeeded'), failed: end('failed') } };
    },
  },
};

const WAYS: Readonly<Record<string, (...about: [...Parameters<Act>, chargeId: string]) => Promise<void>>> = {
  ...SHOWN,
  'the comparison of the books': async (world) => {
    const { store, processor, clock } = world;
    const tools = {
      ...world.tools,
      books: [processor],
      outcomes: store.ledger,
      views: world.views,
      marks: store.jobMarks,
      observer: { difference: () => undefined, counted: () => undefined },
    };
    const { cause: _cause, ...recent } = tools;
    clock.advance(30 * MINUTE_MS);
    await finishJob(reconcileRecentJob(recent), clock.nowMs());
  },
  'the adoption of an orphaned callback': async (world, _payment, chargeId) => {
    await world.sendCallback(chargeId, { books: { ...world.processor, readCharge: async () => undefined } });
    world.clock.advance(MINUTE_MS);
    await retryOrphans(world.tools);
  },
};

const CASES = Object.entries(KINDS).flatMap(([kind, { endings }]) =>
  endings.flatMap((ending) =>
    Object.keys(WAYS).flatMap((way) => Object.keys(ENDS).map((end) => ({ kind, ending, way, end }))),
  ),
);
/** This number has no common factor with the numbers of ways, ends and endings, so each slice covers all of them. */
const PARTS = 23;

describe('an object that is open while its payment ends', () => {
  test.each(sliceOf(CASES, PARTS))(
    'is tracked until its own end: $kind, reported by $way (end of the payment: $end; end of the object: $ending)',
    async ({ kind, ending, way, end }) => {
      const world = new OpenObjectsWorld();
      const payment = paymentRequest('meantime');
      const course = ENDS[end];
      const object = KINDS[kind];
      if (course === undefined || object === undefined) throw new Error('unknown case');
      await course.begin(world, payment);
      const { chargeId, ends } = await object.open(world, payment);
      await WAYS[way]?.(world, payment, chargeId);
      await course.end(world, payment);
      await world.live(3);
      await ends[ending]?.();
      await world.live(2 * DAY_HOURS);
      await course.last?.(world, payment);
      const own = world.processor.charges(payment.paymentId)[0];
      if (own?.status === 'pending') await world.processor.inside.decline(own.chargeId);
      await world.live(2 * DAY_HOURS);
      const { there, booked } = await world.held(payment);
      expect(booked).toBe(there);
      expect(await world.queued()).toEqual([]);
      expect(await world.store.chargesToReturn(ALL_DUE)).toEqual([]);
      expect(world.reported).toEqual([]);
      expect(world.alarms).not.toContain('undecidable');
    },
  );
});

const REFUND_WAYS: Readonly<
  Record<string, (world: OpenObjectsWorld, asked: ReturnType<typeof change>) => Promise<unknown>>
> = {
  'the response to its request': (world, asked) => world.change(asked),
  'the takeover of its claim': async (world, asked) => {
    await world.dieAfterChange(asked);
    world.clock.advance(MINUTE_MS);
    await world.resolveClaims();
  },
  'a callback': async (world, asked) => {
    await world.dieAfterChange(asked);
    await world.sendCallback(String(world.processor.charges(asked.paymentId)[0]?.chargeId));
  },
};
const REFUND_CASES = Object.keys(REFUND_WAYS).flatMap((way) =>
  (['undecided', 'decided failed', 'decided succeeded', 'disputed'] as const).flatMap((meantime) =>
    (['succeeded', 'failed'] as const).map((ending) => ({ way, meantime, ending })),
  ),
);

describe('Payonce’s own pending refund', () => {
  test.each(sliceOf(REFUND_CASES, 5))(
    'is tracked until its own end, when it is reported by $way (before its end: $meantime; its end: $ending)',
    async ({ way, meantime, ending }) => {
      const world = new OpenObjectsWorld();
      const payment = paymentRequest('refunded');
      await world.pay(payment);
      const { inside } = world.processor;
      const chargeId = ownOf(world, payment);
      const refund = change(payment, 'refund', { kind: 'refund', amountMinor: 400 });
      await inside.failNextChange(1, 'tok_async');
      await REFUND_WAYS[way]?.(world, refund);
      await world.live(2);
      if (meantime === 'disputed') await inside.closeDispute(await inside.dispute(chargeId, 600), 'lost');
      if (meantime === 'disputed') await world.sendCallback(chargeId);
      if (meantime === 'decided failed') await world.decideUnread(payment, refund);
      if (meantime === 'decided succeeded') await world.decideUnread(payment, refund, 'succeeded');
      await world.live(3 * DAY_HOURS);
      await inside.endRefund(refund.operationId, ending);
      await world.live(2 * DAY_HOURS);
      const { there, booked } = await world.held(payment);
      expect(booked).toBe(there);
      expect(await world.queued()).toEqual([]);
      expect(world.reported).toEqual([]);
    },
  );
});

const HOLD_CASES = (['capture', 'cancel'] as const).flatMap((kind) =>
  (['before', 'after'] as const).flatMap((lost) =>
    (['undecided', 'decided failed', 'decided succeeded'] as const).map((meantime) => ({ kind, lost, meantime })),
  ),
);

describe('a change of a hold whose owner crashed', () => {
  test.each(HOLD_CASES)(
    'has the same result as at the processor, or raises an alarm: $kind, crash $lost the call, $meantime by an operator',
    async (history) => {
      const { kind, lost, meantime } = history;
      const world = new OpenObjectsWorld();
      const payment = paymentRequest('held', { capture: 'manual' });
      await world.pay(payment);
      const asked = change(payment, 'asked', kind === 'capture' ? { kind, amountMinor: 1000 } : { kind });
      if (lost === 'after') await world.dieAfterChange(asked);
      else await world.dieBeforeChange(asked);
      world.clock.advance(50 * MINUTE_MS);
      const before = lost === 'before' ? 'failed' : 'succeeded';
      if (meantime !== 'undecided')
        await world.decideUnread(payment, asked, meantime === 'decided failed' ? 'failed' : 'succeeded');
      await world.live(2 * DAY_HOURS);
      const { there, booked } = await world.held(payment);
      const isWrong = meantime !== 'undecided' && meantime !== `decided ${before}`;
      if (isWrong && booked !== there) expect(world.alarms).toContain('contradiction');
      else expect(booked).toBe(there);
      const [charge] = world.processor.charges(payment.paymentId);
      // After a wrong decision, the charge stays queued while its hold is open at the processor.
      expect(await world.queued()).toEqual(isWrong && charge?.status === 'authorized' ? [charge.chargeId] : []);
      expect(world.reported).toEqual([]);
    },
  );
});
