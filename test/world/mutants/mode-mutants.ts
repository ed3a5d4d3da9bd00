import type { Mutant } from './mutant.ts';

/** The mode is left out of a key or a filter. */
export const MODE_MUTANTS: readonly Mutant[] = [
  {
    name: 'keys-of-both-modes-are-one',
    fault: 'An idempotency key of test mode is the same key in live mode.',
    needs: ['pay', 'retry'],
    edits: [
      {
        file: 'lambdas/kernel/idempotency-key.ts',
        find: 'return [scope.tenantId, scope.mode, scope.method, scope.path, scope.key];',
        replace: 'return [scope.tenantId, scope.method, scope.path, scope.key];',
      },
    ],
  },
  {
    name: 'references-of-both-modes-are-one',
    fault: 'A reference that a test payment holds is refused to a live payment.',
    needs: ['pay', 'pay'],
    edits: [
      {
        file: 'lambdas/payments/store/items.ts',
        find: '`${RegistryRow.reference}${tenantId}#${mode}#${reference}`',
        replace: '`${RegistryRow.reference}${tenantId}#${reference}`',
      },
    ],
  },
  {
    name: 'payment-read-in-the-other-mode',
    fault: 'A payment is shown to its tenant’s key of the other mode.',
    needs: ['look'],
    edits: [
      {
        file: 'lambdas/payments/use/read-payment.ts',
        find: 'payment.tenantId === tenantId && payment.mode === mode',
        replace: 'payment.tenantId === tenantId',
      },
    ],
  },
  {
    name: 'payment-changed-in-the-other-mode',
    fault: 'A payment can be refunded with its tenant’s key of the other mode.',
    needs: ['retry', 'refund|capture|cancel'],
    edits: [
      {
        file: 'lambdas/payments/use/payment-chain.ts',
        find: 'payment?.tenantId === tenantId && payment.mode === mode ?',
        replace: 'payment?.tenantId === tenantId ?',
      },
    ],
  },
  {
    name: 'charge-of-the-other-mode',
    fault: 'A charge in the books of the other mode that names a payment is recorded on it.',
    needs: ['stray'],
    edits: [
      {
        file: 'lambdas/payments/use/pinned-processor.ts',
        find: '    payment.mode === books.mode &&\n',
        replace: '',
      },
    ],
  },
  {
    name: 'lists-of-both-modes-are-one',
    fault: 'The lists of live mode show the payments of test mode too.',
    needs: ['list'],
    edits: [
      {
        file: 'lambdas/views/domain/lists.ts',
        find: 'return `${tenantId}#${mode}`;',
        replace: 'return `${tenantId}#${mode === "live" ? "test" : mode}`;',
      },
    ],
  },
  {
    name: 'endpoints-of-both-modes-are-one',
    fault: 'A webhook endpoint of test mode is told of live payments.',
    needs: ['endpoint'],
    edits: [
      {
        file: 'lambdas/webhooks/store/webhook-items.ts',
        find: '`${RegistryRow.webhookEndpoints}${tenant}#${mode}`',
        replace: '`${RegistryRow.webhookEndpoints}${tenant}#${mode === "live" ? "test" : mode}`',
      },
    ],
  },
];
