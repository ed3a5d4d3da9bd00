import type { Mutant } from './mutant.ts';

/** Which charges are of a payment, by their ids and by their metadata. */
export const CHARGE_MUTANTS: readonly Mutant[] = [
  {
    name: 'named-charge-of-another-is-own',
    fault: 'A charge that an operator has named is the payment’s own, also when its metadata name another payment.',
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
    name: 'edited-charge-is-a-stray',
    fault:
      'A charge whose metadata name one payment and the operation of another is returned as a stray charge of the one.',
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
    fault: 'A payment’s charge whose metadata name another operation is not its own, so that its void is not recorded.',
    needs: ['edit_metadata'],
    edits: [
      {
        file: 'lambdas/payments/domain/processor-charge.ts',
        find: 'return chargeId === payment.chargeId || operationId',
        replace: 'return operationId',
      },
    ],
  },
];
