import type { Mutant } from './mutant.ts';

/** Planted faults in the rules that assign charges to a payment by id and by metadata. */
export const CHARGE_MUTANTS: readonly Mutant[] = [
  {
    name: 'named-charge-of-another-is-own',
    fault: 'A charge that an operator named counts as the payment’s own, even if its metadata names another payment.',
    needs: ['decide'],
    edits: [
      {
        file: 'lambdas/payments/use/decide-all.ts',
        find: 'if (isOfAnotherPayment(charge, payment.id))',
        replace: 'if (charge.chargeId !== payment.chargeId && isOfAnotherPayment(charge, payment.id))',
      },
      {
        file: 'lambdas/payments/use/before-send.ts',
        find: 'if (isOfAnotherPayment(charge, state.payment.id)) return false;',
        replace: '',
      },
      {
        file: 'lambdas/payments/use/before-send.ts',
        find: 'import { isOfAnotherPayment, type ProcessorCharge }',
        replace: 'import type { ProcessorCharge }',
      },
    ],
  },
  {
    name: 'decision-not-compared',
    fault: 'A decision is accepted without a comparison with the processor’s books.',
    needs: ['decide|decide_change'],
    edits: [
      {
        file: 'lambdas/operators/use/compare-decision.ts',
        find: 'differenceFromBooks(asked, state, charge)',
        replace: 'undefined',
      },
    ],
  },
  {
    name: 'edited-charge-is-a-stray',
    fault:
      'A charge whose metadata names one payment and another payment’s operation is returned as a stray charge of the first payment.',
    needs: ['edit_metadata'],
    edits: [
      {
        file: 'lambdas/payments/domain/processor-charge.ts',
        find: 'return [paymentId, parsePaymentId(operationId)].some(',
        replace: "return [paymentId, parsePaymentId(operationId.replace('pay_', ''))].some(",
      },
    ],
  },
  {
    name: 'own-charge-by-its-operation',
    fault: 'The void of a payment’s charge is not recorded because the charge’s metadata names another operation.',
    needs: ['edit_metadata'],
    edits: [
      {
        file: 'lambdas/payments/domain/processor-charge.ts',
        find: 'return chargeId === payment.chargeId || operationId',
        replace: 'return operationId',
      },
    ],
  },
  {
    name: 'stray-in-another-currency-unseen',
    fault: 'A stray charge in a currency other than the payment’s is not recorded, so its money is never returned.',
    needs: ['stray'],
    edits: [
      {
        file: 'lambdas/payments/domain/decide.ts',
        find: 'if (amountMinor <= 0) return',
        replace: 'if (amountMinor <= 0 || currency !== payment.currency) return',
      },
    ],
  },
  {
    name: 'return-booked-in-the-payments-currency',
    fault: 'The return of a stray charge in a different currency is posted in the currency of the payment.',
    needs: ['stray'],
    edits: [
      {
        file: 'lambdas/payments/domain/charge-money.ts',
        find: 'currency: isStray ? stray.currency : payment.currency',
        replace: 'currency: payment.currency',
      },
    ],
  },
  {
    name: 'lagging-books-read-once',
    fault: 'After an operator’s decision the processor’s books are read only once, although their search results lag.',
    needs: ['decide|decide_change'],
    edits: [
      {
        file: 'lambdas/resolving/use/resolve.ts',
        find: 'return isRead && tools.clock.nowMs() > claimedAtMs + BOOKS_LAG_MS ?',
        replace: 'return isRead ?',
      },
    ],
  },
  {
    name: 'canceled-payment-not-compared',
    fault: 'The comparison of the books skips canceled payments.',
    needs: ['cancel|foreign_void|expire|contradict'],
    edits: [
      {
        file: 'lambdas/reconciliation/use/reconcile.ts',
        find: 'const own = this.#tools.books.find((each) => belongsToBooks(chain, each));',
        replace:
          "if (chain.state.payment.status === 'canceled') return ONE_DONE;\n    const own = this.#tools.books.find((each) => belongsToBooks(chain, each));",
      },
    ],
  },
  {
    name: 'unsent-change-ends-unread',
    fault:
      'A capture, refund or void that was never sent is closed without a read of its charge, which may have changed.',
    needs: ['refund|capture|cancel'],
    edits: [
      {
        file: 'lambdas/payments/use/find-out-change.ts',
        find: 'read !== undefined || (await isRead(readCharge));',
        replace: 'read !== undefined || (await isRead(async () => readCharge));',
      },
    ],
  },
  {
    name: 'silent-look-counts-as-absent',
    fault: 'A look-up that times out counts as proof that the processor has no charge.',
    needs: ['processor_outage'],
    edits: [
      {
        file: 'lambdas/payments/use/find-out.ts',
        find: "if (error instanceof RetryableError || error instanceof AmbiguousError) return { kind: 'unavailable' };",
        replace:
          "if (error instanceof AmbiguousError) return { kind: 'absent' };\n    if (error instanceof RetryableError) return { kind: 'unavailable' };",
      },
    ],
  },
  {
    name: 'abilities-ignored-by-changes',
    fault: 'A change is sent to a processor that does not support it.',
    needs: ['abilities'],
    edits: [
      {
        file: 'lambdas/payments/use/change-payment.ts',
        find: 'if (unsupported !== undefined) return',
        replace: 'if (unsupported !== undefined && chain.state.payment.amountMinor < 0) return',
      },
    ],
  },
];
