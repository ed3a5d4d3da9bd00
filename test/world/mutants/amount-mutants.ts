import type { Mutant } from './mutant.ts';

const CHANGE = 'lambdas/payments/domain/change.ts';
const ROUTES = 'lambdas/payments/http/payment-routes.ts';

/** Planted faults in amounts that a client, a processor or a rule determines. */
export const AMOUNT_MUTANTS: readonly Mutant[] = [
  {
    name: 'refund-gives-one-less',
    fault: 'A refund returns one minor unit less than requested.',
    needs: ['refund'],
    edits: [
      {
        file: ROUTES,
        find: '...defined({ amountMinor: amount, reason })',
        replace: '...defined({ amountMinor: amount && Math.max(1, amount - 1), reason })',
      },
    ],
  },
  {
    name: 'capture-takes-one-less',
    fault: 'A capture charges one minor unit less than requested.',
    needs: ['capture'],
    edits: [
      {
        file: ROUTES,
        find: "{ kind: 'capture', ...defined({ amountMinor: call.body.amount }) }",
        replace:
          "{ kind: 'capture', ...defined({ amountMinor: call.body.amount && Math.max(1, call.body.amount - 1) }) }",
      },
    ],
  },
  {
    name: 'whole-capture-takes-one-less',
    fault: 'A capture without an amount charges one minor unit less than the hold.',
    needs: ['capture'],
    edits: [
      {
        file: CHANGE,
        find: 'const amountMinor = requested ?? payment.amountMinor;',
        replace: 'const amountMinor = requested ?? Math.max(1, payment.amountMinor - 1);',
      },
    ],
  },
  {
    name: 'whole-refund-gives-half',
    fault: 'A refund without an amount returns half of the remaining amount.',
    needs: ['refund'],
    edits: [
      {
        file: CHANGE,
        find: 'const amountMinor = requested ?? leftMinor;',
        replace: 'const amountMinor = requested ?? Math.ceil(leftMinor / 2);',
      },
    ],
  },
  {
    name: 'order-charges-half',
    fault: 'The payment of an order charges half of the order’s price.',
    edits: [
      {
        file: 'lambdas/orders/use/order-calls.ts',
        find: "        amountMinor,\n        currency,\n        source,\n        capture: 'automatic',",
        replace:
          "        amountMinor: Math.ceil(amountMinor / 2),\n        currency,\n        source,\n        capture: 'automatic',",
      },
    ],
  },
  {
    name: 'order-of-one-more',
    fault: 'An order costs one minor unit more than requested.',
    edits: [
      {
        file: 'lambdas/orders/http/order-routes.ts',
        find: '    amountMinor: amount,',
        replace: '    amountMinor: amount + 1,',
      },
    ],
  },
  {
    name: 'correction-posts-double',
    fault: 'A correction posts twice the requested amounts.',
    needs: ['correct|verdict'],
    edits: [
      {
        file: 'lambdas/operators/http/post-correction.ts',
        find: '({ account, direction, amountMinor: amount })',
        replace: '({ account, direction, amountMinor: 2 * amount })',
      },
    ],
  },
  {
    name: 'fees-never-posted',
    fault: 'The processor’s fee of a charge is never posted.',
    edits: [
      {
        file: 'lambdas/payments/domain/processor-charge.ts',
        find: 'return isFeeReported(fees) ?',
        replace: 'return isFeeReported(fees) && capturedMinor === 0 ?',
      },
    ],
  },
  {
    name: 'credit-is-tenfold',
    fault: 'A referrer gets half of the order’s amount instead of a twentieth.',
    edits: [
      {
        file: 'lambdas/orders/domain/order.ts',
        find: 'return Math.floor((amountMinor * REFERRAL_PERCENT) / 100);',
        replace: 'return Math.floor((amountMinor * REFERRAL_PERCENT) / 10);',
      },
    ],
  },
  {
    name: 'accepted-refund-was-never-sent',
    fault: 'An accepted refund whose metadata was then removed is recorded as not attempted.',
    needs: ['edit_metadata'],
    edits: [
      {
        file: 'lambdas/payments/use/find-out-change.ts',
        find: "return change.kind === 'refund' && change.accepted",
        replace: "return change.kind === 'refund' && change.accepted && change.answered === undefined",
      },
    ],
  },
  {
    name: 'nameless-refund-is-posted-again',
    fault: 'A refund is posted a second time after its metadata was removed at the processor.',
    needs: ['edit_metadata'],
    edits: [
      {
        file: 'lambdas/payments/use/decide-all.ts',
        find: 'nameless.findIndex((refund) => mayBeSameRefund(refund, fact))',
        replace: 'nameless.findIndex((refund) => mayBeSameRefund(refund, fact) && charge.refunds.length > 99)',
      },
    ],
  },
  {
    name: 'nameless-return-waits-without-alarm',
    fault: 'A pending return whose metadata was removed waits forever without an alarm.',
    needs: ['edit_metadata'],
    edits: [
      {
        file: 'lambdas/resolving/use/return-charges.ts',
        find: "if (missingRefunds(charge, state, 'pending').length > 0)",
        replace: "if (missingRefunds(charge, state, 'pending').length > 99)",
      },
    ],
  },
  {
    name: 'one-failed-return-is-enough',
    fault: 'A return is not retried after the bank rejects it.',
    edits: [
      {
        file: 'lambdas/resolving/use/return-charges.ts',
        find: 'const MAX_FAILED_RETURNS = 3;',
        replace: 'const MAX_FAILED_RETURNS = 1;',
      },
    ],
  },
  {
    name: 'reservation-missing-in-sums',
    fault: 'The sums in the newest transition do not contain the reserved amount of a pending refund.',
    needs: ['refund'],
    edits: [
      {
        file: 'lambdas/payments/domain/payment-sums.ts',
        find: 'reservedMinor: sums.reservedMinor + times * refund.amountMinor,',
        replace: 'reservedMinor: sums.reservedMinor,',
      },
    ],
  },
];
