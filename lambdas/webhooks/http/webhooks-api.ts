import type { GatewayEvent, GatewayResult } from '../../http/gateway-request.ts';
import { httpApi } from '../../http/http-api.ts';
import type { Telemetry } from '../../kernel/platform/telemetry.ts';
import type { ApiKeyRegistry } from '../../tenants/api-key-registry.ts';
import { authenticate, FoundKeys } from '../../tenants/authenticate.ts';
import { deleteRoute, patchEndpoint, postEndpoint, postRotation } from './change-endpoints.ts';
import { getEndpoint, listDeliveries, listEndpoints } from './get-endpoints.ts';
import type { Route, WebhookApiTools } from './route.ts';
import { postReplay, postResend } from './send-again.ts';

export interface WebhooksApiTools extends WebhookApiTools {
  readonly keys: ApiKeyRegistry;
  readonly telemetry: Telemetry;
}

const ROUTES: readonly Route[] = [
  listEndpoints,
  postEndpoint,
  getEndpoint,
  patchEndpoint,
  deleteRoute,
  postRotation,
  listDeliveries,
  postResend,
  postReplay,
];

/** The API of webhook endpoints, on any store. */
export function webhooksApi(tools: WebhooksApiTools): (event: GatewayEvent) => Promise<GatewayResult> {
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
