import { globSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { Stack } from 'aws-cdk-lib';
import { Match, Template } from 'aws-cdk-lib/assertions';
import { JOB_SERVICE } from '../../lambdas/jobs/contract.ts';
import { JOBS, type JobEntry } from '../../lambdas/kernel/contract/jobs.ts';
import { LIMITS_SERVICE, OUTBOUND_SERVICE } from '../../lambdas/kernel/contract/metrics.ts';
import { BOOKS_SERVICE } from '../../lambdas/reconciling/contract.ts';
import { BACKLOG_SERVICE } from '../../lambdas/resolving/contract.ts';
import { JobAlarms } from '../../lib/constructs/job-alarms.ts';
import { synthesize } from '../support/synth.ts';
import { present } from './templates.ts';
import { testApp } from './test-app.ts';

interface Alarm {
  readonly MetricName?: string;
  readonly Namespace?: string;
  readonly Dimensions?: readonly { readonly Name: string; readonly Value: unknown }[];
  readonly Metrics?: unknown;
  readonly AlarmActions?: readonly unknown[];
  readonly OKActions?: readonly unknown[];
}

const { data, service } = await synthesize();
const { service: mailed } = await synthesize({
  'payonce:alarmEmail': 'ops@shop.example',
  'payonce:stripeAccount': 'acct_1',
});
const alarms = alarmsOf(present(service));

function alarmsOf(template: Template): readonly Alarm[] {
  const found = template.findResources('AWS::CloudWatch::Alarm') as Record<string, { readonly Properties: Alarm }>;
  return Object.values(found).map(({ Properties }) => Properties);
}

/** What the alarms on one metric look at, by the resource that a dimension refers to. */
function watched(metricName: string, dimension: string): readonly string[] {
  return alarms
    .filter(({ MetricName }) => MetricName === metricName)
    .map(({ Dimensions = [] }) => JSON.stringify(Dimensions.find(({ Name }) => Name === dimension)?.Value));
}

describe('what is watched', () => {
  test.each(['Errors', 'Throttles'])('%s of every function', (metricName) => {
    const functions = Object.keys(present(service).findResources('AWS::Lambda::Function'));
    const seen = watched(metricName, 'FunctionName');
    expect(functions.length).toBeGreaterThan(10);
    expect(functions.filter((id) => !seen.includes(JSON.stringify({ Ref: id })))).toEqual([]);
    expect(seen).toHaveLength(functions.length);
  });

  test('the depth of every dead-letter queue and parking queue', () => {
    const seen = watched('ApproximateNumberOfMessagesVisible', 'QueueName').join();
    const queues = Object.keys(present(service).findResources('AWS::SQS::Queue'));
    const text = JSON.stringify(present(service).toJSON());
    const target = (id: string): RegExp =>
      new RegExp(`"(?:deadLetterTargetArn|Arn|TargetArn|Destination)":\\{"Fn::GetAtt":\\["${id}","Arn"\\]\\}`);
    // Rules name the queues that they feed in the same way: those with dead letters of their own are no dead-letter queues.
    const withLetters = new Set(
      Object.keys(
        present(service).findResources('AWS::SQS::Queue', { Properties: { RedrivePolicy: Match.anyValue() } }),
      ),
    );
    const setAside = queues.filter((id) => target(id).test(text) && !withLetters.has(id));
    expect(setAside.length).toBeGreaterThan(4);
    expect(setAside.filter((id) => !seen.includes(id))).toEqual([]);
    expect(Object.keys(present(data).findResources('AWS::SQS::Queue'))).toHaveLength(1);
    expect(seen).toMatch(/PayonceData"[^}]*}[^}]*DeadLetters/);
  });

  test.each(['job_succeeded', 'job_failed', 'job_item_failed', 'job_item_skipped'])(
    '%s of every job that is declared',
    (metricName) => {
      expect(watched(metricName, 'job')).toEqual(JOBS.map(({ id }) => JSON.stringify(id)));
    },
  );

  test.each([
    ['oldest_open_claim', 'backlog', 1_200_000],
    ['oldest_unknown_outcome', 'backlog', 86_400_000],
    ['payment_to_review', 'outbox-relay', 1],
    ['ledger_tampered', 'outbox-relay', 1],
    ['event_minutes_beyond_reach', 'upkeep-jobs', 1],
    ['mismatches', 'books', 1],
    ['ttl_not_working', 'books', 1],
  ])('%s, as %s counts it, from %d on', (MetricName, Value, Threshold) => {
    present(service).hasResourceProperties('AWS::CloudWatch::Alarm', {
      Namespace: 'Payonce',
      MetricName,
      Dimensions: [{ Name: 'service', Value }],
      Threshold,
      ComparisonOperator: 'GreaterThanOrEqualToThreshold',
      TreatMissingData: 'notBreaching',
    });
  });

  test('the circuit breaker of every configured processor', () => {
    expect(watched('outbound_breaker_opened', 'vendor')).toContain('"sandbox"');
    expect(watched('outbound_breaker_opened', 'vendor')).not.toContain('"stripe"');
    present(mailed).hasResourceProperties('AWS::CloudWatch::Alarm', {
      MetricName: 'outbound_breaker_opened',
      Dimensions: Match.arrayWith([{ Name: 'vendor', Value: 'stripe' }]),
    });
  });

  test('only by names under which a function counts', () => {
    const handlers = globSync('lambdas/functions/*.ts').map((file) => readFileSync(file, 'utf8'));
    const names = new Set([BACKLOG_SERVICE, BOOKS_SERVICE, JOB_SERVICE, LIMITS_SERVICE, OUTBOUND_SERVICE]);
    for (const [, told = ''] of handlers.join('\n').matchAll(/(?:[tT]elemetry\(|NAME = )'([a-z-]+)'/g)) names.add(told);
    const own = alarms.filter(({ Namespace }) => Namespace === 'Payonce');
    const services = own.flatMap(({ Dimensions = [] }) =>
      Dimensions.filter(({ Name }) => Name === 'service').map(({ Value }) => Value),
    );
    expect(services.length).toBeGreaterThan(20);
    expect(services.filter((told) => typeof told !== 'string' || !names.has(told))).toEqual([]);
  });

  test('by plain metrics only: other alarms cost more and do not deploy everywhere', () => {
    expect(alarms.filter(({ MetricName, Metrics }) => MetricName === undefined || Metrics !== undefined)).toEqual([]);
  });

  test('is on one dashboard, with every alarm', () => {
    const [dashboard] = Object.values(present(service).findResources('AWS::CloudWatch::Dashboard'));
    const body = JSON.stringify(dashboard);
    for (const name of ['mismatch', 'open_claims', 'event_age', 'job_failed', 'WriteThrottleEvents', 'outbound_call'])
      expect(body).toContain(name);
    const ids = Object.keys(present(service).findResources('AWS::CloudWatch::Alarm'));
    expect(ids.filter((id) => !body.includes(`["${id}","Arn"]`))).toEqual([]);
  });
});

describe('a job', () => {
  const missed = (job: Partial<JobEntry>): unknown => {
    const stack = new Stack(testApp(), 'Jobs');
    const entry = {
      id: 'sweep',
      why: 'why',
      schedule: 'rate(1 hour)',
      every: 3_600,
      path: '/',
      scopes: [],
      worker: 'upkeep',
    } as const;
    const made = new JobAlarms(stack, 'Alarms', { jobs: [{ ...entry, ...job }] });
    const [alarm] = Object.values(
      Template.fromStack(Stack.of(made)).findResources('AWS::CloudWatch::Alarm', {
        Properties: { MetricName: 'job_succeeded' },
      }),
    ) as { readonly Properties: { readonly Period: number; readonly EvaluationPeriods: number } }[];
    return [alarm?.Properties.Period, alarm?.Properties.EvaluationPeriods];
  };

  test.each<[string, Partial<JobEntry>, [seconds: number, periods: number]]>([
    ['every minute, ten minutes long at most: after a quarter of an hour', { every: 60, maxDuration: 600 }, [300, 3]],
    ['every hour, an hour long at most: after three hours', {}, [3_600, 3]],
    ['every night, four hours long at most: after 29 hours', { every: 86_400, maxDuration: 14_400 }, [3_600, 29]],
    ['on workdays: after a week-end and the usual hour', { every: 3 * 86_400 }, [3_600, 74]],
  ])('is missed when it is silent: %s', (_what, job, expected) => {
    expect(missed(job)).toEqual(expected);
  });

  test('that runs more rarely than the longest alarm period fails the synthesis', () => {
    expect(() => missed({ every: 31 * 86_400 })).toThrow('no alarm can detect a missed run of sweep');
  });

  test('raises an alarm on missing data, unlike all other alarms', () => {
    const odd = alarms.filter((alarm) => (alarm as { TreatMissingData?: string }).TreatMissingData !== 'notBreaching');
    expect(new Set(odd.map(({ MetricName }) => MetricName))).toEqual(new Set(['job_succeeded']));
  });
});

describe('alarms notify', () => {
  test('no topic without a setting', () => {
    expect(alarms.filter(({ AlarmActions }) => AlarmActions !== undefined)).toEqual([]);
    present(service).resourceCountIs('AWS::SNS::Topic', 0);
  });

  test('an address, over an encrypted topic to which only alarms of this account may publish', () => {
    const template = present(mailed);
    const topic = { Ref: Match.stringLikeRegexp('^WatchTopic') };
    const told = alarmsOf(template);
    expect(told.every((alarm) => alarm.AlarmActions?.length === 1 && alarm.OKActions?.length === 1)).toBe(true);
    template.hasResourceProperties('AWS::SNS::Subscription', { Protocol: 'email', Endpoint: 'ops@shop.example' });
    template.hasResourceProperties('AWS::SNS::Topic', { KmsMasterKeyId: Match.anyValue() });
    template.hasResourceProperties('AWS::SNS::TopicPolicy', {
      Topics: [topic],
      PolicyDocument: Match.objectLike({
        Statement: Match.arrayWith([
          Match.objectLike({ Effect: 'Deny', Condition: { Bool: { 'aws:SecureTransport': 'false' } } }),
          Match.objectLike({
            Effect: 'Allow',
            Principal: { Service: 'cloudwatch.amazonaws.com' },
            Condition: Match.objectLike({ StringEquals: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' } } }),
          }),
        ]),
      }),
    });
    // AWS's own key would let no alarm through.
    template.hasResourceProperties('AWS::KMS::Key', {
      EnableKeyRotation: true,
      KeyPolicy: Match.objectLike({
        Statement: Match.arrayWith([
          Match.objectLike({
            Principal: { Service: 'cloudwatch.amazonaws.com' },
            Action: ['kms:Decrypt', 'kms:GenerateDataKey*'],
          }),
        ]),
      }),
    });
  });

  test('an existing topic', async () => {
    const arn = 'arn:aws:sns:eu-central-1:123456789012:pager';
    const template = present((await synthesize({ 'payonce:alarmTopicArn': arn })).service);
    expect(alarmsOf(template).every(({ AlarmActions }) => AlarmActions?.[0] === arn)).toBe(true);
    template.resourceCountIs('AWS::SNS::Topic', 0);
  });
});
