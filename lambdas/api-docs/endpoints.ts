import { getAudit } from '../archive/http/audit-route.ts';
import { postCallback } from '../callbacks/callbacks-api.ts';
import { EXPORT_ROUTES } from '../exports/http/export-routes.ts';
import type { Endpoint } from '../http/endpoint.ts';
import { JOB_ROUTES } from '../jobs/http/job-routes.ts';
import { ADMIN_ROUTES } from '../operators/http/admin-routes.ts';
import { OPERATOR_EFFECT_ROUTES } from '../operators/http/operator-effects.ts';
import { ORDER_ROUTES } from '../orders/http/order-routes.ts';
import { PAYMENT_POST_ROUTES } from '../payments/http/payment-routes.ts';
import { getOrders } from '../views/http/order-list.ts';
import { READ_ROUTES } from '../views/http/read-routes.ts';
import { WEBHOOK_ROUTES } from '../webhooks/http/webhook-routes.ts';

/** The documentation has the same order. */
export const ENDPOINTS: readonly Endpoint<never, never>[] = [
  postCallback,
  ...PAYMENT_POST_ROUTES,
  ...READ_ROUTES,
  ...ORDER_ROUTES,
  getOrders,
  ...EXPORT_ROUTES,
  ...OPERATOR_EFFECT_ROUTES,
  ...ADMIN_ROUTES,
  ...WEBHOOK_ROUTES,
  ...JOB_ROUTES,
  getAudit,
];
