import * as z from 'zod';
import type { ZodOpenApiPathsObject } from 'zod-openapi';
import { runsQuery, startRunBody } from '../jobs/http/job-schemas.ts';
import { job, jobList, jobRun, jobRunList } from './job-answers.ts';
import { keyed, reading } from './operations.ts';

const ofJob = z.object({
  id: z
    .string()
    .regex(/^[a-z0-9-]{2,50}$/)
    .meta({ description: 'The id of the job.', example: 'close-days' }),
});
const ofRun = ofJob.extend({ run: jobRun.shape.id.meta({ description: 'The id of the run.' }) });

/** Scheduled jobs. */
export const jobPaths: ZodOpenApiPathsObject = {
  '/v1/admin/jobs': {
    get: reading({
      operationId: 'listJobs',
      summary: 'List the scheduled jobs',
      description:
        'With the last run and the time of the next run of each. Jobs belong to the deployment, not to a tenant.',
      role: 'viewer',
      answers: { 200: { description: 'The jobs.', schema: jobList } },
    }),
  },
  '/v1/admin/jobs/{id}': {
    get: reading({
      operationId: 'getJob',
      summary: 'Retrieve a scheduled job',
      description: 'With its last run and the time of its next run.',
      role: 'viewer',
      path: ofJob,
      answers: { 200: { description: 'The job.', schema: job } },
    }),
  },
  '/v1/admin/jobs/{id}/runs': {
    get: reading({
      operationId: 'listJobRuns',
      summary: 'List the runs of a job',
      description: 'The latest scheduled time first. Runs are kept for thirty days after their end.',
      role: 'viewer',
      path: ofJob,
      query: runsQuery,
      answers: { 200: { description: 'A page of runs.', schema: jobRunList } },
    }),
    post: keyed({
      operationId: 'startJobRun',
      summary: 'Start a run of a job',
      description:
        'Accepts the run; a worker executes it. There is one run for each scheduled time, for all callers and keys together. A run that has ' +
        'not ended is enqueued again. The schedule itself uses a credential that is signed for one run.',
      role: 'operator',
      path: ofJob,
      key: ['request', 'the run is for the same time', ' It is remembered for thirty days.'],
      body: { schema: startRunBody, required: false },
      located: true,
      expires: false,
      answers: { 202: { description: 'The run as it was accepted. `Location` shows its progress.', schema: jobRun } },
    }),
  },
  '/v1/admin/jobs/{id}/runs/{run}': {
    get: reading({
      operationId: 'getJobRun',
      summary: 'Retrieve a run of a job',
      description: 'The current state.',
      role: 'viewer',
      path: ofRun,
      answers: { 200: { description: 'The run.', schema: jobRun } },
    }),
  },
};
