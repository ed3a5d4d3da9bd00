import type { LocalAws } from '../../local/local-aws.ts';
import { ApiClient } from '../support/api-client.ts';
import { until } from '../support/until.ts';

export interface ShownRun {
  readonly id: string;
  readonly status: string;
  readonly done: number;
  readonly left: number;
  readonly failed: number;
  readonly reason: string | null;
}

/**
 * A run is identified by its second. An earlier run in the same second may have read too early for the test, so the
 * request is repeated until the run is a new one.
 *
 * @returns the path of the run
 */
export async function startJob(aws: LocalAws, jobId: string): Promise<string> {
  const operator = new ApiClient(aws, aws.operatorKey);
  return until(async () => {
    const { status, json, location } = await operator.send('POST', `/v1/admin/jobs/${jobId}/runs`, {
      headers: { 'idempotency-key': crypto.randomUUID() },
    });
    return status === 202 && json['status'] === 'accepted' ? location : undefined;
  });
}

export async function untilEnded(aws: LocalAws, location: string): Promise<ShownRun> {
  const operator = new ApiClient(aws, aws.operatorKey);
  return until(async () => {
    const shown = (await operator.send('GET', location)).json as unknown as ShownRun;
    return shown.status === 'succeeded' || shown.status === 'failed' ? shown : undefined;
  });
}

export async function runJob(aws: LocalAws, jobId: string): Promise<ShownRun> {
  return untilEnded(aws, await startJob(aws, jobId));
}
