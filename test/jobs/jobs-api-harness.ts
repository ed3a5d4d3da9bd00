import type { GatewayEvent, GatewayResult } from '../../lambdas/http/gateway-request.ts';
import { type JobsApiTools, jobsApi } from '../../lambdas/jobs/http/job-routes.ts';
import { signJobCredential, verifyJobCredential } from '../../lambdas/jobs/job-credential.ts';
import { ALL_SCOPES } from '../../lambdas/kernel/contract/api.ts';
import { API_KEY, ApiHarness, type Asked, type Reply } from '../payments/payments-api-harness.ts';
import { JobRunsWorld } from './job-runs-world.ts';

export const RUNS = '/v1/admin/jobs/close-days/runs';

/** @param time ISO 8601 */
export function unixSeconds(time: string): number {
  return Math.floor(Date.parse(time) / 1000);
}

/** The API of jobs with everything behind it in memory; by default an operator asks. */
export class JobsApiHarness extends ApiHarness {
  readonly world = new JobRunsWorld();
  readonly #changes: Partial<JobsApiTools>;
  readonly #secrets = {
    active: async () => ['0123456789abcdefghijABCDEFGHIJ01'],
    renewed: async () => undefined,
  };

  constructor(changes: Partial<JobsApiTools> = {}) {
    super();
    this.#changes = changes;
    this.registerKey(API_KEY, { scopes: ALL_SCOPES });
  }

  protected open(): (event: GatewayEvent) => Promise<GatewayResult> {
    const { world } = this;
    return jobsApi({
      ...world.accepting(world.actor('api')),
      keys: this.keys,
      telemetry: this.telemetry,
      verify: (token, path) => verifyJobCredential(this.credentials, token, path),
      ...this.#changes,
    });
  }

  get credentials(): Parameters<typeof signJobCredential>[0] {
    return { secrets: this.#secrets, secretId: 'job-credential', clock: this.world.clock };
  }

  /** Asks for a run, with no body at all unless one is given. */
  async run(key: string, body?: Readonly<Record<string, unknown>>, asked: Asked = {}, path = RUNS): Promise<Reply> {
    const type = body === undefined ? {} : { 'Content-Type': 'application/json' };
    return this.ask('POST', path, {
      headers: { ...type, 'Idempotency-Key': key, ...asked.headers },
      event: { body: body === undefined ? null : JSON.stringify(body), ...asked.event },
    });
  }

  /** Asks for a run as the executor does, unless `changes` says otherwise. */
  async fire(
    scheduledFor: string,
    changes: { path?: string; credited?: string; scopes?: readonly string[]; key?: string; body?: object } = {},
  ): Promise<Reply> {
    const runId = `close-days:${scheduledFor}`;
    const { path = RUNS, credited = runId, scopes = ['jobs:run'], key = runId } = changes;
    const token = await signJobCredential(this.credentials, { path, runId: credited, scopes });
    const headers = { Authorization: `Bearer ${token}` };
    return this.run(key, { scheduled_for: unixSeconds(scheduledFor), ...changes.body }, { headers });
  }
}
