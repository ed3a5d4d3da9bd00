import type { MiddlewareHandler } from 'hono';
import { verifyJobCredential } from '../jobs/job-credential.ts';
import { systemClock } from '../kernel/platform/platform.ts';

/** The scheduled job run that made the request. */
export interface JobsCaller {
  /** `<job>:<scheduled time>`, which is also the idempotency key. */
  readonly runId: string;
}

/** The variables of a Hono app that uses `admitJobs`. */
export interface JobVariables {
  job: JobsCaller;
}

export interface AdmitJobsOptions {
  /** The name of this service in `payonce:jobTargets`. */
  readonly target: string;
  /** The scope that the credential must have. */
  readonly scope: string;
  /** Returns the values of the secret that the deployment created for this target: more than one during a rotation. */
  readonly secrets: () => Promise<readonly string[]>;
}

/**
 * Admits requests from Payonce's scheduled jobs. A request needs a credential that is signed for this target, path and
 * run, and has the scope. A valid credential without the scope results in 403, any other failure in 401.
 */
export function admitJobs({
  target,
  scope,
  secrets,
}: AdmitJobsOptions): MiddlewareHandler<{ Variables: JobVariables }> {
  const tools = { secrets: { active: secrets, renewed: async () => undefined }, secretId: target, clock: systemClock };
  return async (c, next) => {
    const [, token = ''] = /^Bearer +(\S+)$/i.exec(c.req.header('authorization') ?? '') ?? [];
    const verdict = await verifyJobCredential(tools, token, `${target} ${c.req.path}`);
    if (verdict.kind === 'refused' || verdict.runId !== c.req.header('idempotency-key')) {
      return c.json({ title: 'Unauthorized', status: 401, code: 'unauthorized' }, 401);
    }
    if (!verdict.scopes.includes(scope)) {
      return c.json({ title: 'Insufficient scope', status: 403, code: 'insufficient_scope' }, 403);
    }
    c.set('job', { runId: verdict.runId });
    return next();
  };
}
