import type { GatewayEvent, GatewayResult } from '../../http/gateway-request.ts';
import { httpApi } from '../../http/http-api.ts';
import type { Telemetry } from '../../kernel/platform/telemetry.ts';
import type { ApiKeyRegistry } from '../../tenants/api-key-registry.ts';
import { authenticate, FoundKeys } from '../../tenants/authenticate.ts';
import { getPayments } from '../../views/http/get-payments.ts';
import { postCancel, postCapture, postRefund } from './change-payment-routes.ts';
import { getPayment, getTransitions } from './get-payment.ts';
import { getRefund, getRefunds } from './get-refund.ts';
import { postPayment } from './post-payment.ts';
import type { PaymentsTools, Route } from './route.ts';

export interface PaymentsApiTools extends PaymentsTools {
  readonly keys: ApiKeyRegistry;
  readonly telemetry: Telemetry;
}

const ROUTES: readonly Route[] = [
  postPayment,
  getPayments,
  getPayment,
  getTransitions,
  postCapture,
  postCancel,
  postRefund,
  getRefunds,
  getRefund,
];

/** The payments API on any store and processor. */
export function paymentsApi(tools: PaymentsApiTools): (event: GatewayEvent) => Promise<GatewayResult> {
  const { keys, clock, digest, telemetry } = tools;
  const found = new FoundKeys();
  return httpApi({
    routes: ROUTES,
    tools,
    clock,
    telemetry,
    authenticate: (authorization, scope) => authenticate({ keys, found, clock, digest }, authorization, scope),
  });
}
