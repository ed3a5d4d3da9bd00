import type { Draft } from './act.ts';
import {
  after,
  before,
  type Course,
  callbackLoss,
  draft,
  EURO,
  HOUR_MS,
  noFaults,
  type Root,
  SECOND_MS,
  slowly,
  wrongAmount,
} from './course.ts';

const PROCESSOR_IS_AWAY_MS = 30 * HOUR_MS;
/** Time window after the claim during which a charge may be sent, in milliseconds. */
const SEND_WINDOW_MS = HOUR_MS / 4;
const BUS_IS_AWAY_MS = 60 * HOUR_MS;
/**
 * An approval request has expired after `EXPIRED_SOON_MS` in some histories, and after `EXPIRED_MS` in all histories.
 * Both are in milliseconds.
 */
const EXPIRED_SOON_MS = 2 * HOUR_MS;
const EXPIRED_MS = 73 * HOUR_MS;

const busAway = (root: Root): Draft => draft('bus_outage', 'instant', { forMs: BUS_IS_AWAY_MS }, before(root));

const review: Course = {
  of: 'pay',
  begins: { ...EURO, source: 'tok_async' },
  goesOn: (dice, root) => {
    const charge = dice.whole(0, 1);
    const stray = { amount: Math.ceil(root.amount * dice.pick([1, 0.5])), named: false, source: 'tok_ok' };
    return [
      slowly(root),
      ...(dice.chance(0.5) ? [busAway(root)] : []),
      wrongAmount(dice, root),
      ...(charge === 1 || dice.chance(0.2) ? [draft('stray', ['instant', 'minutes'], stray)] : []),
      draft('decide', 'hours', {
        outcome: dice.chance(0.8) ? 'succeeded' : 'failed',
        charge,
        amount: 'taken',
        dry: false,
      }),
    ];
  },
};

/**
 * The processor of payments in euros is down, so its breaker opens. Payments in dollars use the second processor, which
 * is not down.
 */
const defaultIsAway: Course = {
  of: 'pay',
  begins: { ...EURO, source: 'tok_async' },
  goesOn: (dice, root) => {
    const dollars = (): Draft => {
      const source = dice.pick(['tok_rate_limited', 'tok_rate_limited', 'tok_async']);
      return draft('pay', 'minutes', { ...EURO, currency: 'USD', source });
    };
    return [
      draft('deploy', 'instant', { defaultProcessor: 'sandbox', dollars: 'second', cron: false }, before(root)),
      noFaults(root),
      slowly(root, 1),
      ...Array.from({ length: 6 }, () => draft('pay', 'seconds', { ...EURO, source: 'tok_async' }, after(root, 0))),
      // The outage begins while the payments in euros are less than an hour old. Every resolver run reads such
      // payments.
      draft(
        'processor_outage',
        'seconds',
        { processor: 'sandbox', forMs: PROCESSOR_IS_AWAY_MS },
        { ...after(root, 90 * SECOND_MS), leadsTo: () => [dollars(), dollars(), dollars()] },
      ),
    ];
  },
};

/** The refund must still go to the processor that made the charge. */
const formerProcessor: Course = {
  of: 'pay',
  begins: { ...EURO, source: 'tok_ok' },
  goesOn: (dice, root) => {
    const [former, next] = dice.chance(0.5) ? (['second', 'sandbox'] as const) : (['sandbox', 'second'] as const);
    return [
      draft('deploy', 'instant', { defaultProcessor: former, cron: false }, before(root)),
      draft('deploy', 'minutes', { defaultProcessor: next, cron: false }),
      draft('refund', 'hours', dice.chance(0.5) ? {} : { amount: 1 }),
    ];
  },
};

const rebuiltConcurrently: Course = {
  of: 'pay',
  begins: { ...EURO, source: 'tok_ok' },
  goesOn: (dice, root) => [
    busAway(root),
    ...(dice.chance(0.5) ? [draft('refund', 'minutes', { amount: 1 })] : []),
    draft('rebuild', ['seconds', 'minutes', 'hours']),
  ],
};

/**
 * A late charge is refunded, except the amount of a lost dispute. While the refund is pending, the books change the
 * dispute to won.
 */
const concurrentReturns: Course = {
  of: 'pay',
  begins: { ...EURO, source: 'tok_declined' },
  goesOn: (dice, root) => {
    return [
      // The refund stays pending for longer than the processor keeps the refund's idempotency key.
      slowly(root, 0, 240),
      draft('late_success', 'instant', {}, after(root, SECOND_MS)),
      draft(
        'trouble',
        'instant',
        { processor: 'its', calls: 'changes', count: 1, source: 'tok_async' },
        after(root, SECOND_MS),
      ),
      draft('dispute', 'instant', { amount: root.amount / dice.pick([2, 2, 4]) }, after(root, 2 * SECOND_MS)),
      draft('close_dispute', 'instant', { outcome: 'lost' }, after(root, 3 * SECOND_MS)),
      draft(
        'contradict',
        ['minutes', 'hours'],
        { what: 'dispute_won', hasCallback: true },
        after(root, 120 * SECOND_MS),
      ),
    ];
  },
};

const unknownCharge: Course = {
  of: 'pay',
  begins: { ...EURO, source: 'tok_action' },
  goesOn: (dice, { amount }) => [
    draft('stray', 'instant', { amount, named: false, source: 'tok_ok', lost: 'elsewhere' }),
    draft('decide', 'seconds', { outcome: 'succeeded', charge: 1, amount, dry: false, override: 'away' }),
    draft('refund', ['hours', 'days'], dice.chance(0.5) ? {} : { amount: 1 }),
  ],
};

const lateVerdict: Course = {
  of: 'pay',
  feature: 'approvals',
  begins: { ...EURO, source: 'tok_ok' },
  goesOn: (dice, root) => [
    draft('correct', 'minutes', { debit: 'merchant_payable', credit: 'corrections', amount: dice.whole(400, 1200) }),
    draft(
      'verdict',
      'hours',
      { verdict: 'approve', by: 'approver', late: true },
      after(root, dice.pick([EXPIRED_SOON_MS, EXPIRED_MS])),
    ),
  ],
};

/** Each correction may be below the approval limit although their sum exceeds the limit. */
const correctedInParts: Course = {
  of: 'pay',
  feature: 'approvals',
  begins: { ...EURO, source: 'tok_ok' },
  goesOn: (dice) => {
    const part = (): Draft =>
      draft('correct', 'hours', { debit: 'merchant_payable', credit: 'corrections', amount: dice.whole(300, 500) });
    return [part(), part(), part()];
  },
};

const otherMode: Course = {
  of: 'pay',
  begins: { ...EURO, source: 'tok_ok' },
  goesOn: (dice, { amount }) => [
    draft(
      'refund',
      'minutes',
      { amount: Math.ceil(amount * dice.pick([0.3, 0.5])) },
      {
        leadsTo: ({ id }) => [draft('retry', ['seconds', 'minutes'], { of: id, changed: false, stranger: 'mode' })],
      },
    ),
  ],
};

/**
 * A charge that waited for its payer has so many new facts that several transactions record them. A process crashes
 * between these transactions, and no callback reports the facts.
 */
const partsOfFacts: Course = {
  of: 'pay',
  // A look-up by idempotency key would show only that the charge succeeded, not its refunds.
  begins: { ...EURO, source: 'tok_action' },
  goesOn: (dice, root) => {
    const rates = { crash_before: dice.pick([0.05, 0.07]), crash_after: dice.pick([0.05, 0.07]) };
    const flood = draft('flood', 'instant', { count: 400 });
    const faults = draft('faults', 'instant', { rates, clockSkewMs: 0 });
    return [slowly(root, 1), draft('late_success', ['minutes', 'hours'], {}, { leadsTo: () => [flood, faults] })];
  },
};

/** The processor captures more than the hold. */
export const reviewOfHold: Course = {
  of: 'pay',
  begins: { ...EURO, source: 'tok_fee', capture: 'manual' },
  goesOn: (dice, { amount }) => [
    draft('wrong_amount', 'seconds', { amount: Math.ceil(amount * dice.pick([1.001, 1.5])), hasCallback: true }),
    draft('decide', 'hours', { outcome: dice.chance(0.8) ? 'failed' : 'succeeded', dry: false }),
  ],
};

/** The bank reports the refund's result after the decision. */
export const decidedRefundEnds: Course = {
  of: 'pay',
  begins: { ...EURO, source: 'tok_ok' },
  goesOn: (dice, root) => {
    return [
      slowly(root, 0, 240),
      draft(
        'trouble',
        'instant',
        { processor: 'its', calls: 'changes', count: 1, source: 'tok_async' },
        after(root, HOUR_MS),
      ),
      draft('refund', 'instant', dice.chance(0.5) ? {} : { amount: 1 }, {
        ...after(root, 1.01 * HOUR_MS),
        leadsTo: ({ id, atMs }) => [
          draft('processor_outage', 'instant', { processor: 'its', forMs: PROCESSOR_IS_AWAY_MS }),
          draft(
            'decide_change',
            'instant',
            { of: id, outcome: 'failed', override: true },
            { fromMs: atMs + 2 * HOUR_MS },
          ),
        ],
      }),
      dice.chance(0.7)
        ? draft('fail_refund', 'hours', { which: 'newest' }, after(root, 5 * HOUR_MS))
        : draft('finish_refund', 'hours', {}, after(root, 5 * HOUR_MS)),
    ];
  },
};

/** The payment's charge request has no effect. */
export const chargeAfterTheWindow: Course = {
  of: 'pay',
  begins: { ...EURO, source: 'tok_timeout_not_charged' },
  goesOn: (dice, root) => [
    slowly(root, 0, 240),
    draft(
      'processor_outage',
      'instant',
      { processor: 'its', forMs: Math.ceil(SEND_WINDOW_MS * dice.pick([1.01, 1.3])) },
      after(root, SECOND_MS),
    ),
    draft(
      'stray',
      ['seconds', 'minutes'],
      { amount: root.amount, named: true, source: 'tok_async' },
      after(root, 10 * SECOND_MS),
    ),
  ],
};

/**
 * The processor charges, but the process crashes before it reads the response. A callback then reports a second,
 * pending charge for the same operation. The second charge becomes the payment's own charge, and no callback reports
 * its outcome.
 */
const ownIsPending: Course = {
  of: 'pay',
  begins: { ...EURO, source: 'tok_timeout_charged' },
  goesOn: (dice, root) => {
    return [
      slowly(root, 1),
      draft('storm', 'instant', { rates: { crash_before: 0.9 }, forMs: 8 * SECOND_MS }, after(root, SECOND_MS)),
      callbackLoss(0, after(root, 10 * SECOND_MS), dice.pick([1, 24])),
      draft('stray', 'instant', { amount: root.amount, named: true, source: 'tok_async' }, after(root, 11 * SECOND_MS)),
      callbackLoss(1, after(root, 30 * SECOND_MS)),
    ];
  },
};

/** A refund and a further charge, both without a callback, cancel each other out in a payment's totals. */
const equalSums: Course = {
  of: 'pay',
  begins: { ...EURO, source: 'tok_ok' },
  goesOn: (dice, root) => {
    const amount = Math.ceil(root.amount * dice.pick([1, 0.5]));
    return [
      slowly(root, 1),
      noFaults(root),
      draft('foreign_refund', 'seconds', { amount, begins: 'succeeded' }),
      draft('stray', 'seconds', { amount, named: dice.chance(0.5), source: 'tok_ok' }),
      draft('run_job', 'minutes', { job: 'reconcile-recent' }, after(root, 2 * HOUR_MS)),
      // This correction does not change the processor's account.
      ...(dice.chance(0.5)
        ? [draft('correct', 'minutes', { debit: 'merchant_payable', credit: 'fees', amount: 7 })]
        : []),
    ];
  },
};

const holdChanges: Course = {
  of: 'pay',
  begins: { ...EURO, source: 'tok_ok', capture: 'manual' },
  goesOn: (dice, root) => {
    const [first, second] = dice.chance(0.5) ? (['capture', 'cancel'] as const) : (['cancel', 'capture'] as const);
    return dice.chance(0.5)
      ? [draft(first, 'seconds', {}, { leadsTo: () => [draft(second, 'instant')] })]
      : [
          draft('trouble', 'instant', {
            processor: 'its',
            calls: 'changes',
            count: 4,
            source: 'tok_timeout_not_charged',
          }),
          draft(first, 'instant', {}, { ...after(root, SECOND_MS), leadsTo: () => [draft(second, 'seconds')] }),
        ];
  },
};

export const PAYMENT_COURSES: readonly Course[] = [
  review,
  review,
  defaultIsAway,
  formerProcessor,
  rebuiltConcurrently,
  concurrentReturns,
  unknownCharge,
  lateVerdict,
  correctedInParts,
  otherMode,
  partsOfFacts,
  reviewOfHold,
  decidedRefundEnds,
  chargeAfterTheWindow,
  ownIsPending,
  equalSums,
  holdChanges,
];
