/** Tests the guarantee "known outcomes". */
import { setTimeout as sleep } from 'node:timers/promises';
import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, expect, test } from '@jest/globals';
import { StackName } from '../../lambdas/kernel/contract/api.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { recordKey } from '../../lambdas/once/store/record-items.ts';
import { chargeOperation } from '../../lambdas/payments/ids.ts';
import { signalProcess } from '../../local/processes.ts';
import { stackOutput } from '../events/event-listener.ts';
import { switchRelay } from '../events/relay-switch.ts';
import { expectedPaymentId } from '../payments/expected-payment-id.ts';
import { killedPayment } from '../payments/killed-payment.ts';
import { ApiClient } from '../support/api-client.ts';
import { workersOf } from '../support/lambda-workers.ts';
import { askSandbox, dynamoDbClient, localAws } from '../support/local-aws.ts';
import { until } from '../support/until.ts';
import { runJob, startJob, untilEnded } from './run-job.ts';

const aws = localAws();
const api = new ApiClient(aws, aws.apiKey);
const operator = new ApiClient(aws, aws.operatorKey);
const run = crypto.randomUUID().slice(0, 8);

const MINUTE_MS = 60_000;
/** Time after which the local stack treats an event as lost, in milliseconds. */
const LOST_AFTER_MS = 20_000;

const signalAll = (functionName: string, signal: NodeJS.Signals): number => {
  const pids = workersOf(functionName);
  for (const pid of pids) signalProcess(pid, signal);
  return pids.length;
};

afterAll(() => switchRelay('Enabled'));

/** The worker crashes while it waits for the processor's response to a list request. @returns the path of the run */
async function killedComparison(): Promise<string> {
  await api.charges('pay_none');
  expect(signalAll(StackName.sandbox, 'SIGSTOP')).toBeGreaterThan(0);
  try {
    const location = await startJob(aws, 'reconcile-recent');
    await until(async () => ((await operator.send('GET', location)).json['status'] === 'running' ? true : undefined));
    expect(signalAll(await stackOutput('service', 'upkeepJobsFunction'), 'SIGKILL')).toBeGreaterThan(0);
    return location;
  } finally {
    signalAll(StackName.sandbox, 'SIGCONT');
  }
}

/** No client retries the payment. @returns the idempotency key */
async function abandonedPayment(): Promise<string> {
  return (await killedPayment(aws, { source: 'tok_timeout_charged' })).key;
}

async function isAnswered(key: string): Promise<boolean> {
  const { Item } = await documentClient(dynamoDbClient()).send(
    new GetCommand({
      TableName: aws.tables.idempotency,
      Key: recordKey(chargeOperation(expectedPaymentId(aws.tenantId, key))),
      ConsistentRead: true,
    }),
  );
  return Item?.['status'] === 'COMPLETED';
}

/** Creates a charge that Payonce did not request. @returns the id of the charge */
async function chargeBehindOurBack(): Promise<unknown> {
  const answer = await askSandbox('/charges', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': `behind-${run}` },
    body: JSON.stringify({ amount: 777, currency: 'EUR', source: 'tok_ok', capture: 'automatic', metadata: {} }),
  });
  expect(answer.status).toBe(201);
  return ((await answer.json()) as { readonly id: unknown }).id;
}

const nonEmpty = <Item>(items: readonly Item[]) => (items.length > 0 ? items : undefined);

async function eventsOf(payment: unknown): Promise<readonly unknown[]> {
  const { json } = await api.send('GET', '/v1/events?limit=100');
  const events = (json['data'] ?? []) as readonly { readonly data: { readonly object: { readonly id: unknown } } }[];
  return events.filter(({ data }) => data.object.id === payment);
}

test('jobs finish an open claim, publish a lost event, and find a charge that Payonce did not request, even after a worker crash', async () => {
  const compared = await killedComparison();
  const abandoned = await abandonedPayment();
  await switchRelay('Disabled');
  const silent = await api.pay({ key: `jobs-${run}-silent` });
  const paidAtMs = Date.now();
  const stray = await chargeBehindOurBack();

  // Only the scheduled job resolves this payment, because no operator requests a run and no client retries.
  await until(async () => ((await isAnswered(abandoned)) ? true : undefined));
  const late = await api.pay({ key: abandoned, body: { source: 'tok_timeout_charged' } });
  expect([late.status, late.json['status']]).toEqual([201, 'succeeded']);
  expect(late.headers.get('idempotency-replayed')).toBe('true');
  expect(await api.charges(late.json['id'])).toHaveLength(1);

  await sleep(Math.max(0, Math.floor(paidAtMs / MINUTE_MS) * MINUTE_MS + MINUTE_MS + LOST_AFTER_MS - Date.now()));
  // The schedule may already have run the job. While the relay is disabled, only this job publishes events.
  await runJob(aws, 'republish-events');
  expect(await until(async () => nonEmpty(await eventsOf(silent.json['id'])))).toHaveLength(1);

  const first = await untilEnded(aws, compared);
  expect([first.status, first.failed]).toEqual(['succeeded', 0]);
  const second = await runJob(aws, 'reconcile-recent');
  expect([second.status, second.failed]).toEqual(['succeeded', 0]);
  const { json } = await operator.send('GET', '/v1/admin/mismatches?limit=100');
  const found = (json['data'] as Record<string, unknown>[]).find(({ charges }) => String(charges) === stray);
  expect(found).toMatchObject({ status: 'suspected', processor_amount: 777, ledger_amount: 0 });
});
