import type { Admit } from '../../http/authenticated-api.ts';
import { ROLE_NEEDED } from '../../http/for-tenant.ts';
import { byRole, type OperatorRoute } from '../../http/operator-api.ts';
import { JOBS_RUN } from '../../kernel/contract/api.ts';
import { bearerToken } from '../../tenants/authenticate.ts';
import type { IdentifyOperator, Operator } from '../../tenants/operators.ts';
import { type CredentialVerdict, hasJobCredentialFormat } from '../job-credential.ts';

export type JobsCaller =
  | { readonly kind: 'operator'; readonly operator: Operator; readonly tenantId?: never }
  | { readonly kind: 'executor'; readonly runId: string; readonly tenantId?: never };

export type VerifyCredential = (credential: string, path: string) => Promise<CredentialVerdict>;

export interface JobRoute {
  readonly role: OperatorRoute<never>['role'];
  /** @default false: only operators may call the route */
  readonly isForExecutor?: true;
}

/** @throws RetryableError when the registry or the secret is unavailable */
export function roleOrCredential(identify: IdentifyOperator, verify: VerifyCredential): Admit<JobsCaller, JobRoute> {
  const admitOperator = byRole(identify);
  return async (authorization, route, request) => {
    const token = bearerToken(authorization);
    if (hasJobCredentialFormat(token)) {
      const verdict = await verify(token, `/${request.path.join('/')}`);
      if (verdict.kind === 'valid') {
        const isAllowed = route.isForExecutor === true && verdict.scopes.includes(JOBS_RUN);
        const caller = { kind: 'executor' as const, runId: verdict.runId };
        return isAllowed
          ? { kind: 'authenticated', caller }
          : { kind: 'insufficient_role', caller, detail: ROLE_NEEDED };
      }
    }
    const found = await admitOperator(authorization, route, request);
    if (!('caller' in found)) return found;
    return { ...found, caller: { kind: 'operator', operator: found.caller } };
  };
}
