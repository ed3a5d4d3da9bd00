import type { Stack } from 'aws-cdk-lib';
import { JOBS } from '../lambdas/kernel/contract/jobs.ts';
import type { HttpApi } from './constructs/http-api.ts';
import { ScheduledJobs } from './constructs/scheduled-jobs.ts';
import { executorFunction, type JobQueues, jobsApiFunction } from './job-functions.ts';
import type { ServiceParts } from './service-functions.ts';

const PATHS = ['/v1/admin/jobs', '/v1/admin/jobs/{id}/runs', '/v1/admin/jobs/{id}/runs/{run}'];

interface JobsSurroundings {
  readonly http: HttpApi;
  readonly queues: JobQueues;
}

/** How runs come about: the schedules, the executor that they fire, and the routes that it asks, and operators too. */
export function addJobs(
  stack: Stack,
  parts: Pick<ServiceParts, 'settings' | 'data'>,
  { http, queues }: JobsSurroundings,
): ScheduledJobs {
  const api = jobsApiFunction(stack, parts, queues);
  for (const path of PATHS) http.route(path, api.function);
  // It is no part of the API, so it may know the API's address without a circle.
  const executor = executorFunction(stack, parts, http.url);
  return new ScheduledJobs(stack, 'Jobs', { jobs: JOBS, executor: executor.function });
}
