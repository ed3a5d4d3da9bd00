import type { GatewayEvent, GatewayResult } from '../../http/gateway-request.ts';
import { httpApi } from '../../http/http-api.ts';
import type { Telemetry } from '../../kernel/platform/telemetry.ts';
import type { ApiKeyRegistry } from '../../tenants/api-key-registry.ts';
import { authenticate, FoundKeys } from '../../tenants/authenticate.ts';
import { getBalances } from './get-balances.ts';
import { getEntries } from './get-entries.ts';
import { getMismatches } from './get-mismatches.ts';
import { postCorrection } from './post-correction.ts';
import { postDecision } from './post-decision.ts';
import type { LedgerTools, Route } from './route.ts';

export interface LedgerApiTools extends LedgerTools {
  readonly keys: ApiKeyRegistry;
  readonly telemetry: Telemetry;
}

const ROUTES: readonly Route[] = [getEntries, getBalances, postCorrection, getMismatches, postDecision];

/** The ledger API on any store and books. */
export function ledgerApi(tools: LedgerApiTools): (event: GatewayEvent) => Promise<GatewayResult> {
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
