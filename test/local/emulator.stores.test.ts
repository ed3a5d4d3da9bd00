import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { Agent, get, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { CloudFormationClient, CreateStackCommand, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { afterAll, expect, test } from '@jest/globals';
import { type Emulator, isHealthy, startEmulator } from '../../local/emulator.ts';
import { accessTo } from '../../local/emulator-environment.ts';
import { freePort } from '../../local/free-port.ts';
import { ensurePython } from '../../local/python-environment.ts';
import { whole } from '../support/slice.ts';
import { until } from '../support/until.ts';

const folder = mkdtempSync(join(tmpdir(), 'payonce-two-emulators-'));
const started: Emulator[] = [];

afterAll(async () => {
  await Promise.all(started.map((emulator) => emulator.stop()));
  rmSync(folder, { recursive: true, force: true });
});

test('two emulators get different ports if they request the same port concurrently', async () => {
  const python = await ensurePython();
  const port = await freePort(0);
  const start = async (name: string): Promise<void> => {
    const directory = join(folder, name);
    mkdirSync(directory);
    started.push(await startEmulator({ python, port, directory, state: join(directory, 'state'), persist: false }));
  };
  await Promise.all([start('first'), start('second')]);
  const [first, second] = started.map(({ access }) => access);
  expect(first?.awsEndpoint).not.toBe(second?.awsEndpoint);
  for (const { access } of started) expect(await isHealthy(access.awsEndpoint)).toBe(true);
});

test('an emulator’s state and log can be read only by its own user', async () => {
  for (const emulator of started) await emulator.save();
  const directory = join(folder, 'first');
  const names = readdirSync(join(directory, 'state')).map((name) => join('state', name));
  expect(names).toContain(join('state', 'secretsmanager.json'));
  const open = ['state', 'emulator.log', ...names].filter(
    (name) => (statSync(join(directory, name)).mode & 0o077) !== 0,
  );
  expect(open).toEqual([]);
});

// By default, the emulator closes a connection after 75 seconds, and loses a request that is sent at that time.
whole(test, { slice: test.skip })(
  'an emulator keeps a connection open that is idle for more than a minute',
  async () => {
    const [emulator] = started;
    if (emulator === undefined) throw new Error('no emulator was started');
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ask = async (): Promise<boolean> => {
      const request = get(`${emulator.access.awsEndpoint}/_ministack/health`, { agent });
      const [answer] = (await once(request, 'response')) as [IncomingMessage];
      await text(answer);
      return request.reusedSocket;
    };
    expect(await ask()).toBe(false);
    await sleep(80_000);
    expect(await ask()).toBe(true);
    agent.destroy();
  },
);

test('an emulator accepts an alarm on metric math, which the stacks with PostgreSQL have', async () => {
  const [emulator] = started;
  if (emulator === undefined) throw new Error('no emulator was started');
  const metric = { Stat: 'Sum', Period: 300, Metric: { Namespace: 'Payonce', MetricName: 'hits' } };
  const Metrics = [
    { Id: 'ratio', Expression: 'IF(hits > 0, 100, 0)' },
    { Id: 'hits', ReturnData: false, MetricStat: metric },
  ];
  const Properties = { ComparisonOperator: 'GreaterThanThreshold', EvaluationPeriods: 1, Threshold: 20, Metrics };
  const template = { Resources: { Alarm: { Type: 'AWS::CloudWatch::Alarm', Properties } } };
  const client = new CloudFormationClient(accessTo(emulator.access));
  await client.send(new CreateStackCommand({ StackName: 'alarm', TemplateBody: JSON.stringify(template) }));
  const status = await until(async () => {
    const { Stacks = [] } = await client.send(new DescribeStacksCommand({ StackName: 'alarm' }));
    return Stacks[0]?.StackStatus === 'CREATE_IN_PROGRESS' ? undefined : Stacks[0]?.StackStatus;
  });
  expect(status).toBe('CREATE_COMPLETE');
});
