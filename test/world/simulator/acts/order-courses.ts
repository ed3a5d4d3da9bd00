import { after, before, type Course, draft, HOUR_MS, SECOND_MS, slowly, wrongAmount } from './course.ts';

const MINUTE_MS = 60 * SECOND_MS;

const STOCK_IS_AWAY_MS = HOUR_MS / 3;
/** Mail outage that outlasts an order's e-mail retries, in milliseconds. */
const MAIL_IS_AWAY_MS = 96 * HOUR_MS;

/**
 * The money of an order is disputed or refunded while the order waits for the stock service. Such a refund fails at the
 * bank later.
 */
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
          draft('fail_refund', ['hours', 'days'], { which: 'newest' }, after(root, 2 * HOUR_MS)),
        ];
  },
};

const refundFails: Course = {
  of: 'order',
  begins: { tenant: 'shop', source: 'tok_ok', sku: 'sku_none', email: 'ada@example.com' },
  goesOn: () => [draft('fail_refund', ['hours', 'days'], { which: 'newest' })],
};

/**
 * The mail server first rejects the mail account, then is down until the order stops retrying. An operator redrives the
 * order's dead letter.
 */
const deadLetterRedriven: Course = {
  of: 'order',
  begins: { tenant: 'shop', source: 'tok_ok', sku: 'sku_tea', email: 'account@example.com' },
  goesOn: (_dice, root) => [
    draft('party_outage', 'instant', { party: 'mail', forMs: MAIL_IS_AWAY_MS }, after(root, SECOND_MS)),
    draft('redrive', ['minutes', 'hours'], { what: 'letters' }, after(root, MAIL_IS_AWAY_MS)),
  ],
};

const orderReview: Course = {
  of: 'order',
  begins: { tenant: 'shop', source: 'tok_async', sku: 'sku_tea', email: 'ada@example.com' },
  goesOn: (dice, root) => [slowly(root), wrongAmount(dice, root)],
};

/**
 * The referral program gives the credit, but its response is lost, and the process usually crashes. The money is
 * refunded or disputed before the order continues.
 */
const creditWithoutAnswer: Course = {
  of: 'order',
  begins: { tenant: 'shop', source: 'tok_ok', sku: 'sku_tea', email: 'ada@example.com', referrer: 'ref_friend' },
  goesOn: (dice, root) => {
    return [
      draft('party_outage', 'instant', { party: 'referrals', forMs: MINUTE_MS, losesAnswers: true }, before(root)),
      // The requests that give the credit start about a second after the order's request.
      draft(
        'storm',
        'instant',
        { rates: { crash_before: 0.6 }, forMs: 10 * SECOND_MS },
        after(root, dice.pick([0.7, 1, 1.3]) * SECOND_MS),
      ),
      dice.chance(0.5)
        ? draft('dispute', 'instant', { amount: 0 }, after(root, 12 * SECOND_MS))
        : draft('refund', 'instant', {}, after(root, 12 * SECOND_MS)),
    ];
  },
};

export const ORDER_COURSES: readonly Course[] = [
  moneyGoes,
  refundFails,
  deadLetterRedriven,
  orderReview,
  creditWithoutAnswer,
];
