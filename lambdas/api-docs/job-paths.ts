import * as z from 'zod';
import type { ZodOpenApiPathsObject } from 'zod-openapi';
import type { ProblemCode } from '../http/problems.ts';
import { runsQuery, startRunBody } from '../jobs/http/job-schemas.ts';
import { MAX_BODY_BYTES } from '../kernel/contract/limits.ts';
import captured from './examples.json' with { type: 'json' };
import { jobList, jobRun, jobRunList } from './job-answers.ts';
import { ALWAYS, idempotencyKey, OF_POST, problemResponses, replayed, requestId, shown } from './responses.ts';

const ofJob = z.object({ id: z.string().meta({ description: 'Of the job.', example: 'close-days' }) });
const ofRun = ofJob.extend({ run: jobRun.shape.id.meta({ description: 'Of the run.' }) });

/** What is older than a key is remembered is refused by its time. */
const OF_KEYS: readonly ProblemCode[] = [...ALWAYS, ...OF_POST].filter((code) => code !== 'idempotency_key_expired');

/** The part of the API's description that is about the jobs that the clock runs. */
export const jobPaths: ZodOpenApiPathsObject = {
  '/v1/admin/jobs': {
    get: {
      operationId: 'listJobs',
      summary: 'List the jobs that the clock runs',
      description:
        'With the last run of each and the time of the next one. They are of the whole deployment, not of a tenant. Needs the ' +
        'scope `admin`.',
      responses: { 200: shown('The jobs.', jobList, captured.operations.listJobs[200]), ...problemResponses(ALWAYS) },
    },
  },
  '/v1/admin/jobs/{id}/runs': {
    get: {
      operationId: 'listJobRuns',
      summary: 'List the runs of a job',
      description: 'Kept for thirty days after their end. Needs the scope `admin`.',
      requestParams: { path: ofJob, query: runsQuery },
      responses: {
        200: shown('A page of runs.', jobRunList, captured.operations.listJobRuns[200]),
        ...problemResponses([...ALWAYS, 'invalid_request']),
      },
    },
    post: {
      operationId: 'startJobRun',
      summary: 'Have a job run',
      description:
        'Accepts the run, and does nothing of it yet. There is one run for each scheduled time, whoever asks for it and under ' +
        'however many keys; one that has not ended is brought to its worker once more. Needs the scope `admin`. The clock asks ' +
        'with a credential of its own, signed for one run.',
      requestParams: {
        path: ofJob,
        header: z.object({
          'Idempotency-Key': idempotencyKey('request', 'the run is for the same time', ' Remembered for thirty days.'),
        }),
      },
      requestBody: {
        required: false,
        description: `At most ${MAX_BODY_BYTES} bytes of JSON in UTF-8.`,
        content: { 'application/json': { schema: startRunBody, examples: captured.operations.startJobRun.request } },
      },
      responses: {
        202: {
          description: 'The run as it stood when it was asked for; `Location` shows what becomes of it.',
          headers: z.object({
            'Request-Id': requestId,
            Location: z.string().meta({ description: 'Where the run is.' }),
            'Idempotency-Replayed': replayed,
          }),
          content: { 'application/json': { schema: jobRun, examples: captured.operations.startJobRun[202] } },
        },
        ...problemResponses(OF_KEYS),
      },
    },
  },
  '/v1/admin/jobs/{id}/runs/{run}': {
    get: {
      operationId: 'getJobRun',
      summary: 'Show a run of a job',
      description: 'As it stands now. Needs the scope `admin`.',
      requestParams: { path: ofRun },
      responses: { 200: shown('The run.', jobRun, captured.operations.getJobRun[200]), ...problemResponses(ALWAYS) },
    },
  },
};
