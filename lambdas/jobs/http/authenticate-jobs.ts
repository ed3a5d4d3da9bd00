import { type Scope, Scopes } from '../../kernel/contract/api.ts';
import { type AuthenticateTools, authenticate } from '../../tenants/authenticate.ts';
import { type CredentialVerdict, isCredential } from '../job-credential.ts';
import type { JobsCaller } from './route.ts';

export interface AuthenticateJobsTools extends AuthenticateTools {
  /** Whether the executor has signed this for the path. */
  readonly verify: (credential: string, path: string) => Promise<CredentialVerdict>;
}

type Admission =
  | { readonly kind: 'unauthorized' }
  | { readonly kind: 'insufficient_scope' | 'authenticated'; readonly caller: JobsCaller };

const BEARER = /^bearer +(?<token>\S+)$/i;

/**
 * An operator's API key needs the scope `admin`, whatever the route; a credential needs the route's own.
 *
 * @throws RetryableError when the registry or the secret cannot be read now
 */
export async function authenticateJobs(
  tools: AuthenticateJobsTools,
  authorization: readonly string[],
  scope: Scope,
  path: string,
): Promise<Admission> {
  const [value = '', ...others] = authorization;
  const token = BEARER.exec(value)?.groups?.['token'] ?? '';
  if (others.length === 0 && isCredential(token)) {
    const verdict = await tools.verify(token, path);
    if (verdict.kind === 'refused') return { kind: 'unauthorized' };
    const kind = verdict.scopes.includes(scope) ? 'authenticated' : 'insufficient_scope';
    return { kind, caller: { kind: 'executor', runId: verdict.runId } };
  }
  const found = await authenticate(tools, authorization, Scopes.admin);
  if (found.kind === 'unauthorized') return found;
  const { caller } = found;
  return { kind: found.kind, caller: { kind: 'operator', operator: caller, tenantId: caller.tenantId } };
}
