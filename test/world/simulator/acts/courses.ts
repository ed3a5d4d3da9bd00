import type { Step } from '../contract.ts';
import type { Feature } from '../profiles.ts';
import type { Dice } from '../random.ts';
import type { Draft, Drawing, Pace } from './act.ts';

/**
 * Rare courses of a payment or an order: acts that show a fault only in this order. Their amounts and times are drawn, other acts
 * happen in between, and any feature can be switched on as well.
 */
interface Course {
  /** What makes the subject. */
  readonly of: 'pay' | 'order';
  /** It is taken only while the feature is switched on. @default always */
  readonly feature?: Feature;
  /** How it is made. @default as drawn */
  readonly begins: Readonly<Record<string, unknown>>;
  readonly goesOn: (dice: Dice, root: Root) => readonly Draft[];
}

interface Root extends Step {
  readonly amount: number;
}

const SECOND_MS = 1_000;
const HOUR_MS = 3_600 * SECOND_MS;
const PROCESSOR_IS_AWAY_MS = 30 * HOUR_MS;
const BUS_IS_AWAY_MS = 60 * HOUR_MS;
const STOCK_IS_AWAY_MS = HOUR_MS / 3;
/** Longer than an order tries to send its e-mail. */
const MAIL_IS_AWAY_MS = 96 * HOUR_MS;
/** Longer than a request waits for a second person, in some histories and in all of them. */
const EXPIRED_SOON_MS = 2 * HOUR_MS;
const EXPIRED_MS = 73 * HOUR_MS;

const EURO = { tenant: 'shop', amount: 1000, currency: 'EUR', capture: 'automatic', copies: 1 } as const;

function draft(
  act: string,
  pace: Pace | readonly Pace[],
  given: Draft['given'] = {},
  more: Partial<Draft> = {},
): Draft {
  return { act, pace: typeof pace === 'string' ? [pace] : pace, given, ...more };
}

/** Shortly before the subject is made. */
const before = ({ atMs }: Root): Partial<Draft> => ({ fromMs: atMs - 2 * SECOND_MS, isBefore: true });

/** What is pending at its processor ends days later. */
const slowly = (root: Root, lost = 0, hours = 72): Draft =>
  draft(
    'habits',
    'instant',
    { processor: 'its', lost, doubled: 0, late: 0, lateMs: hours * HOUR_MS, slow: 1 },
    before(root),
  );

const busAway = (root: Root): Draft => draft('bus_outage', 'instant', { forMs: BUS_IS_AWAY_MS }, before(root));

const wrongAmount = (dice: Dice, { amount }: Root): Draft =>
  draft('wrong_amount', 'seconds', { amount: Math.ceil(amount * dice.pick([0.999, 0.5, 1.5])), isTold: true });

/** The processor takes another amount, and an operator decides. A further charge is on its way back, or the bus takes no events. */
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

/** Payments in euros open the breaker of their processor, while one in dollars is asked for at the other. */
const defaultIsAway: Course = {
  of: 'pay',
  begins: { ...EURO, source: 'tok_async' },
  goesOn: (dice, root) => {
    const source = dice.pick(['tok_rate_limited', 'tok_timeout_not_charged', 'tok_async']);
    const dollars = { ...EURO, currency: 'USD', source };
    return [
      draft('deploy', 'instant', { defaultProcessor: 'sandbox', dollars: 'second', cron: false }, before(root)),
      slowly(root, 1),
      ...Array.from({ length: 6 }, () =>
        draft('pay', 'seconds', { ...EURO, source: 'tok_async' }, { fromMs: root.atMs }),
      ),
      draft(
        'processor_outage',
        'minutes',
        { processor: 'sandbox', forMs: PROCESSOR_IS_AWAY_MS },
        { fromMs: root.atMs + 90 * SECOND_MS, leadsTo: () => [draft('pay', 'minutes', dollars)] },
      ),
    ];
  },
};

/** The routes change under a payment, which is changed at its former processor. */
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

/** The Views are rebuilt while events wait for the bus. */
const rebuiltMeanwhile: Course = {
  of: 'pay',
  begins: { ...EURO, source: 'tok_ok' },
  goesOn: (dice, root) => [
    busAway(root),
    ...(dice.chance(0.5) ? [draft('refund', 'minutes', { amount: 1 })] : []),
    draft('rebuild', ['seconds', 'minutes', 'hours']),
  ],
};

/** A late charge is returned, less a lost dispute. While the return is pending, the dispute turns out to be won. */
const returnBesideReturn: Course = {
  of: 'pay',
  begins: { ...EURO, source: 'tok_declined' },
  goesOn: (dice, root) => {
    const after = (seconds: number): Partial<Draft> => ({ fromMs: root.atMs + seconds * SECOND_MS });
    return [
      // The return is pending for longer than the processor keeps its key.
      slowly(root, 0, 240),
      draft('late_success', 'instant', {}, after(1)),
      draft('trouble', 'instant', { processor: 'its', calls: 'changes', count: 1, source: 'tok_async' }, after(1)),
      draft('dispute', 'instant', { amount: root.amount / dice.pick([2, 2, 4]) }, after(2)),
      draft('close_dispute', 'instant', { outcome: 'lost' }, after(3)),
      draft('contradict', ['minutes', 'hours'], { what: 'dispute_won', isTold: true }, after(120)),
    ];
  },
};

/** An operator names a charge that the payment's processor does not have, and it is refunded. */
const unknownCharge: Course = {
  of: 'pay',
  begins: { ...EURO, source: 'tok_action' },
  goesOn: (dice, { amount }) => [
    draft('stray', 'instant', { amount, named: false, source: 'tok_ok', lost: 'elsewhere' }),
    draft('decide', 'seconds', { outcome: 'succeeded', charge: 1, amount, dry: false }),
    draft('refund', ['hours', 'days'], dice.chance(0.5) ? {} : { amount: 1 }),
  ],
};

/** A second person approves a correction after it has expired. */
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
      { fromMs: root.atMs + dice.pick([EXPIRED_SOON_MS, EXPIRED_MS]) },
    ),
  ],
};

/** Corrections of one payment, each below the limit. */
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

/** The tenant's key of the other mode asks for the change too, while there is something left to change. */
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

/** A process dies between the parts of the facts of a charge, and no callback tells of them. */
const partsOfFacts: Course = {
  of: 'pay',
  begins: { ...EURO, source: 'tok_async' },
  goesOn: (dice, root) => {
    const rates = { crash_before: dice.pick([0.03, 0.06]), crash_after: dice.pick([0.03, 0.06]) };
    const flood = draft('flood', 'instant', { count: 300 });
    const faults = draft('faults', 'instant', { rates, clockSkewMs: 0 });
    return [slowly(root, 1), draft('late_success', ['minutes', 'hours'], {}, { leadsTo: () => [flood, faults] })];
  },
};

/** An order waits for the stock, and its money goes meanwhile. */
const moneyGoes: Course = {
  of: 'order',
  begins: { tenant: 'shop', source: 'tok_ok', sku: 'sku_tea', email: 'ada@example.com', referrer: 'ref_friend' },
  goesOn: (dice, root) => {
    const away = draft('party_outage', 'instant', { party: 'stock', forMs: STOCK_IS_AWAY_MS }, before(root));
    return dice.chance(0.4)
      ? [away, draft('dispute', ['seconds', 'minutes'], { amount: 0 })]
      : [
          away,
          draft('refund', ['seconds', 'minutes']),
          draft('fail_refund', ['hours', 'days'], { which: 'newest' }, { fromMs: root.atMs + 2 * HOUR_MS }),
        ];
  },
};

/** A canceled order's refund fails days later. */
const refundFails: Course = {
  of: 'order',
  begins: { tenant: 'shop', source: 'tok_ok', sku: 'sku_none', email: 'ada@example.com' },
  goesOn: () => [draft('fail_refund', ['hours', 'days'], { which: 'newest' })],
};

/** The mail server refuses because of the account, is away until the order gives up, and the dead letter is redriven. */
const letterRedriven: Course = {
  of: 'order',
  begins: { tenant: 'shop', source: 'tok_ok', sku: 'sku_tea', email: 'account@example.com' },
  goesOn: (_dice, { atMs }) => [
    draft('party_outage', 'instant', { party: 'mail', forMs: MAIL_IS_AWAY_MS }, { fromMs: atMs + SECOND_MS }),
    draft('redrive', ['minutes', 'hours'], { what: 'letters' }, { fromMs: atMs + MAIL_IS_AWAY_MS }),
  ],
};

/** The processor takes another amount for an order. */
const orderReview: Course = {
  of: 'order',
  begins: { tenant: 'shop', source: 'tok_async', sku: 'sku_tea', email: 'ada@example.com' },
  goesOn: (dice, root) => [slowly(root), wrongAmount(dice, root)],
};

const COURSES: readonly Course[] = [
  review,
  review,
  defaultIsAway,
  formerProcessor,
  rebuiltMeanwhile,
  returnBesideReturn,
  unknownCharge,
  lateVerdict,
  correctedInParts,
  otherMode,
  partsOfFacts,
  moneyGoes,
  refundFails,
  letterRedriven,
  orderReview,
];

/** Some subjects take no course. */
const SHARE = 0.9;

/** The course of a subject: always the same one for the same dice. */
function courseOf({ dice, has }: Drawing, of: Course['of']): Course | undefined {
  const own = dice.named('course');
  if (!has('courses') || !own.chance(SHARE)) return undefined;
  return own.pick(COURSES.filter((each) => each.of === of && (each.feature === undefined || has(each.feature))));
}

/** What the course asks of the act that makes its subject. */
export function courseBegins(drawing: Drawing, of: Course['of']): Course['begins'] {
  return courseOf(drawing, of)?.begins ?? {};
}

/** The acts that follow. */
export function courseGoesOn(drawing: Drawing, root: Step & { readonly amount: number }): readonly Draft[] {
  // An act of another subject’s course has none of its own.
  if (root['of'] !== undefined || (root.act !== 'pay' && root.act !== 'order')) return [];
  return courseOf(drawing, root.act)?.goesOn(drawing.dice.named('course goes on'), root) ?? [];
}
