import type { GatewayEvent, GatewayResult } from '../../http/gateway-request.ts';
import type * as http from '../../http/http-api.ts';
import { httpApi } from '../../http/http-api.ts';
import type { Telemetry } from '../../kernel/platform/telemetry.ts';
import type { ApiKeyRegistry } from '../../tenants/api-key-registry.ts';
import { authenticate, type Caller, FoundKeys } from '../../tenants/authenticate.ts';
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
  getPayment,
  getTransitions,
  postCapture,
  postCancel,
  postRefund,
  getRefunds,
  getRefund,
];

/**
 * The payments API on any store and processor.
 *
 * @param further routes of other rooms under the same path: the list, which is read from the views
 */
export function paymentsApi<Tools extends PaymentsApiTools>(
  tools: Tools,
  further: readonly http.Route<Tools, Caller>[],
): (event: GatewayEvent) => Promise<GatewayResult> {
  const { keys, clock, digest, telemetry } = tools;
  const found = new FoundKeys();
  return httpApi<Tools, Caller>({
    routes: [...ROUTES, ...further],
    tools,
    clock,
    telemetry,
    authenticate: (authorization, scope) => authenticate({ keys, found, clock, digest }, authorization, scope),
  });
}
