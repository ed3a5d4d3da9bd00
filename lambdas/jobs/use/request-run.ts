import type { Digest } from '../../kernel/digest.ts';
import type { Clock, Entropy } from '../../kernel/world.ts';
import { runExpirySeconds } from '../../once/domain/idempotency.ts';
import type { ConsumerEffects } from '../../once/use/consumer-records.ts';
import type { OperationRunner } from '../../once/use/operation-runner.ts';
import type { JobEntry } from '../contract/jobs.ts';
import { type RunId, runIdOf } from '../domain/job-run.ts';
import { runCallOperation } from '../ids.ts';
import type { JobRoutes } from './job-routes.ts';

export interface RequestRunTools {
  readonly routes: JobRoutes;
  readonly records: ConsumerEffects;
  readonly runner: OperationRunner;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly digest: Digest;
}

/**
 * Timeout of the request to the route, in milliseconds. Longer than the route takes after a cold start, and half of the
 * executor's timeout.
 */
const ASK_TIMEOUT_MS = 10_000;

export async function isRequested(
  { records, digest }: Pick<RequestRunTools, 'records' | 'digest'>,
  jobId: string,
  scheduledForMs: number,
): Promise<boolean> {
  return (await records.readEffect(runCallOperation(digest, runIdOf(jobId, scheduledForMs)))) !== undefined;
}

export interface RequestedRun {
  readonly runId: RunId;
  /** `asked_before`: an earlier invocation requested the run, so this one sent no request. */
  readonly kind: 'asked' | 'asked_before';
}

/**
 * No claim is needed: the route accepts a run only once, however often it is requested, so another invocation can take
 * over from an executor that crashed before or after its request.
 *
 *   A ── find ── request ✓ ── (crash)
 *   B ───────────────────────── find ── request ✓ (the same run-id: a replay) ── record ✓
 *   C ───────────────────────────────────────────────────────────────────────────────── find: requested before
 *
 * @throws the errors of the route and of the store; the invocation must be retried
 */
export async function requestRun(
  tools: RequestRunTools,
  entry: Pick<JobEntry, 'id' | 'path' | 'scopes'>,
  scheduledForMs: number,
): Promise<RequestedRun> {
  const { routes, records, runner, clock, entropy, digest } = tools;
  const runId = runIdOf(entry.id, scheduledForMs);
  const operationId = runCallOperation(digest, runId);
  const kind = await runner.record<void, RequestedRun['kind']>(operationId, {
    find: async () => ((await records.readEffect(operationId)) === undefined ? undefined : 'asked_before'),
    prepare: () =>
      routes.ask({ runId, path: entry.path, scopes: entry.scopes, scheduledForMs }, { timeoutMs: ASK_TIMEOUT_MS }),
    commit: async () => {
      const recordedAtMs = clock.nowMs();
      const expiresAtSeconds = runExpirySeconds(tools, recordedAtMs);
      await records.recordOnce({ operationId, owner: entropy.ownerToken(), recordedAtMs, expiresAtSeconds }, []);
      return 'asked';
    },
  });
  return { runId, kind };
}
