import * as z from 'zod';
import { RetryableError, TerminalError } from '../../kernel/faults.ts';
import type { SendRequest } from '../../outbound/http-call.ts';
import { unixSeconds } from '../domain/job-run-object.ts';
import { type JobCredentialClaims, signJobCredential } from '../job-credential.ts';
import type { JobRoutes } from '../use/job-routes.ts';

interface HttpJobRoutesTools {
  /** Base address of the API, without a trailing slash. */
  readonly apiUrl: string;
  readonly sign: (claims: JobCredentialClaims) => Promise<string>;
  readonly send: SendRequest;
}

/** Only Lambda retries, by repeating the executor's asynchronous invocation. */
export function httpJobRoutes({ apiUrl, sign, send }: HttpJobRoutesTools): JobRoutes {
  return {
    ask: async ({ runId, path, scopes, scheduledForMs }, { timeoutMs }) => {
      const credential = await sign({ path, runId, scopes });
      const { status, text } = await send({
        method: 'POST',
        url: `${apiUrl}${path}`,
        headers: {
          authorization: `Bearer ${credential}`,
          'content-type': 'application/json',
          'idempotency-key': runId,
        },
        body: JSON.stringify({ scheduled_for: unixSeconds(scheduledForMs) }),
        timeoutMs,
        party: 'jobs_api',
      });
      if (status === 202) return;
      const message = `The route of ${runId} answered ${status}${codeIn(text)}.`;
      if (status === 429 || status >= 500) throw new RetryableError('jobs_api_unavailable', message);
      throw new TerminalError('jobs_api_refused', message);
    },
  };
}

const problem = z.object({ code: z.string().regex(/^[a-z_]{1,60}$/) });

/** Returns only the problem code, because the rest of the body may quote the request. */
function codeIn(text: string): string {
  try {
    const { data } = problem.safeParse(JSON.parse(text));
    return data === undefined ? '' : ` ${data.code}`;
  } catch {
    return '';
  }
}

export function signer(tools: Parameters<typeof signJobCredential>[0]): HttpJobRoutesTools['sign'] {
  return (claims) => signJobCredential(tools, claims);
}
