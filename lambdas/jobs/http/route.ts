import type * as http from '../../http/http-api.ts';
import { refusal } from '../../http/http-api.ts';
import { problem } from '../../http/problems.ts';
import type { TenantId } from '../../kernel/ids.ts';
import type { Caller } from '../../tenants/authenticate.ts';
import type { AcceptRunTools } from '../use/accept-run.ts';

export type JobsTools = AcceptRunTools;

/** Who asks: an operator with a key of his own, or the executor with a credential for one run. */
export type JobsCaller =
  | { readonly kind: 'operator'; readonly operator: Caller; readonly tenantId: TenantId }
  | { readonly kind: 'executor'; readonly runId: string; readonly tenantId?: never };

export type Call = http.Call<JobsTools, JobsCaller>;
export type Route = http.Route<JobsTools, JobsCaller>;

export function noSuchJob({ request }: Call): http.Handled {
  return refusal(problem('not_found', 'There is no such job.'), request);
}
