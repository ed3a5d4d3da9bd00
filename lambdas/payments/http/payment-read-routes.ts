import type { TenantEndpoint } from '../../http/endpoint.ts';
import type { ReadChargesTools } from '../use/read-charges.ts';
import { getPayment } from './get-payment.ts';
import { getPaymentRequest, type PaymentRequestTools } from './get-payment-request.ts';
import { getCharges } from './list-charges.ts';
import { getTransitions } from './list-transitions.ts';
import { PART_ROUTES } from './payment-parts.ts';

/** The routes that read payments, for any store and processor. The list of payments belongs to the Views. */
export const PAYMENT_READ_ROUTES: readonly TenantEndpoint<PaymentRequestTools & ReadChargesTools>[] = [
  getPayment,
  getTransitions,
  ...PART_ROUTES,
  getPaymentRequest,
  getCharges,
];
