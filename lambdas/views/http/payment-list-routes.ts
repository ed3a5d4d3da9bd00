import type { Route } from '../../http/authenticated-api.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import type { ListPaymentsTools } from '../use/list-payments.ts';

/**
 * The list routes of the payments API. Read-only. Their code is loaded with the first request instead of the cold
 * start.
 */
export const PAYMENT_LIST_ROUTES: readonly Route<ListPaymentsTools>[] = [
  {
    method: 'GET',
    path: '/v1/payments',
    scope: Scopes.paymentsRead,
    role: 'operator',
    asksProcessor: ({ query }) => query.has('charge_id'),
    handle: async (call) => (await import('./payment-lists.ts')).showPayments(call),
  },
  {
    method: 'GET',
    path: '/v1/disputes',
    scope: Scopes.paymentsRead,
    role: 'viewer',
    handle: async (call) => (await import('./payment-lists.ts')).showDisputes(call),
  },
];
