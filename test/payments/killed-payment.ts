import type { LocalAws } from '../../local/local-aws.ts';
import { signalProcess } from '../../local/processes.ts';
import { ApiClient, type PaymentPost } from '../support/api-client.ts';
import { workersOf } from '../support/lambda-workers.ts';
import { until } from '../support/until.ts';
import { expectedPaymentId } from './expected-payment-id.ts';

export interface KilledPayment extends Pick<PaymentPost, 'body'> {
  readonly id: string;
  readonly key: string;
}

/** Retries with another payment if the process responded before the kill, which can happen on a slow machine. */
export async function killedPayment(aws: LocalAws, body: Record<string, unknown>): Promise<KilledPayment> {
  const api = new ApiClient(aws, aws.apiKey);
  return until(async () => {
    const key = crypto.randomUUID();
    const id = expectedPaymentId(aws.tenantId, key);
    const dying = api.pay({ key, body });
    await until(async () => ((await api.charges(id)).length > 0 ? true : undefined));
    for (const pid of workersOf(aws.paymentsFunction)) signalProcess(pid, 'SIGKILL');
    return (await dying).status >= 500 ? { id, key, body } : undefined;
  });
}
