import { setTimeout as sleep } from 'node:timers/promises';
import {
  GetFunctionConfigurationCommand,
  InvokeCommand,
  LambdaClient,
  ListFunctionsCommand,
  UpdateFunctionConfigurationCommand,
} from '@aws-sdk/client-lambda';
import { afterAll, describe, expect, test } from '@jest/globals';
import { signalProcess } from '../../local/processes.ts';
import { endMemberships, removeBundle, startMembership } from '../services/membership-service.ts';
import { addLocks, effectsIn, ownTable } from '../services/own-tables.ts';
import { ApiClient } from '../support/api-client.ts';
import { workersOf } from '../support/lambda-workers.ts';
import { CREDENTIALS, localAws } from '../support/local-aws.ts';
import { whole } from '../support/slice.ts';
import { until } from '../support/until.ts';
import { type DeployedTarget, fireAgain, scheduleOf, secretValue, untilEmpty } from './deployed-targets.ts';
import { type ShownRun, untilEnded } from './run-job.ts';

const aws = localAws();
const operator = new ApiClient(aws, aws.operatorKey);
const run = crypto.randomUUID().slice(0, 8);
const lambda = new LambdaClient({ endpoint: aws.awsEndpoint, region: aws.region, credentials: CREDENTIALS });

const MINUTE_MS = 60_000;

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

afterAll(endMemberships);
afterAll(removeBundle);

const nonEmpty = <Item>(items: readonly Item[]) => (items.length > 0 ? items : undefined);

describe('jobs on the deployed stack', () => {
  // Slow: the lease of the crashed executor must expire first.
  whole(test, { slice: test.skip })(
    'run once when a scheduled time fires twice concurrently and the executor crashes in between',
    async () => {
      const executor = await functionNamed('JobsExecutor');
      const at = `${new Date(Date.now() - MINUTE_MS).toISOString().slice(0, 16)}:07Z`;
      const firings = [fire(executor, 'close-days', at), fire(executor, 'close-days', at)];
      await sleep(50);
      signalAll(executor, 'SIGKILL');
      await Promise.all(firings);
      // Repeats a firing that fails, as Lambda does, because the executor's request may time out on a busy machine.
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
    },
  );

  test('run once at another service when a scheduled time fires twice, and release each commission lock once', async () => {
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
