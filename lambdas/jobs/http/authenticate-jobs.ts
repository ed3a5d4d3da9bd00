import type { Admit } from '../../http/authenticated-api.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import type { TenantId } from '../../kernel/ids.ts';
import type { Caller } from '../../tenants/authenticate.ts';
import { type CredentialVerdict, isCredential } from '../job-credential.ts';

/** An operator with an API key, or the executor with a credential for one run. */
export type JobsCaller =
  | { readonly kind: 'operator'; readonly operator: Caller; readonly tenantId: TenantId }
  | { readonly kind: 'executor'; readonly runId: string; readonly tenantId?: never };

/** Verifies that the executor signed this credential for the path. */
export type VerifyCredential = (credential: string, path: string) => Promise<CredentialVerdict>;

const BEARER = /^bearer +(?<token>\S+)$/i;

/**
 * Authenticates an API key or a credential. An operator's API key needs the scope `admin` for every route; a credential needs
 * the scope of the route.
 *
 * @throws RetryableError when the registry or the secret is unavailable
 */
export function keyOrCredential(byKey: Admit<Caller>, verify: VerifyCredential): Admit<JobsCaller> {
  return async (authorization, scope, path) => {
    const [value = '', ...others] = authorization;
    const token = BEARER.exec(value)?.groups?.['token'] ?? '';
    if (others.length === 0 && isCredential(token)) {
      const verdict = await verify(token, path);
      if (verdict.kind === 'refused') return { kind: 'unauthorized' };
      const kind = verdict.scopes.includes(scope) ? 'authenticated' : 'insufficient_scope';
      return { kind, caller: { kind: 'executor', runId: verdict.runId } };
    }
    const found = await byKey(authorization, Scopes.admin, path);
    if (found.kind === 'unauthorized') return found;
    const { caller } = found;
    return { kind: found.kind, caller: { kind: 'operator', operator: caller, tenantId: caller.tenantId } };
  };
}
