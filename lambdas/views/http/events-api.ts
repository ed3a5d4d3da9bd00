import type { GatewayEvent, GatewayResult } from '../../http/gateway-request.ts';
import { httpApi } from '../../http/http-api.ts';
import type { Telemetry } from '../../kernel/platform/telemetry.ts';
import type { ApiKeyRegistry } from '../../tenants/api-key-registry.ts';
import { authenticate, FoundKeys } from '../../tenants/authenticate.ts';
import { getEvent, getEvents } from './get-events.ts';
import type { EventsTools, Route } from './route.ts';

export interface EventsApiTools extends EventsTools {
  readonly keys: ApiKeyRegistry;
  readonly clock: { nowMs(): number };
  readonly telemetry: Telemetry;
}

const ROUTES: readonly Route[] = [getEvents, getEvent];

/** The events API on any Views and Ledger; it writes nothing. */
export function eventsApi(tools: EventsApiTools): (event: GatewayEvent) => Promise<GatewayResult> {
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
