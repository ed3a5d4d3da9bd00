import type { RoutePath } from '../../http/authenticated-api.ts';
import type { TenantEndpoint } from '../../http/endpoint.ts';
import { getPayment } from '../../payments/http/get-payment.ts';
import { getPaymentRequest } from '../../payments/http/get-payment-request.ts';
import { getCharges } from '../../payments/http/list-charges.ts';
import { getTransitions } from '../../payments/http/list-transitions.ts';
import { PART_ROUTES } from '../../payments/http/payment-parts.ts';
import { PAYMENT_POSTS } from '../../payments/http/payment-paths.ts';
import type { ReadChargesTools } from '../../payments/use/read-charges.ts';
import type { ListPaymentsTools } from '../use/list-payments.ts';
import { EVENT_ROUTES, type EventsTools } from './event-routes.ts';
import { LEDGER_READ_ROUTES, type LedgerReadTools } from './ledger-routes.ts';
import { PAYMENT_LIST_ROUTES } from './payment-lists.ts';

export type ReadTools = ReadChargesTools & ListPaymentsTools & EventsTools & LedgerReadTools;

export const READ_ROUTES: readonly TenantEndpoint<ReadTools>[] = [
  getPayment,
  getTransitions,
  ...PART_ROUTES,
  getPaymentRequest,
  getCharges,
  ...PAYMENT_LIST_ROUTES,
  ...EVENT_ROUTES,
  ...LEDGER_READ_ROUTES,
];

/** The `Allow` header lists methods in this order. */
export const READ_PATHS: readonly RoutePath[] = [...Object.values(PAYMENT_POSTS), ...READ_ROUTES];
