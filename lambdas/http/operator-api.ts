import type { OperatorCause } from '../kernel/cause.ts';
import { includesRole, type Role } from '../kernel/contract/api.ts';
import type { IdentifyOperator, Operator } from '../tenants/operators.ts';
import { type Admit, type ApiTools, apiFor, type Call, type Handler, type RouteBy } from './authenticated-api.ts';
import { explainMissingOperator, ROLE_NEEDED } from './for-tenant.ts';
import { type GatewayEvent, gatewayRequest } from './gateway-request.ts';

export interface OperatorRoute<Tools, AnyCaller = Operator> extends RouteBy<Tools, AnyCaller> {
  readonly role: Role;
}

export function byRole(identify: IdentifyOperator): Admit<Operator, Pick<OperatorRoute<never>, 'role'>> {
  return async (authorization, { role }) => {
    const caller = await identify(authorization);
    if (caller === undefined) return { kind: 'unauthorized', detail: explainMissingOperator(authorization) };
    return includesRole(caller.role, role)
      ? { kind: 'authenticated', caller }
      : { kind: 'insufficient_role', caller, detail: ROLE_NEEDED };
  };
}

export function operatorApi<Tools>(
  routes: readonly OperatorRoute<Tools>[],
  tools: Tools & ApiTools,
  identify: IdentifyOperator,
): Handler {
  return apiFor(byRole(identify), routes, tools);
}

export function byPath(operators: Handler, tenants: Handler): Handler {
  return (event: GatewayEvent) => (gatewayRequest(event).path[1] === 'admin' ? operators(event) : tenants(event));
}

export function causedByOperator({
  request,
  caller,
}: Pick<Call<unknown, Operator>, 'request' | 'caller'>): OperatorCause {
  return { by: 'operator', operator: caller.name, identity: caller.identity, requestId: request.requestId };
}
