import { unixSeconds } from '../../jobs/domain/job-run-object.ts';
import { type JobCredentialClaims } from '../../jobs/job-credential.ts';
import type { JobRoutes } from '../../jobs/use/job-routes.ts';
import { AmbiguousError, RetryableError, TerminalError } from '../../kernel/faults.ts';
import { parseRetryAfter } from '../../kernel/retry-after.ts';
import type { Clock } from '../../kernel/world.ts';
import type { WebhookTransport } from '../../webhooks/use/webhooks.ts';

export interface TargetRoutesTools {
  /** Part of the credential's audience. */
  readonly target: string;
  readonly url: string;
  /** If targets shared a secret, one target could sign calls to another target. */
  readonly sign: (claims: JobCredentialClaims) => Promise<string>;
  /** A transport that follows no redirects and sends requests only to allowed addresses. */
  readonly transport: WebhookTransport;
  readonly clock: Pick<Clock, 'nowMs'>;
}

const BEFORE_SENDING = ['name_not_resolved', 'connection_refused', 'tls_failed'];

export function targetRoutes({ target, url, sign, transport, clock }: TargetRoutesTools): JobRoutes {
  return {
    ask: async ({ runId, path, scopes, scheduledForMs }) => {
      const credential = await sign({ path: `${target} ${path}`, runId, scopes });
      const result = await transport.post(
        {
          url: `${url}${path}`,
          headers: {
            authorization: `Bearer ${credential}`,
            'content-type': 'application/json',
            'idempotency-key': runId,
          },
          body: JSON.stringify({ scheduled_for: unixSeconds(scheduledForMs) }),
        },
        [],
      );
      if (result.kind === 'unanswered') {
        const message = `The target of the run ${runId} did not respond: ${result.error}.`;
        if (result.error === 'address_not_allowed') throw new TerminalError('target_address_not_allowed', message);
        const Fault = BEFORE_SENDING.includes(result.error) ? RetryableError : AmbiguousError;
        throw new Fault(`target_${result.error}`, message);
      }
      const { status, retryAfter = null } = result;
      if (status >= 200 && status < 300) return;
      const message = `The target of the run ${runId} responded with ${status}.`;
      if (status !== 409 && status !== 429 && status < 500)
        throw new TerminalError(`target_answered_${status}`, message);
      const seconds = parseRetryAfter(retryAfter, clock.nowMs());
      const Fault = status >= 500 ? AmbiguousError : RetryableError;
      throw new Fault(
        `target_answered_${status}`,
        message,
        seconds === undefined ? {} : { retryAfterSeconds: seconds },
      );
    },
  };
}
