import { describe, expect, test } from '@jest/globals';
import { Duration, Stack, Validations } from 'aws-cdk-lib';
import { Match, Template } from 'aws-cdk-lib/assertions';
import { JOBS } from '../../lambdas/jobs/contract/jobs.ts';
import type { JobFiring } from '../../lambdas/jobs/contract/runs.ts';
import { HttpApi } from '../../lib/constructs/http-api.ts';
import { PayonceFunction } from '../../lib/constructs/payonce-function.ts';
import { ScheduledJobs } from '../../lib/constructs/scheduled-jobs.ts';
import { DataStack } from '../../lib/data-stack.ts';
import { Jobs } from '../../lib/jobs.ts';
import { PayonceRules } from '../../lib/policies/payonce-rules.ts';
import { applyRulePacks } from '../../lib/policies/rule-packs.ts';
import { Processors } from '../../lib/processors.ts';
import { readSettings } from '../../lib/settings.ts';
import { flagsOf } from '../../lib/synthesized.ts';
import { inTurn } from '../support/slice.ts';
import { present, routesOf, type Statement, statementsByOwner } from './templates.ts';
import { testApp } from './test-app.ts';

/** The rule packs take as long as all tests of this file. */
const applyRules = inTurn(applyRulePacks, {
  place: 2,
  of: 4,
  otherwise: (app) => {
    Validations.of(app).addPlugins(new PayonceRules());
  },
});

/** Throws if a rule reports a finding. */
function synthesized(): Template {
  const app = testApp(flagsOf());
  applyRules(app);
  const settings = readSettings(app.node);
  const data = new DataStack(app, 'Data', { settings });
  const stack = new Stack(app, 'Service');
  const own = { logRetentionDays: 90, retainLogs: false, environment: {}, memoryMb: 256 };
  const timeout = Duration.seconds(5);
  const fallback = new PayonceFunction(stack, 'Fallback', { folder: 'payments', timeout, ...own }).function;
  const http = new HttpApi(stack, 'Http', { description: 'Test', settings, fallback });
  const logs = { logRetentionDays: 90, retainLogs: false };
  const processors = new Processors(stack, 'Processors', {
    called: settings.processors,
    secrets: data.processors,
    routes: settings.routes,
    sandbox: { url: 'https://processor.example' },
  });
  const jobs = new Jobs(stack, 'Jobs', { data, processors, http, logs, memoryMb: 256, settings: {} });
  const assembly = app.synth();
  const found = assembly.stacks.find(({ stackName }) => stackName === jobs.node.scope?.node.id);
  return present(found === undefined ? undefined : Template.fromJSON(found.template as Record<string, unknown>));
}

const template = synthesized();
const roles = statementsByOwner(template);

interface Scheduled {
  readonly Properties: {
    readonly ScheduleExpression: string;
    readonly ScheduleExpressionTimezone: string;
    readonly State?: string;
    readonly Target: {
      readonly Input: string;
      readonly RetryPolicy: { readonly MaximumEventAgeInSeconds: number; readonly MaximumRetryAttempts: number };
      readonly DeadLetterConfig: { readonly Arn: { readonly 'Fn::GetAtt': readonly string[] } };
    };
  };
}
const schedules = Object.values(template.findResources('AWS::Scheduler::Schedule')) as Scheduled[];
const scheduleOf = (id: string) =>
  schedules.find(({ Properties }) => (JSON.parse(Properties.Target.Input) as JobFiring).job === id);

describe('the schedules', () => {
  test('exist for each declared job, and pass its job id and the scheduled time', () => {
    expect(schedules).toHaveLength(JOBS.length);
    for (const { id, schedule } of JOBS) {
      const { ScheduleExpression, ScheduleExpressionTimezone, Target } = scheduleOf(id)?.Properties ?? {};
      expect([id, ScheduleExpression, ScheduleExpressionTimezone]).toEqual([id, schedule, 'UTC']);
      expect(JSON.parse(Target?.Input ?? '')).toEqual({ job: id, scheduledTime: '<aws.scheduler.scheduled-time>' });
    }
  });

  test('retry an undelivered firing until the next firing, but at most for an hour, and then dead-letter it', () => {
    const policy = (id: string) => scheduleOf(id)?.Properties.Target.RetryPolicy;
    expect(policy('resolve')).toEqual({ MaximumEventAgeInSeconds: 60, MaximumRetryAttempts: 20 });
    expect(policy('republish-events')).toEqual({ MaximumEventAgeInSeconds: 300, MaximumRetryAttempts: 20 });
    expect(policy('close-days')).toEqual({ MaximumEventAgeInSeconds: 3600, MaximumRetryAttempts: 20 });
    for (const { Properties } of schedules) {
      expect(Properties.Target.DeadLetterConfig.Arn['Fn::GetAtt'][0]).toMatch(/^JobsMissed/);
    }
  });

  test('let Lambda retry a failed invocation; if all retries fail, the firing goes to the same dead-letter queue as an undelivered one', () => {
    template.hasResourceProperties('AWS::Lambda::EventInvokeConfig', {
      MaximumRetryAttempts: 2,
      MaximumEventAgeInSeconds: 3600,
      DestinationConfig: {
        OnFailure: { Destination: { 'Fn::GetAtt': [Match.stringLikeRegexp('^JobsMissed'), 'Arn'] } },
      },
    });
  });

  test('raise an alarm as soon as one firing is dead-lettered', () => {
    template.hasResourceProperties('AWS::CloudWatch::Alarm', {
      Threshold: 1,
      ComparisonOperator: 'GreaterThanOrEqualToThreshold',
      AlarmDescription: Match.stringLikeRegexp('docs/operate/runbook/jobs.md#jobs-missed$'),
      Dimensions: [
        { Name: 'QueueName', Value: { 'Fn::GetAtt': [Match.stringLikeRegexp('^JobsMissed'), 'QueueName'] } },
      ],
    });
  });

  test('use the time zone of their job, if it has one', () => {
    const stack = new Stack(testApp(), 'Zone');
    const job = { ...JOBS[0], schedule: 'cron(0 9 ? * MON-FRI *)', timeZone: 'Europe/Berlin' };
    const made = new ScheduledJobs(stack, 'Jobs', { jobs: [job], executor: executorIn(stack) });
    Template.fromStack(made.missed.stack).hasResourceProperties('AWS::Scheduler::Schedule', {
      ScheduleExpression: 'cron(0 9 ? * MON-FRI *)',
      ScheduleExpressionTimezone: 'Europe/Berlin',
    });
  });

  test('are not created if the schedule of a job is invalid; the error names the job', () => {
    const stack = new Stack(testApp(), 'Wrong');
    const jobs = [{ ...JOBS[0], schedule: 'cron(60 2 * * ? *)' }];
    expect(() => new ScheduledJobs(stack, 'Jobs', { jobs, executor: executorIn(stack) })).toThrow(
      'resolve: schedule "cron(60 2 * * ? *)" must be valid: CronPattern: Invalid value for minute: 60',
    );
  });
});

function executorIn(stack: Stack) {
  stack.node.setContext('aws:cdk:bundling-stacks', []);
  const own = { logRetentionDays: 90, retainLogs: false, environment: {}, memoryMb: 256 };
  return new PayonceFunction(stack, 'Executor', { folder: 'cron-executor', timeout: Duration.seconds(20), ...own })
    .function;
}

const listOf = (value: string | readonly string[]): readonly string[] => (typeof value === 'string' ? [value] : value);

function describeStatement({ Action, Resource, Condition = {} }: Statement): string {
  const text = JSON.stringify(Resource);
  const names = ['Idempotency', 'Ledger', 'Registry', 'JobCredential', 'JobsMissed', 'Logs', 'JobsExecutor'];
  const queues = text.includes('PaymentRuns') && text.includes('UpkeepRuns') ? 'both queues' : undefined;
  const on = queues ?? names.find((name) => text.includes(name)) ?? text;
  const rows = listOf(Condition['ForAllValues:StringLike']?.['dynamodb:LeadingKeys'] ?? []);
  return `${listOf(Action).join(', ')} on ${on}${rows.length === 0 ? '' : ` of ${rows.join(', ')}`}`;
}

const ALWAYS = ['logs:CreateLogStream, logs:PutLogEvents on Logs'];

describe('the job roles', () => {
  test.each([
    [
      'JobsApi',
      [
        ...ALWAYS,
        'dynamodb:GetItem, dynamodb:PutItem on Idempotency of OP#run_*',
        'dynamodb:GetItem on Registry of OPERATOR_KEY#*',
        'dynamodb:UpdateItem on Registry of KEY_USE#*',
        'dynamodb:GetItem on Registry of JOB#*',
        'dynamodb:PutItem, dynamodb:Query on Registry of JOB#*',
        'dynamodb:PutItem on Ledger of ACT#*',
        'dynamodb:Query on Ledger of ACT#*',
        'secretsmanager:GetSecretValue on JobCredential',
        'sqs:SendMessage on both queues',
      ],
    ],
    [
      'JobsExecutor',
      [
        ...ALWAYS,
        'dynamodb:GetItem, dynamodb:PutItem on Idempotency of OP#rca_*',
        'secretsmanager:GetSecretValue on JobCredential',
        'sqs:GetQueueAttributes, sqs:GetQueueUrl, sqs:SendMessage on JobsMissed',
      ],
    ],
    ['Jobs', ['lambda:InvokeFunction on JobsExecutor', 'sqs:SendMessage on JobsMissed']],
  ])('give %s exactly the permissions that it needs', (owner, own) => {
    expect(
      (roles.get(owner) ?? [])
        .filter(({ Effect }) => Effect === 'Allow')
        .map(describeStatement)
        .sort(),
    ).toEqual([...own].sort());
  });
});

test('only schedules of this account can assume the schedules’ role', () => {
  template.hasResourceProperties('AWS::IAM::Role', {
    AssumeRolePolicyDocument: {
      Statement: [
        {
          Action: 'sts:AssumeRole',
          Effect: 'Allow',
          Principal: { Service: 'scheduler.amazonaws.com' },
          Condition: { StringEquals: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' } } },
        },
      ],
    },
  });
});

describe('the job routes', () => {
  test('are handled by the jobs API function', () => {
    expect(routesOf(template)).toMatchObject({
      '/v1/admin/jobs': 'JobsApi',
      '/v1/admin/jobs/{proxy+}': 'JobsApi',
    });
  });

  test('can be called by the executor at the address of the API', () => {
    template.hasResourceProperties('AWS::Lambda::Function', {
      Environment: {
        Variables: Match.objectLike({
          API_URL: {
            'Fn::Join': ['', Match.arrayWith(['https://', { Ref: Match.stringLikeRegexp('^HttpApi') }])],
          },
        }),
      },
    });
  });
});
