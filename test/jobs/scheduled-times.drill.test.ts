import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CloudFormationClient, CreateStackCommand, DeleteStackCommand } from '@aws-sdk/client-cloudformation';
import { GetQueueUrlCommand, ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, describe, expect, test } from '@jest/globals';
import { PROJECT } from '../../local/directories.ts';
import { ensurePython } from '../../local/python-environment.ts';
import { CREDENTIALS, localAws } from '../support/local-aws.ts';
import { until } from '../support/until.ts';

const run = promisify(execFile);
const { awsEndpoint: endpoint, region } = localAws();
const options = { endpoint, region, credentials: CREDENTIALS };
const stacks = new CloudFormationClient(options);
const queues = new SQSClient(options);
const NAME = `scheduled-times-${process.pid}`;

afterAll(() => stacks.send(new DeleteStackCommand({ StackName: NAME })));

describe('a schedule on the local AWS', () => {
  test('fires with its scheduled time and an execution id', async () => {
    const due = new Date(Date.now() + 2_000).toISOString().slice(0, 19);
    await stacks.send(new CreateStackCommand({ StackName: NAME, TemplateBody: JSON.stringify(template(due)) }));
    const body = await until(async () => {
      const { QueueUrl } = await queues
        .send(new GetQueueUrlCommand({ QueueName: NAME }))
        .catch(() => ({ QueueUrl: '' }));
      if (QueueUrl === '') return undefined;
      const { Messages } = await queues.send(new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 1 }));
      return Messages?.[0]?.Body;
    });
    expect(JSON.parse(body)).toEqual({
      job: 'resolve',
      at: `${due}Z`,
      execution: expect.stringMatching(/^[0-9a-f]{16}$/),
      attempt: '1',
      schedule: `arn:aws:scheduler:${region}:000000000000:schedule/default/${NAME}`,
    });
  });

  test.each([
    {
      why: 'with a rate fires at times counted from its creation, however late the scheduler checks it',
      schedule: { ScheduleExpression: 'rate(1 minute)', CreationDate: '2026-03-01T12:00:10Z' },
      looks: ['12:01:09', '12:01:10', '12:01:11', '12:02:31', '12:09:00', '12:09:10'],
      fires: ['12:01:10', '12:02:10', '12:08:10', '12:09:10'],
    },
    {
      why: 'with a rate does not fire for times before the start of the emulator',
      schedule: { ScheduleExpression: 'rate(1 minute)', CreationDate: '2026-03-01T12:00:10Z' },
      started: '12:05:30',
      looks: ['12:05:31', '12:06:09', '12:06:11'],
      fires: ['12:06:10'],
    },
    {
      why: 'with a cron expression fires exactly once for its minute, however late the scheduler checks it',
      schedule: { ScheduleExpression: 'cron(10 * * * ? *)', CreationDate: '2026-03-01T12:00:00Z' },
      looks: ['12:09:59', '12:10:07', '12:10:08', '12:59:00', '13:10:00', '19:45:00'],
      fires: ['12:10:00', '13:10:00', '19:10:00'],
    },
    {
      why: 'with a cron expression follows its time zone, and does not fire in an hour that the clocks skip',
      schedule: {
        ScheduleExpression: 'cron(30 2 * * ? *)',
        ScheduleExpressionTimezone: 'Europe/Berlin',
        CreationDate: '2026-03-28T00:00:00Z',
      },
      // On 28 March, winter time still applies. On 29 March, clocks are set forward from 02:00 to 03:00.
      looks: ['2026-03-28T01:29:59', '2026-03-28T01:30:00', '2026-03-29T12:00:00', '2026-03-30T00:30:00'],
      fires: ['2026-03-28T01:30:00', '2026-03-30T00:30:00'],
    },
    {
      why: 'that is disabled does not fire',
      schedule: { ScheduleExpression: 'rate(1 minute)', CreationDate: '2026-03-01T12:00:00Z', State: 'DISABLED' },
      looks: ['12:01:00', '12:05:00'],
      fires: [],
    },
  ])('$why', async ({ schedule, started, looks, fires }) => {
    expect(await firesOf({ schedule, started: full(started ?? '2026-01-01T00:00:00') }, looks.map(full))).toEqual(
      fires.map((time) => `${full(time)}Z`),
    );
  });
});

const full = (time: string): string => (time.includes('T') ? time : `2026-03-01T${time}`);

/**
 * Python program that checks one schedule at each given time, and prints the scheduled times for which the schedule has
 * fired.
 */
const LOOKING = `
import json, sys
from datetime import datetime
import emulator
given = json.loads(sys.argv[1])
seconds = lambda text: datetime.fromisoformat(text + '+00:00').timestamp()
schedule = {'State': 'ENABLED', 'Arn': 'a', **given['schedule'], 'Target': {'Arn': 'a:sqs:q', 'Input': '<aws.scheduler.scheduled-time>'}}
schedule['CreationDate'] = seconds(schedule['CreationDate'].rstrip('Z'))
fired = []
emulator._started = seconds(given['started'])
emulator.eventbridge._invoke_target = lambda target, event, rule: fired.append(target['Input'])
emulator.scheduler._schedules._data[('000000000000', 'us-east-1', 'default/one')] = schedule
for look in given['looks']:
    emulator.look(seconds(look))
print(json.dumps(fired))
`;

async function firesOf(
  emulated: { readonly schedule: object; readonly started: string },
  looks: readonly string[],
): Promise<unknown> {
  const given = JSON.stringify({ ...emulated, looks });
  // `-B` keeps compiled files out of the tree.
  const { stdout } = await run(await ensurePython(), ['-B', '-c', LOOKING, given], { cwd: join(PROJECT, 'local') });
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
}

function template(due: string): object {
  return {
    Resources: {
      Queue: { Type: 'AWS::SQS::Queue', Properties: { QueueName: NAME } },
      Schedule: {
        Type: 'AWS::Scheduler::Schedule',
        Properties: {
          Name: NAME,
          ScheduleExpression: `at(${due})`,
          FlexibleTimeWindow: { Mode: 'OFF' },
          Target: {
            Arn: { 'Fn::GetAtt': ['Queue', 'Arn'] },
            // The local scheduler delivers without checking the role.
            RoleArn: 'arn:aws:iam::000000000000:role/scheduler',
            Input: JSON.stringify({
              job: 'resolve',
              at: '<aws.scheduler.scheduled-time>',
              execution: '<aws.scheduler.execution-id>',
              attempt: '<aws.scheduler.attempt-number>',
              schedule: '<aws.scheduler.schedule-arn>',
            }),
          },
        },
      },
    },
  };
}
