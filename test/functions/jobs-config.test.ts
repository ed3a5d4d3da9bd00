import { describe, expect, test } from '@jest/globals';
import { JOBS } from '../../lambdas/jobs/contract/jobs.ts';
import { readExecutorConfig, readJobsApiConfig, readOwnJobs } from '../../lambdas/jobs/settings.ts';

const executor = {
  IDEMPOTENCY_TABLE: 'Idempotency',
  JOB_CREDENTIAL_SECRET_ID: 'job-credential',
  API_URL: 'https://api.example/live',
};
const LISTED = {
  id: 'expire-points',
  target: 'loyalty',
  why: 'Expires points.',
  schedule: 'rate(1 day)',
  every: 86_400,
  maxDuration: 3_600,
};
const api = {
  ...executor,
  LEDGER_TABLE: 'Ledger',
  REGISTRY_TABLE: 'Registry',
  DEPLOYMENT_SETTINGS: '{"sandbox":"true"}',
  PAYMENT_JOBS_QUEUE_URL: 'https://sqs.example/1/payments',
  UPKEEP_JOBS_QUEUE_URL: 'https://sqs.example/1/upkeep',
  LISTED_JOBS: JSON.stringify([LISTED]),
};

describe('the job functions', () => {
  test('start with their deployed settings', () => {
    expect(readExecutorConfig(executor)).toEqual({
      idempotencyTable: 'Idempotency',
      credentialSecretId: 'job-credential',
      apiUrl: 'https://api.example/live',
    });
    expect(readJobsApiConfig(api)).toEqual({
      tables: { idempotency: 'Idempotency', ledger: 'Ledger', registry: 'Registry' },
      credentialSecretId: 'job-credential',
      queueUrls: { payments: 'https://sqs.example/1/payments', upkeep: 'https://sqs.example/1/upkeep' },
      deploymentSettings: { sandbox: 'true' },
      own: JOBS,
      listed: [LISTED],
    });
  });

  test('include the copy job if AUTHORITY is "postgres", and reject any other value of this variable', () => {
    expect(readOwnJobs({ AUTHORITY: 'postgres' }).map(({ id }) => id)).toEqual([...JOBS.map(({ id }) => id), 'carry']);
    expect(() => readOwnJobs({ AUTHORITY: 'mysql' })).toThrow('the environment variable AUTHORITY must be postgres');
  });

  test.each([
    ['IDEMPOTENCY_TABLE', undefined],
    ['JOB_CREDENTIAL_SECRET_ID', ''],
    ['API_URL', undefined],
    ['API_URL', 'ftp://api.example'],
    ['API_URL', 'https://api.example/'],
  ])('reject executor settings with %s set to %p, and the error names the variable', (name, value) => {
    expect(() => readExecutorConfig({ ...executor, [name]: value })).toThrow(`the environment variable ${name}`);
  });

  test.each([
    'REGISTRY_TABLE',
    'PAYMENT_JOBS_QUEUE_URL',
    'UPKEEP_JOBS_QUEUE_URL',
    'DEPLOYMENT_SETTINGS',
    'LISTED_JOBS',
  ])('reject jobs API settings without %s, and the error names the variable', (name) => {
    expect(() => readJobsApiConfig({ ...api, [name]: undefined })).toThrow(`the environment variable ${name}`);
  });
});
