import { setTimeout as sleep } from 'node:timers/promises';
import {
  GetFunctionConfigurationCommand,
  InvokeCommand,
  LambdaClient,
  ListFunctionsCommand,
  UpdateFunctionConfigurationCommand,
} from '@aws-sdk/client-lambda';
import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, describe, expect, test } from '@jest/globals';
import { StackName } from '../../lambdas/kernel/contract/api.ts';
import { chargeOperation } from '../../lambdas/kernel/ids.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { recordKey } from '../../lambdas/once/store/record-items.ts';
import { CREDENTIALS } from '../../local/emulator-environment.ts';
import { signalProcess } from '../../local/processes.ts';
import { stackOutput } from '../events/event-listener.ts';
import { switchRelay } from '../events/relay-switch.ts';
import { expectedPaymentId } from '../payments/expected-payment-id.ts';
import { killedPayment } from '../payments/killed-payment.ts';
import { endMemberships, removeBundle, startMembership } from '../services/membership-service.ts';
import { addLocks, effectsIn, ownTable } from '../services/own-tables.ts';
import { ApiClient } from '../support/api-client.ts';
import { workersOf } from '../support/lambda-workers.ts';
import { askSandbox, dynamoDbClient, localAws } from '../support/local-aws.ts';
import { until } from '../support/until.ts';
import { type DeployedTarget, fireAgain, scheduleOf, secretValue, untilEmpty } from './deployed-targets.ts';
import { runJob, type ShownRun, startJob, untilEnded } from './run-job.ts';

const aws = localAws();
const api = new ApiClient(aws, aws.apiKey);
const operator = new ApiClient(aws, aws.operatorKey);
const run = crypto.randomUUID().slice(0, 8);
const lambda = new LambdaClient({ endpoint: aws.awsEndpoint, region: aws.region, credentials: CREDENTIALS });

const MINUTE_MS = 60_000;
/** The setting of the local stack: an event counts as lost after this time, in whole minutes. */
const LOST_AFTER_MS = 20_000;

const runsOf = async (jobId: string) =>
  ((await operator.send('GET', `/v1/admin/jobs/${jobId}/runs?limit=100`)).json['data'] ?? []) as readonly ShownRun[];

const signalAll = (functionName: string, signal: NodeJS.Signals): number => {
  const pids = workersOf(functionName);
  for (const pid of pids) signalProcess(pid, signal);
  return pids.length;
};

async function functionNamed(part: string): Promise<string> {
  const { Functions = [] } = await lambda.send(new ListFunctionsCommand({}));
  return Functions.map(({ FunctionName = '' }) => FunctionName).find((name) => name.includes(part)) ?? part;
}

const fire = async (executor: string, job: string, scheduledTime: string) =>
  lambda.send(new InvokeCommand({ FunctionName: executor, Payload: JSON.stringify({ job, scheduledTime }) }));

afterAll(() => switchRelay('Enabled'));
afterAll(endMemberships);
afterAll(removeBundle);

/** The worker crashes in the middle of a page: the processor does not answer its list request. */
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

/** Its process is killed after the charge, and its client never comes back. @returns its key */
async function abandonedPayment(): Promise<string> {
  return (await killedPayment(aws, { source: 'tok_timeout_charged' })).key;
}

/** Whether the answer of this key is stored. */
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

/** A charge made at the processor without Payonce. @returns its id */
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

describe('jobs on the deployed stack', () => {
  test('finish open claims and publish lost events, although their own workers crash', async () => {
    const compared = await killedComparison();
    const abandoned = await abandonedPayment();
    await switchRelay('Disabled');
    const silent = await api.pay({ key: `jobs-${run}-silent` });
    const paidAtMs = Date.now();
    const stray = await chargeBehindOurBack();

    // By the schedule alone: no operator requests this run, and no client its answer.
    await until(async () => ((await isAnswered(abandoned)) ? true : undefined));
    const late = await api.pay({ key: abandoned, body: { source: 'tok_timeout_charged' } });
    expect([late.status, late.json['status']]).toEqual([201, 'succeeded']);
    expect(late.headers.get('idempotency-replayed')).toBe('true');
    expect(await api.charges(late.json['id'])).toHaveLength(1);

    await sleep(Math.max(0, Math.floor(paidAtMs / MINUTE_MS) * MINUTE_MS + MINUTE_MS + LOST_AFTER_MS - Date.now()));
    expect(await eventsOf(silent.json['id'])).toEqual([]);
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

  test('run once when a time fires twice at once and the executor crashes in between', async () => {
    const executor = await functionNamed('JobsExecutor');
    const at = `${new Date(Date.now() - MINUTE_MS).toISOString().slice(0, 16)}:07Z`;
    const firings = [fire(executor, 'close-days', at), fire(executor, 'close-days', at)];
    await sleep(50);
    signalAll(executor, 'SIGKILL');
    await Promise.all(firings);
    // A firing that fails is repeated, as Lambda repeats it: on a busy machine the executor's call may take too long.
    const fired = () =>
      until(async () => {
        const answer = await fire(executor, 'close-days', at);
        return answer.FunctionError === undefined ? Buffer.from(answer.Payload ?? []).toString() : undefined;
      });
    await fired();
    expect(await fired()).toContain('asked_before');
    const mine = await until(async () => nonEmpty((await runsOf('close-days')).filter(({ id }) => id.endsWith(at))));
    expect(mine).toHaveLength(1);
    const ended = await untilEnded(aws, `/v1/admin/jobs/close-days/runs/close-days:${at}`);
    expect([ended.status, ended.failed]).toEqual(['succeeded', 0]);
  });

  test('of another service: a time that fires twice is one run there, and its locks are released once', async () => {
    const caller = await functionNamed('JobsTargetsCaller');
    const { Environment: { Variables = {} } = {} } = await lambda.send(
      new GetFunctionConfigurationCommand({ FunctionName: caller }),
    );
    const { membership } = JSON.parse(Variables['JOB_TARGETS'] ?? '{}') as { readonly membership: DeployedTarget };
    const table = await ownTable();
    await addLocks(table, 45);
    const { url, said } = await startMembership({ table, secret: await secretValue(membership.secretId) });
    const targets = JSON.stringify({ membership: { ...membership, url } });
    await lambda.send(
      new UpdateFunctionConfigurationCommand({
        FunctionName: caller,
        Environment: { Variables: { ...Variables, JOB_TARGETS: targets } },
      }),
    );
    const schedule = await scheduleOf('release-commission-locks');
    await fireAgain(schedule, [`${run}-a`, `${run}-b`], new Date(Date.now() + 2_000).toISOString().slice(0, 19));
    await until(async () => ((await effectsIn(table)).runs > 0 ? true : undefined));
    await untilEmpty(schedule.Target.Arn);
    expect(await effectsIn(table)).toEqual({ credits: 45, sum: 450, locked: 0, runs: 1 });
    expect(said().match(/commit ok/g)).toHaveLength(1);
    const listed = await runsOf('release-commission-locks');
    expect(listed).toHaveLength(1);
    expect(listed).toMatchObject([{ status: 'succeeded', reason: null }]);
  });
});
