/**
 * Courses (sequences of acts) for cells of the state tables that random acts hardly ever reach. Only histories with the
 * feature `cells` use these courses.
 */
import { OUTCOME_KNOWN_WITHIN_MS, SEND_WINDOW_MS } from '../../../../lambdas/payments/domain/settlement.ts';
import type { Step } from '../contract.ts';
import type { Dice } from '../random.ts';
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
  SECOND_MS,
  slowly,
  wrongAmount,
} from './course.ts';
import { chargeAfterTheWindow, decidedRefundEnds, reviewOfHold } from './payment-courses.ts';

const AWAY_MS = 30 * HOUR_MS;

/** Duration in milliseconds, longer than the time for which an order in review is watched. */
const MONTH_MS = 31 * 24 * HOUR_MS;
const YEAR_HOURS = 365 * 24;

/**
 * Delivery habits: results of pending objects are up to ten days late, and so are half of the callbacks. Of the
 * callbacks, 60 % are delivered twice.
 */
const LATE_COPIES = { processor: 'its', lost: 0, doubled: 0.6, late: 0.5, lateMs: 8 * AWAY_MS, slow: 1 };

/**
 * The payment's charge request has no effect, and the processor is down for as long as a charge may be sent. Afterwards
 * a pending charge appears that names the payment and its operation. It was created without the payment's idempotency
 * key, so a look-up by the key does not find it. Days later, an operator decides the outcome while the processor is
 * down, usually as a success.
 */
const chargeWithoutKey: Course = {
  of: 'pay',
  begins: { ...EURO, source: 'tok_timeout_not_charged' },
  goesOn: (dice, root) => {
    const given = { amount: root.amount, named: true, source: 'tok_async' };
    return [
      draft('habits', 'instant', LATE_COPIES, before(root)),
      draft(
        'processor_outage',
        'instant',
        { processor: 'its', forMs: SEND_WINDOW_MS + 9 * SECOND_MS },
        after(root, SECOND_MS),
      ),
      draft('stray', ['instant', 'seconds'], given, after(root, SEND_WINDOW_MS + 60 * SECOND_MS)),
      draft(
        'decide',
        ['minutes', 'hours'],
        {
          outcome: dice.chance(0.8) ? 'succeeded' : 'failed',
          charge: 0,
          amount: root.amount,
          dry: false,
          override: 'away',
        },
        after(root, OUTCOME_KNOWN_WITHIN_MS + 48 * HOUR_MS),
      ),
    ];
  },
};

/**
 * While the processor is down, an operator decides that a cancellation succeeded although it never reached the
 * processor. The payer approves later.
 */
const canceledOnPaper = (capture: 'automatic' | 'manual'): Course => ({
  of: 'pay',
  begins: { ...EURO, source: 'tok_action', capture },
  goesOn: (_dice, root) => {
    const cancelAtMs = root.atMs + 60 * SECOND_MS;
    const trouble = { processor: 'its', calls: 'changes', count: 2, source: 'tok_timeout_not_charged' };
    return [
      slowly(root, 0, 240),
      draft('trouble', 'instant', trouble, { fromMs: cancelAtMs - SECOND_MS }),
      draft(
        'cancel',
        'instant',
        {},
        {
          fromMs: cancelAtMs,
          leadsTo: ({ id, atMs }) => [
            draft(
              'processor_outage',
              'instant',
              { processor: 'its', forMs: AWAY_MS },
              { fromMs: atMs + 2 * SECOND_MS },
            ),
            draft(
              'decide_change',
              'minutes',
              { of: id, outcome: 'succeeded', override: true },
              { fromMs: atMs + OUTCOME_KNOWN_WITHIN_MS },
            ),
            draft('late_success', 'hours', {}, { fromMs: atMs + AWAY_MS }),
          ],
        },
      ),
    ];
  },
});

/**
 * While a payment waits for its payer, an operator decides that the payment succeeded. Soon afterwards a further charge
 * appears, which also waits for its payer.
 */
const decidedWhileThePayerIsAsked: Course = {
  of: 'pay',
  begins: { ...EURO, source: 'tok_action' },
  goesOn: (dice, root) => {
    const decideAfter = dice.pick([5, 22, 22, 30]) * HOUR_MS;
    return [
      slowly(root, 0, 240),
      draft(
        'decide',
        'instant',
        { outcome: 'succeeded', charge: 1, amount: root.amount, dry: false, override: 'away' },
        after(root, decideAfter),
      ),
      draft(
        'stray',
        ['instant', 'seconds', 'minutes'],
        { amount: root.amount, named: true, source: 'tok_action' },
        after(root, decideAfter + SECOND_MS),
      ),
    ];
  },
};

/** After a hold is voided, a further charge appears that captured no money. */
const moneylessAfterCancel: Course = {
  of: 'pay',
  begins: { ...EURO, source: 'tok_ok', capture: 'manual' },
  goesOn: (dice, root) => [
    draft(
      'habits',
      'instant',
      { processor: 'its', lost: 0, doubled: 0.3, late: 0.3, lateMs: HOUR_MS, slow: 0 },
      before(root),
    ),
    draft('cancel', ['seconds', 'minutes']),
    draft('stray', ['minutes', 'hours'], {
      amount: root.amount,
      named: dice.chance(0.5),
      source: dice.pick(['tok_action', 'tok_declined']),
    }),
  ],
};

/**
 * The processor captures a different amount than it authorized, then shows the charge as declined, and later as
 * authorized again.
 */
const heldAgain: Course = {
  of: 'pay',
  begins: { ...EURO, source: 'tok_ok', capture: 'manual' },
  goesOn: (dice, root) => [
    wrongAmount(dice, root),
    draft(
      'contradict',
      ['seconds', 'minutes'],
      { what: 'declined', hasCallback: dice.chance(0.5) },
      after(root, 20 * SECOND_MS),
    ),
    draft('late_success', ['minutes', 'hours'], {}, after(root, 600 * SECOND_MS)),
  ],
};

const TEA = {
  tenant: 'shop',
  amount: 1000,
  currency: 'EUR',
  sku: 'sku_tea',
  email: 'ada@example.com',
  referrer: 'ref_friend',
};

const disputedInPart: Course = {
  of: 'order',
  begins: { ...TEA, source: 'tok_ok' },
  goesOn: (dice, root) => [
    draft('party_outage', 'instant', { party: 'stock', forMs: HOUR_MS / 3 }, before(root)),
    draft('dispute', ['seconds', 'minutes'], { amount: Math.ceil(root.amount * dice.pick([0.001, 0.5, 0.999])) }),
  ],
};

/**
 * The processor captures less than an order costs, immediately or after a month. An operator confirms the captured
 * amount some hours, days or a month later.
 */
const decidedLate: Course = {
  of: 'order',
  begins: { ...TEA, source: 'tok_async' },
  goesOn: (dice, root) => {
    const amount = Math.ceil(root.amount * dice.pick([0.001, 0.5, 0.999]));
    const reviewAfter = dice.pick([SECOND_MS, MONTH_MS]);
    const decideAfter = reviewAfter + dice.pick([5 * HOUR_MS, 48 * HOUR_MS, MONTH_MS]);
    return [
      slowly(root, 0, 24 * 60),
      draft('wrong_amount', 'instant', { amount, hasCallback: true }, after(root, reviewAfter)),
      // Refunds after this time get their result within three days.
      callbackLoss(0, after(root, reviewAfter + SECOND_MS)),
      draft('decide', 'minutes', { outcome: 'succeeded', amount, dry: false }, after(root, decideAfter)),
    ];
  },
};

/**
 * While the payment of an order is in review, all of its money is refunded or disputed, and an operator decides about
 * the payment during an outage of the processor.
 */
const decidedUnread: Course = {
  of: 'order',
  begins: { ...TEA, source: 'tok_async' },
  goesOn: (dice, root) => {
    const { amount } = root;
    const less = Math.ceil(amount * dice.pick([0.5, 0.999]));
    const goes = dice.chance(0.5) ? 'dispute' : 'foreign_refund';
    return [
      slowly(root, 0, 24 * 60),
      draft('wrong_amount', 'instant', { amount: less, hasCallback: true }, after(root, SECOND_MS)),
      draft('wrong_amount', 'instant', { amount, hasCallback: true }, after(root, 1.5 * HOUR_MS)),
      callbackLoss(0, after(root, 1.5 * HOUR_MS + SECOND_MS)),
      draft(goes, 'instant', goes === 'dispute' ? { amount: 0 } : { amount }, after(root, 2 * HOUR_MS)),
      draft(
        'processor_outage',
        'instant',
        { processor: 'its', forMs: 2 * HOUR_MS },
        after(root, 5 * HOUR_MS - 60 * SECOND_MS),
      ),
      draft(
        'decide',
        'instant',
        { outcome: 'succeeded', amount, dry: false, override: true },
        after(root, 5 * HOUR_MS),
      ),
    ];
  },
};

/**
 * An order enters review more than a month after its creation. The order is still watched, because the watch time
 * starts with the review and not with the creation. An operator decides about the payment the next day.
 */
const oldOrder: Course = {
  of: 'order',
  begins: { ...TEA, source: 'tok_async' },
  goesOn: (dice, root) => {
    const amount = Math.ceil(root.amount * dice.pick([0.001, 0.5, 0.999]));
    const hasCallback = dice.chance(0.5) ? { hasCallback: true } : {};
    return [
      // In most histories the charge stays pending until the review.
      slowly(root, 0, YEAR_HOURS),
      // All other pending objects get their result within three days.
      callbackLoss(0, after(root, 60 * SECOND_MS)),
      draft('wrong_amount', 'minutes', { amount, ...hasCallback }, after(root, MONTH_MS)),
      draft('decide', 'hours', { outcome: 'succeeded', amount, dry: false }, after(root, MONTH_MS + 24 * HOUR_MS)),
    ];
  },
};

/** The step creates a second payment, which is not the subject of the course. */
const another = (dice: Dice, from: Partial<Draft>, leadsTo: (step: Step) => readonly Draft[]): Draft =>
  draft(
    'pay',
    'seconds',
    { ...EURO, tenant: dice.pick(['shop', 'studio']), source: 'tok_ok' },
    { ...from, isBefore: true, leadsTo },
  );

/**
 * An operator decides the outcome of a payment, but names the charge of a second payment. Afterwards the merchant
 * refunds the first payment, and sometimes the payer disputes the second one.
 */
const namesAnother = (source: 'tok_async' | 'tok_timeout_not_charged'): Course => ({
  of: 'pay',
  begins: { ...EURO, source },
  goesOn: (dice, root) => {
    const { amount } = root;
    const isSent = source === 'tok_async';
    const goesMs = SEND_WINDOW_MS + 9 * SECOND_MS;
    const reviewed = isSent
      ? [draft('wrong_amount', 'seconds', { amount: Math.ceil(amount * dice.pick([0.999, 0.5])), hasCallback: true })]
      : [
          draft('processor_outage', 'instant', { processor: 'its', forMs: goesMs }, after(root, SECOND_MS)),
          draft(
            'stray',
            'seconds',
            { amount, named: true, source: 'tok_async' },
            after(root, goesMs + 300 * SECOND_MS),
          ),
        ];
    const decides = (id: number): readonly Draft[] => [
      draft(
        'decide',
        'minutes',
        { outcome: 'succeeded', charge: 0, names: id, amount, dry: false, override: 'away' },
        after(root, 5 * HOUR_MS),
      ),
      draft('refund', ['minutes', 'hours'], dice.chance(0.5) ? {} : { amount: 1 }, after(root, 6.5 * HOUR_MS)),
      ...(dice.chance(0.3) ? [draft('dispute', ['hours', 'days'], { of: id, amount: 0 })] : []),
    ];
    return [slowly(root, 0, 240), ...reviewed, another(dice, after(root, goesMs), ({ id }) => decides(id))];
  },
});

const namedByMetadata: Course = {
  of: 'pay',
  begins: { ...EURO, source: 'tok_ok' },
  goesOn: (dice, root) => {
    const edits = (id: number): readonly Draft[] => [
      draft('edit_metadata', ['minutes', 'hours', 'days'], {
        what: dice.pick(['payment', 'payment', 'operation']),
        to: id,
        hasCallback: dice.chance(0.7),
      }),
      ...(dice.chance(0.5) ? [draft('refund', ['minutes', 'hours'], dice.chance(0.5) ? {} : { amount: 1 })] : []),
    ];
    return [another(dice, after(root, 0), ({ id }) => edits(id))];
  },
};

const namelessRefund: Course = {
  of: 'pay',
  begins: { ...EURO, source: 'tok_ok' },
  goesOn: (dice, root) => {
    const isPending = dice.chance(0.6);
    const pending = { processor: 'its', calls: 'changes', count: 1, source: 'tok_async' };
    return [
      ...(isPending ? [slowly(root, 0, 240), draft('trouble', 'instant', pending, after(root, 60 * SECOND_MS))] : []),
      draft('refund', 'instant', dice.chance(0.3) ? {} : { amount: 300 }, after(root, 61 * SECOND_MS)),
      draft(
        'edit_metadata',
        ['instant', 'seconds', 'minutes'],
        { what: 'refunds', hasCallback: dice.chance(0.5) },
        after(root, 70 * SECOND_MS),
      ),
      ...(dice.chance(0.4)
        ? [draft(dice.pick(['fail_refund', 'finish_refund']), ['minutes', 'hours'], { which: 'newest' })]
        : []),
      draft('refund', ['hours'], dice.chance(0.3) ? {} : { amount: 300 }, after(root, 2 * HOUR_MS)),
    ];
  },
};

/**
 * Late money is refunded. While the refund is pending at the bank, another user of the processor's account removes the
 * refund's metadata. An operator may decide that the refund failed.
 */
const namelessReturn: Course = {
  of: 'pay',
  begins: { ...EURO, source: 'tok_declined' },
  goesOn: (dice, root) => [
    slowly(root, 0, 240),
    draft(
      'trouble',
      'instant',
      { processor: 'its', calls: 'changes', count: 1, source: 'tok_async' },
      after(root, 60 * SECOND_MS),
    ),
    draft('late_success', 'instant', {}, after(root, 61 * SECOND_MS)),
    draft(
      'edit_metadata',
      ['minutes', 'hours'],
      { what: 'refunds', hasCallback: dice.chance(0.5) },
      after(root, HOUR_MS),
    ),
    ...(dice.chance(0.5)
      ? [draft('fail_refund', ['hours', 'days'], { which: 'newest' }, after(root, 3 * HOUR_MS))]
      : []),
    ...(dice.chance(0.5)
      ? [draft('decide_change', ['hours', 'days'], { outcome: 'failed' }, after(root, 3 * HOUR_MS))]
      : []),
  ],
};

/**
 * A charge in US dollars appears for a payment in euros. The payment's own charge succeeds, or its charge request has
 * no effect.
 */
const strayInDollars = (source: 'tok_ok' | 'tok_timeout_not_charged'): Course => ({
  of: 'pay',
  begins: { ...EURO, source },
  goesOn: (dice, root) => {
    const isOwn = source === 'tok_timeout_not_charged';
    const outage = { processor: 'its', forMs: SEND_WINDOW_MS + 9 * SECOND_MS };
    const given = { amount: root.amount, currency: 'USD', named: isOwn || dice.chance(0.3), source: 'tok_ok' };
    return [
      ...(isOwn ? [draft('processor_outage', 'instant', outage, after(root, SECOND_MS))] : []),
      draft('stray', isOwn ? 'instant' : ['seconds', 'minutes', 'hours'], given, after(root, 10 * SECOND_MS)),
    ];
  },
});

const stuckHold: Course = {
  of: 'pay',
  begins: { ...EURO, source: 'tok_ok', capture: 'manual' },
  goesOn: (_dice, root) => {
    const refusals = { processor: 'its', calls: 'changes', count: 40, source: 'tok_declined' };
    return [
      draft('trouble', 'minutes', refusals, after(root, 120 * HOUR_MS)),
      // Extend the history until the job stops retrying.
      draft('run_job', 'hours', { job: 'expire-authorizations' }, after(root, MONTH_MS)),
    ];
  },
};

/**
 * A further charge appears, and no callback reports it. An operator decides before a search of the processor's books
 * shows the charge.
 */
const decidedBeforeTheSearch: Course = {
  of: 'pay',
  begins: { ...EURO, source: 'tok_async' },
  goesOn: (dice, root) => [
    draft('deploy', 'instant', { defaultProcessor: 'second', cron: false }, before(root)),
    slowly(root, 0, 240),
    wrongAmount(dice, root),
    callbackLoss(1, after(root, 5 * HOUR_MS - 60 * SECOND_MS)),
    draft('stray', 'instant', { amount: root.amount, named: false, source: 'tok_ok' }, after(root, 5 * HOUR_MS)),
    draft(
      'decide',
      'instant',
      { outcome: dice.pick(['succeeded', 'failed']), amount: 'taken', dry: false },
      after(root, 5 * HOUR_MS + 2 * SECOND_MS),
    ),
  ],
};

/**
 * The processor is down during the whole time in which a refund may be sent. During the outage, another user of the
 * processor's account creates a refund, and no callback reports it.
 */
const unsentRefund: Course = {
  of: 'pay',
  begins: { ...EURO, source: 'tok_ok' },
  goesOn: (dice, root) => {
    const outage = { processor: 'its', forMs: SEND_WINDOW_MS + 60 * SECOND_MS };
    return [
      slowly(root, 1),
      noFaults(root),
      draft('processor_outage', 'instant', outage, after(root, HOUR_MS)),
      draft('refund', 'instant', dice.chance(0.5) ? {} : { amount: 1 }, after(root, HOUR_MS + 600)),
      draft('foreign_refund', 'seconds', { amount: 1, begins: 'succeeded' }, after(root, HOUR_MS + 300 * SECOND_MS)),
    ];
  },
};

const canceledIsCaptured: Course = {
  of: 'pay',
  begins: { ...EURO, source: 'tok_ok', capture: 'manual' },
  goesOn: (_dice, root) => [
    slowly(root, 1),
    noFaults(root),
    draft('cancel', 'seconds'),
    draft('contradict', 'minutes', { what: 'captured', hasCallback: false }, after(root, 600 * SECOND_MS)),
    draft('run_job', 'minutes', { job: 'reconcile-recent' }, after(root, 3 * HOUR_MS)),
    draft('run_job', 'minutes', { job: 'reconcile-recent' }, after(root, 6 * HOUR_MS)),
  ],
};

/** The money is refunded or disputed before the receipt is sent. */
const lateReceipt: Course = {
  of: 'pay',
  begins: { ...EURO, source: 'tok_ok', receipt: true },
  goesOn: (dice, root) => [
    draft('party_outage', 'instant', { party: 'mail', forMs: HOUR_MS }, before(root)),
    dice.chance(0.5) ? draft('refund', 'seconds') : draft('dispute', 'seconds', { amount: 0 }),
  ],
};

/**
 * A process that handles a delayed message sends an order's e-mail half a minute late, and then crashes. The money is
 * refunded or disputed before the message is redelivered.
 */
const emailSentBefore: Course = {
  of: 'order',
  begins: { ...TEA, source: 'tok_ok' },
  goesOn: (dice, root) => [
    draft('party_outage', 'instant', { party: 'mail', forMs: 25 * SECOND_MS }, before(root)),
    draft(
      'storm',
      'instant',
      { rates: { crash_after: dice.pick([0.1, 0.2, 0.3]) }, forMs: 12 * SECOND_MS },
      after(root, 27 * SECOND_MS),
    ),
    dice.chance(0.5)
      ? draft('refund', 'instant', {}, after(root, 49 * SECOND_MS))
      : draft('dispute', 'instant', { amount: 0 }, after(root, 49 * SECOND_MS)),
  ],
};

export const CELL_COURSES: readonly Course[] = [
  chargeWithoutKey,
  canceledOnPaper('automatic'),
  canceledOnPaper('manual'),
  heldAgain,
  decidedWhileThePayerIsAsked,
  moneylessAfterCancel,
  reviewOfHold,
  decidedRefundEnds,
  chargeAfterTheWindow,
  disputedInPart,
  decidedLate,
  decidedUnread,
  lateReceipt,
  emailSentBefore,
  oldOrder,
  namesAnother('tok_async'),
  namesAnother('tok_timeout_not_charged'),
  namedByMetadata,
  namelessRefund,
  namelessReturn,
  strayInDollars('tok_ok'),
  strayInDollars('tok_timeout_not_charged'),
  stuckHold,
  decidedBeforeTheSearch,
  canceledIsCaptured,
  unsentRefund,
];
