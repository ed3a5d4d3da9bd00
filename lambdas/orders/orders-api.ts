import { authenticate, FoundKeys } from '../app/authenticate.ts';
import type { OrderTools } from '../app/create-order-types.ts';
import type { ApiKeyRegistry } from '../app/ports/api-key-registry.ts';
import type { GatewayEvent, GatewayResult } from '../runtime/gateway-request.ts';
import { httpApi } from '../runtime/http-api.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import { getOrder } from './get-order.ts';
import { postOrder } from './post-order.ts';

export interface OrdersApiTools extends Omit<OrderTools, 'report'> {
  readonly keys: ApiKeyRegistry;
  readonly telemetry: Telemetry;
}

/** The orders API on any store, processor and parties. */
export function ordersApi(tools: OrdersApiTools): (event: GatewayEvent) => Promise<GatewayResult> {
  const { keys, clock, digest, telemetry } = tools;
  const found = new FoundKeys();
  return httpApi({
    routes: [postOrder, getOrder],
    tools: { ...tools, report: (error) => telemetry.fault('orders', error) },
    clock,
    telemetry,
    authenticate: (authorization, scope) => authenticate({ keys, found, clock, digest }, authorization, scope),
  });
}
