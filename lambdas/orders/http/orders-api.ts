import type { GatewayEvent, GatewayResult } from '../../http/gateway-request.ts';
import { httpApi } from '../../http/http-api.ts';
import type { Telemetry } from '../../kernel/platform/telemetry.ts';
import type { ApiKeyRegistry } from '../../tenants/api-key-registry.ts';
import { authenticate, FoundKeys } from '../../tenants/authenticate.ts';
import type { OrderTools } from '../use/create-order-types.ts';
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
