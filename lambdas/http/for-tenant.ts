import { includesRole, type Role } from '../kernel/contract/api.ts';
import { type Mode, tenantId } from '../kernel/ids.ts';
import { bearerToken, type Caller } from '../tenants/authenticate.ts';
import type { IdentifyOperator } from '../tenants/operators.ts';
import type { IsTenant } from '../tenants/owners.ts';

/**
 * The header with which an operator calls a tenant route. It names the tenant and the mode, for example
 * `ten_desk/live`. If the path contained the tenant instead, API Gateway would need a second route for each tenant
 * route.
 */
export const TENANT_HEADER = 'payonce-tenant';

export const OWNER = /^(?<tenant>ten_\w{1,100})\/(?<mode>test|live)$/;

const OPERATOR_NEEDED =
  'Send a valid operator key, or a token from the identity provider, as "Authorization: Bearer <key>".';
const TENANTS_KEY =
  'This is the API key of a tenant. This route requires an operator key (ok_…), or a token from the identity provider.';
const OPERATORS_KEY =
  'This is the key of an operator. This route requires the API key of a tenant (sk_test_… or sk_live_…)';
export const ROLE_NEEDED = 'Your role does not include the role that this route requires.';
const KEY_NEEDED = 'This route accepts only API keys of tenants, without the Payonce-Tenant header.';
const NO_TENANT = 'There is no such tenant.';
const MALFORMED = 'Payonce-Tenant must be a tenant id and a mode, for example ten_desk/live.';

/** Recognizes a key of the wrong kind by its form alone, so the text does not reveal whether the key is valid. */
export function explainMissingOperator(authorization: readonly string[]): string {
  return bearerToken(authorization).startsWith('sk_') ? TENANTS_KEY : OPERATOR_NEEDED;
}

/** @returns undefined unless the caller sent an operator's key */
export function explainMissingTenant(authorization: readonly string[], role: Role | undefined): string | undefined {
  if (!bearerToken(authorization).startsWith('ok_')) return undefined;
  const alternative = role === undefined ? '' : ', or an operator key together with Payonce-Tenant: <tenant>/<mode>';
  return `${OPERATORS_KEY}${alternative}.`;
}

type Admitted =
  | { readonly kind: 'unauthorized' | 'invalid_request' | 'not_found'; readonly detail: string }
  | { readonly kind: 'insufficient_role'; readonly caller: Caller; readonly detail: string }
  | { readonly kind: 'authenticated'; readonly caller: Caller };

export interface OperatorsForTenants {
  readonly identify: IdentifyOperator;
  readonly isTenant: IsTenant;
}

/** @throws RetryableError when the operator or the tenant cannot be looked up at the moment */
export async function forTenant(
  {
    operators,
    role,
    tenant,
  }: {
    readonly operators: OperatorsForTenants | undefined;
    /** Undefined if the route refuses operators. */
    readonly role: Role | undefined;
    readonly tenant: readonly string[];
  },
  authorization: readonly string[],
): Promise<Admitted> {
  if (operators === undefined || role === undefined) return { kind: 'unauthorized', detail: KEY_NEEDED };
  const operator = await operators.identify(authorization);
  if (operator === undefined) return { kind: 'unauthorized', detail: explainMissingOperator(authorization) };
  const [value = '', ...others] = tenant;
  const { tenant: id, mode } = (others.length > 0 ? undefined : OWNER.exec(value)?.groups) ?? {};
  if (id === undefined || mode === undefined) return { kind: 'invalid_request', detail: MALFORMED };
  const { name, identity, person } = operator;
  const by = { by: 'operator', operator: name, identity } as const;
  const caller = { tenantId: tenantId(id), mode: mode as Mode, by, person };
  if (!includesRole(operator.role, role)) return { kind: 'insufficient_role', caller, detail: ROLE_NEEDED };
  const isKnown = await operators.isTenant(caller.tenantId);
  return isKnown ? { kind: 'authenticated', caller } : { kind: 'not_found', detail: NO_TENANT };
}
