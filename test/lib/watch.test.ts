import { globSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { Match, type Template } from 'aws-cdk-lib/assertions';
import { JOB_SERVICE } from '../../lambdas/jobs/contract/runs.ts';
import { ALARM_SERVICE, LIMITS_SERVICE, OUTBOUND_SERVICE } from '../../lambdas/kernel/contract/metrics.ts';
import { BOOKS_SERVICE } from '../../lambdas/reconciliation/contract.ts';
import { BACKLOG_SERVICE } from '../../lambdas/resolving/contract.ts';
import { synthesize } from '../support/synth.ts';
import { CONFIGURED, present, WITH_STRIPE } from './templates.ts';

interface Alarm {
  readonly MetricName?: string;
  readonly Namespace?: string;
  readonly Dimensions?: readonly { readonly Name: string; readonly Value: unknown }[];
  readonly Metrics?: unknown;
  readonly EvaluationPeriods?: number;
  readonly Period?: number;
  readonly AlarmActions?: readonly unknown[];
  readonly OKActions?: readonly unknown[];
}

const { data, service } = await synthesize();
const { service: mailed } = await synthesize(WITH_STRIPE);
const alarms = alarmsOf(present(service));

function alarmsOf(template: Template): readonly Alarm[] {
  const found = template.findResources('AWS::CloudWatch::Alarm') as Record<string, { readonly Properties: Alarm }>;
  return Object.values(found).map(({ Properties }) => Properties);
}

function watched(metricName: string, dimension: string): readonly string[] {
  return alarms
    .filter(({ MetricName }) => MetricName === metricName)
    .map(({ Dimensions = [] }) => JSON.stringify(Dimensions.find(({ Name }) => Name === dimension)?.Value));
}

describe('alarms', () => {
  test('watch the failed executions of every function, which Lambda writes to its log', () => {
    const functions = Object.values(present(service).findResources('AWS::Lambda::Function')) as {
      readonly Properties: { readonly LoggingConfig: { readonly LogGroup: unknown; readonly LogFormat: string } };
    }[];
    const filters = Object.values(present(service).findResources('AWS::Logs::MetricFilter')) as {
      readonly Properties: { readonly LogGroupName: unknown };
    }[];
    expect(functions.length).toBeGreaterThan(10);
    expect(functions.filter(({ Properties }) => Properties.LoggingConfig.LogFormat !== 'JSON')).toEqual([]);
    expect(filters.map(({ Properties }) => Properties.LogGroupName)).toEqual(
      functions.map(({ Properties }) => Properties.LoggingConfig.LogGroup),
    );
    present(service).allResourcesProperties('AWS::Logs::MetricFilter', {
      FilterPattern: '{ ($.type = "platform.report") && ($.record.status != "success") }',
      MetricTransformations: [{ MetricNamespace: 'Payonce', MetricName: 'function_failed', MetricValue: '1' }],
    });
  });

  test('watch the depth of every dead-letter queue and parking queue', () => {
    const seen = watched('ApproximateNumberOfMessagesVisible', 'QueueName').join();
    const queues = Object.keys(present(service).findResources('AWS::SQS::Queue'));
    const text = JSON.stringify(present(service).toJSON());
    const target = (id: string): RegExp =>
      new RegExp(`"(?:deadLetterTargetArn|Arn|TargetArn|Destination)":\\{"Fn::GetAtt":\\["${id}","Arn"\\]\\}`);
    // Exclude queues that have a dead-letter queue: they are work queues, and match only because the targets of
    // EventBridge rules also contain `Arn`.
    const withDeadLetters = new Set(
      Object.keys(
        present(service).findResources('AWS::SQS::Queue', { Properties: { RedrivePolicy: Match.anyValue() } }),
      ),
    );
    const setAside = queues.filter((id) => target(id).test(text) && !withDeadLetters.has(id));
    expect(setAside.length).toBeGreaterThan(4);
    expect(setAside.filter((id) => !seen.includes(id))).toEqual([]);
    expect(Object.keys(present(data).findResources('AWS::SQS::Queue'))).toHaveLength(1);
    expect(seen).toMatch(/PayonceData"[^}]*}[^}]*DeadLetters/);
  });

  test.each([
    ['oldest_open_claim', 'backlog', 1_200_000],
    ['oldest_unknown_outcome', 'backlog', 86_400_000],
    ['payment_to_review', 'outbox-relay', 1],
    ['ledger_tampered', 'outbox-relay', 1],
    ['event_minutes_beyond_reach', 'upkeep-jobs', 1],
    ['mismatches', 'books', 1],
    ['ttl_not_working', 'books', 1],
  ])('watch the metric %s of %s with a threshold of %d', (MetricName, Value, Threshold) => {
    present(service).hasResourceProperties('AWS::CloudWatch::Alarm', {
      Namespace: 'Payonce',
      MetricName,
      Dimensions: [{ Name: 'service', Value }],
      Threshold,
      ComparisonOperator: 'GreaterThanOrEqualToThreshold',
      TreatMissingData: 'notBreaching',
    });
  });

  test('watch the circuit breaker of every configured processor', () => {
    expect(watched('outbound_breaker_opened', 'vendor')).toContain('"sandbox"');
    expect(watched('outbound_breaker_opened', 'vendor')).not.toContain('"stripe"');
    present(mailed).hasResourceProperties('AWS::CloudWatch::Alarm', {
      MetricName: 'outbound_breaker_opened',
      Dimensions: Match.arrayWith([{ Name: 'vendor', Value: 'stripe' }]),
    });
  });

  test('name only services under which a function emits metrics', () => {
    const handlers = globSync('lambdas/functions/*.ts').map((file) => readFileSync(file, 'utf8'));
    const names = new Set([
      ALARM_SERVICE,
      BACKLOG_SERVICE,
      BOOKS_SERVICE,
      JOB_SERVICE,
      LIMITS_SERVICE,
      OUTBOUND_SERVICE,
    ]);
    for (const [, name = ''] of handlers.join('\n').matchAll(/(?:[tT]elemetry\(|NAME = )'([a-z-]+)'/g)) names.add(name);
    const own = alarms.filter(({ Namespace }) => Namespace === 'Payonce');
    const services = own.flatMap(({ Dimensions = [] }) =>
      Dimensions.filter(({ Name }) => Name === 'service').map(({ Value }) => Value),
    );
    expect(services.length).toBeGreaterThan(15);
    expect(services.filter((name) => typeof name !== 'string' || !names.has(name))).toEqual([]);
  });

  test('watch only plain metrics, because alarms on metric math cost more and are not available in every region', () => {
    expect(alarms.filter(({ MetricName, Metrics }) => MetricName === undefined || Metrics !== undefined)).toEqual([]);
  });

  test('are all on a dashboard, together with the main metrics', () => {
    const body = JSON.stringify(present(service).findResources('AWS::CloudWatch::Dashboard'));
    for (const name of [
      'mismatch',
      'open_claims',
      'event_age',
      'job_failed',
      'WriteThrottleEvents',
      'outbound_gave_up',
    ])
      expect(body).toContain(name);
    const ids = Object.keys(present(service).findResources('AWS::CloudWatch::Alarm'));
    expect(ids.filter((id) => !body.includes(`["${id}","Arn"]`))).toEqual([]);
  });

  test('are shown on two dashboards that each stay within the free limit of 50 metrics, also with the sandbox and Stripe', () => {
    const dashboards = Object.values(present(mailed).findResources('AWS::CloudWatch::Dashboard')) as {
      readonly Properties: { readonly DashboardBody: { readonly 'Fn::Join': readonly [string, readonly unknown[]] } };
    }[];
    const counts = dashboards.map(({ Properties: { DashboardBody } }) => {
      const text = DashboardBody['Fn::Join'][1].map((part) => (typeof part === 'string' ? part : 'x')).join('');
      const { widgets } = JSON.parse(text) as { widgets: { properties: { metrics?: unknown[] } }[] };
      return widgets.reduce((sum, { properties: { metrics = [] } }) => sum + metrics.length, 0);
    });
    expect(counts).toHaveLength(2);
    expect(counts.filter((count) => count > 50 || count < 30)).toEqual([]);
  });
});

/** The dimension `vendor`, and dimensions that refer to other resources, are omitted. */
const FAULTS: readonly (readonly [fault: string, metric: string, dimensions: Readonly<Record<string, string>>])[] = [
  ['money arrives too late or twice, in any function', 'late_success', { service: 'alarms' }],
  ['a fact of a processor contradicts a payment, in any function', 'contradiction', { service: 'alarms' }],
  ['the outcome of a payment or a change cannot be determined', 'undecidable', { service: 'alarms' }],
  ['an order needs an operator', 'order_needs_review', { service: 'alarms' }],
  ['a payment needs an operator', 'payment_to_review', { service: 'outbox-relay' }],
  ['a Ledger row is changed', 'ledger_tampered', { service: 'outbox-relay' }],
  ['reconciliation finds a mismatch with a processor', 'mismatches', { service: 'books' }],
  ['time to live does not delete rows', 'ttl_not_working', { service: 'books' }],
  ['a claim stays open', 'oldest_open_claim', { service: 'backlog' }],
  ['an outcome stays unknown', 'oldest_unknown_outcome', { service: 'backlog' }],
  ['the bus accepts no events', 'event_publish_failed', { service: 'outbox-relay' }],
  [
    'events reach the bus late, or the job publishes them because the relay does not run',
    'event_age',
    { service: 'outbox-relay' },
  ],
  ['the relay lags behind the Stream', 'IteratorAge', {}],
  ['events are too old to be republished', 'event_minutes_beyond_reach', { service: 'upkeep-jobs' }],
  ['a webhook endpoint is disabled', 'webhook_endpoint_disabled', { service: 'webhook-sender' }],
  ['any function crashes, times out or throws', 'function_failed', {}],
  ['any function is throttled', 'Throttles', {}],
  ['a job has not succeeded in time, or the check for overdue jobs does not run', 'jobs_overdue', { service: 'jobs' }],
  ['runs of a frequent job are abandoned', 'job_failed', { service: 'jobs', frequency: 'minutes' }],
  ['runs of another job are abandoned', 'job_failed', { service: 'jobs', frequency: 'hours' }],
  ['items of a frequent job fail', 'job_item_failed', { service: 'jobs', frequency: 'minutes' }],
  ['items of another job fail', 'job_item_failed', { service: 'jobs', frequency: 'hours' }],
  ['an item of a frequent job is skipped', 'job_item_skipped', { service: 'jobs', frequency: 'minutes' }],
  ['an item of another job is skipped', 'job_item_skipped', { service: 'jobs', frequency: 'hours' }],
  ['a dead-letter queue is not empty', 'ApproximateNumberOfMessagesVisible', {}],
  ['messages wait in a queue for too long', 'ApproximateAgeOfOldestMessage', {}],
  [
    'messages wait for half an hour, during an outage or because a message crashes its process',
    'messages_wait',
    { service: 'alarms' },
  ],
  ['a tenant reaches its limit', 'tenant_limited', { service: 'limits' }],
  ['repeated requests find no stored response', 'replay_missed', { service: 'payments' }],
  ['a vendor’s calls are abandoned too often', 'outbound_gave_up', { service: 'vendors' }],
  ['the breaker of a vendor or processor opens', 'outbound_breaker_opened', { service: 'vendors' }],
];

describe('fault alarms', () => {
  const named = ({ Dimensions = [] }: Alarm): Readonly<Record<string, string>> =>
    Object.fromEntries(
      Dimensions.flatMap(({ Name, Value }) => (Name !== 'vendor' && typeof Value === 'string' ? [[Name, Value]] : [])),
    );
  const isOf = (alarm: Alarm, [, metric, dimensions]: (typeof FAULTS)[number]): boolean =>
    alarm.MetricName === metric && JSON.stringify(sorted(named(alarm))) === JSON.stringify(sorted(dimensions));
  const sorted = (dimensions: object): readonly unknown[] =>
    Object.entries(dimensions).toSorted(([one], [other]) => one.localeCompare(other));

  test.each(FAULTS)('include one that is raised if %s (metric %s)', (...fault) => {
    expect(alarms.some((alarm) => isOf(alarm, fault))).toBe(true);
  });

  test('cover only listed faults', () => {
    expect(alarms.filter((alarm) => !FAULTS.some((fault) => isOf(alarm, fault)))).toEqual([]);
  });

  test('evaluate 5 minutes of a job metric, but 15 minutes of failures of jobs that run every few minutes', () => {
    const periods = alarms
      .filter(({ MetricName = '' }) => MetricName.startsWith('job_'))
      .map(({ MetricName, Dimensions, EvaluationPeriods, Period }) => [
        MetricName,
        Dimensions?.find(({ Name }) => Name === 'frequency')?.Value,
        (EvaluationPeriods ?? 0) * (Period ?? 0),
      ]);
    expect(periods).toEqual([
      ['job_failed', 'minutes', 900],
      ['job_item_failed', 'minutes', 900],
      ['job_item_skipped', 'minutes', 300],
      ['job_failed', 'hours', 300],
      ['job_item_failed', 'hours', 300],
      ['job_item_skipped', 'hours', 300],
    ]);
  });
});

describe('the alarm on overdue jobs', () => {
  test('treats missing data as a breach, which no other alarm does in a deployment with default settings', () => {
    const odd = alarms.filter((alarm) => (alarm as { TreatMissingData?: string }).TreatMissingData !== 'notBreaching');
    expect(new Set(odd.map(({ MetricName }) => MetricName))).toEqual(new Set(['jobs_overdue']));
  });
});

describe('alarm notifications', () => {
  test('have no topic by default', () => {
    expect(alarms.filter(({ AlarmActions }) => AlarmActions !== undefined)).toEqual([]);
    present(service).resourceCountIs('AWS::SNS::Topic', 0);
  });

  test('reach an e-mail address through an encrypted topic; only alarms of this account may publish to it', () => {
    const template = present(mailed);
    const topic = { Ref: Match.stringLikeRegexp('^WatchTopic') };
    const mailedAlarms = alarmsOf(template);
    expect(mailedAlarms.every((alarm) => alarm.AlarmActions?.length === 1 && alarm.OKActions?.length === 1)).toBe(true);
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
    // The key costs money, so it must not remain after the stack is deleted.
    template.hasResource('AWS::KMS::Key', { DeletionPolicy: 'Delete' });
    // The AWS managed key would not let alarms publish.
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

  test('use an existing topic if one is configured', async () => {
    const arn = CONFIGURED['payonce:alarmTopicArn'];
    const template = present((await synthesize(CONFIGURED)).service);
    expect(alarmsOf(template).every(({ AlarmActions }) => AlarmActions?.[0] === arn)).toBe(true);
    template.resourceCountIs('AWS::SNS::Topic', 0);
  });
});
