import type { GatewayEvent, GatewayResult } from '../../http/gateway-request.ts';
import { httpApi } from '../../http/http-api.ts';
import type { Telemetry } from '../../kernel/platform/telemetry.ts';
import type { ApiKeyRegistry } from '../../tenants/api-key-registry.ts';
import { FoundKeys } from '../../tenants/authenticate.ts';
import { type AuthenticateJobsTools, authenticateJobs } from './authenticate-jobs.ts';
import { getJobs } from './get-jobs.ts';
import { getRun, getRuns } from './get-runs.ts';
import { postRun } from './post-run.ts';
import type { JobsTools, Route } from './route.ts';

export interface JobsApiTools extends JobsTools {
  readonly keys: ApiKeyRegistry;
  readonly verify: AuthenticateJobsTools['verify'];
  readonly telemetry: Telemetry;
}

const ROUTES: readonly Route[] = [getJobs, postRun, getRuns, getRun];

/** The API of jobs on any store and queues. */
export function jobsApi(tools: JobsApiTools): (event: GatewayEvent) => Promise<GatewayResult> {
  const { keys, verify, clock, digest, telemetry } = tools;
  const found = new FoundKeys();
  return httpApi({
    routes: ROUTES,
    tools,
    clock,
    telemetry,
    authenticate: (authorization, scope, path) =>
      authenticateJobs({ keys, found, clock, digest, verify }, authorization, scope, path),
  });
}
