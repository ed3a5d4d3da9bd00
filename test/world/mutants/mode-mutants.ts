import type { Mutant } from './mutant.ts';

/** Planted faults that omit the mode from a key or a filter. */
export const MODE_MUTANTS: readonly Mutant[] = [
  {
    name: 'keys-of-both-modes-are-one',
    fault: 'A test-mode request and a live-mode request with the same idempotency key count as one request.',
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
    fault: 'A live payment cannot use a reference that a test payment uses.',
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
    fault: 'A tenant’s API key for the other mode can read a payment.',
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
    fault: 'A tenant’s API key for the other mode can refund a payment.',
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
    fault: 'A charge in the processor’s books of the other mode is recorded on the payment that the charge names.',
    needs: ['stray'],
    edits: [
      {
        file: 'lambdas/payments/use/pinned-processor.ts',
        find: 'name === books.name && mode === books.mode && account',
        replace: 'name === books.name && account',
      },
    ],
  },
  {
    name: 'lists-of-both-modes-are-one',
    fault: 'The lists of live mode also show the payments of test mode.',
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
    fault: 'A test-mode webhook endpoint receives events of live payments.',
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
