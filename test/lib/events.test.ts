import { describe, expect, test } from '@jest/globals';
import { Duration, Stack } from 'aws-cdk-lib';
import { Match, Template } from 'aws-cdk-lib/assertions';
import { ALL_EVENTS, EventNames, PUBLIC_EVENTS, RELAY_ATTEMPTS } from '../../lambdas/events/contract.ts';
import { EventBus } from '../../lib/constructs/event-bus.ts';
import { EventConsumer } from '../../lib/constructs/event-consumer.ts';
import { PayonceFunction } from '../../lib/constructs/payonce-function.ts';
import { synthesize } from '../support/synth.ts';
import { CONFIGURED, present, statementsByOwner } from './templates.ts';
import { testApp } from './test-app.ts';

const stacks = await synthesize();
const data = present(stacks.data);
const service = present(stacks.service);

describe('the event bus', () => {
  test('is retained with the data and archives events for two weeks', () => {
    data.hasResource('AWS::Events::EventBus', {
      DeletionPolicy: 'RetainExceptOnCreate',
      UpdateReplacePolicy: 'Retain',
    });
    data.hasResource('AWS::Events::Archive', {
      DeletionPolicy: 'RetainExceptOnCreate',
      Properties: Match.objectLike({ EventPattern: { source: ['payonce'] }, RetentionDays: 14 }),
    });
  });

  test('has no archive when the setting disables it', async () => {
    present((await synthesize(CONFIGURED)).data).resourceCountIs('AWS::Events::Archive', 0);
  });
});

describe('the relay', () => {
  test('reads payment and order outcomes and every record other than an insert, from the start of the Stream, and continues after bad records', () => {
    service.hasResourceProperties('AWS::Lambda::EventSourceMapping', {
      StartingPosition: 'TRIM_HORIZON',
      BatchSize: 100,
      FunctionResponseTypes: ['ReportBatchItemFailures'],
      BisectBatchOnFunctionError: true,
      MaximumRetryAttempts: RELAY_ATTEMPTS,
      MaximumRecordAgeInSeconds: 72_000,
      DestinationConfig: { OnFailure: { Destination: { 'Fn::GetAtt': [Match.stringLikeRegexp('Parked'), 'Arn'] } } },
      FilterCriteria: {
        Filters: [
          {
            Pattern: Match.serializedJson({
              eventName: ['INSERT'],
              dynamodb: {
                NewImage: { outcomeBucket: { S: [{ exists: true }] } },
              },
            }),
          },
          { Pattern: Match.serializedJson({ eventName: [{ 'anything-but': ['INSERT'] }] }) },
        ],
      },
    });
  });

  test('parks records in an encrypted queue, over TLS only, for the maximum retention of SQS', () => {
    service.hasResourceProperties('AWS::SQS::Queue', { MessageRetentionPeriod: 1_209_600, SqsManagedSseEnabled: true });
    service.hasResourceProperties('AWS::SQS::QueuePolicy', {
      Queues: [{ Ref: Match.stringLikeRegexp('Parked') }],
      PolicyDocument: Match.objectLike({
        Statement: Match.arrayWith([
          Match.objectLike({ Effect: 'Deny', Condition: { Bool: { 'aws:SecureTransport': 'false' } } }),
        ]),
      }),
    });
  });

  test('may read transitions, put events and park records, and may write to no table', () => {
    const roles = statementsByOwner(service);
    const actionsOf = (owner: string) => (roles.get(owner) ?? []).flatMap(({ Action }) => Action).sort();
    const stream = [
      'dynamodb:DescribeStream',
      'dynamodb:GetRecords',
      'dynamodb:GetShardIterator',
      'dynamodb:ListStreams',
    ];
    const always = ['logs:CreateLogStream', 'logs:PutLogEvents'];
    const publish = ['dynamodb:GetItem', 'dynamodb:Query', 'events:PutEvents'];
    expect(new Set(actionsOf('EventsRelay'))).toEqual(
      new Set([...always, ...stream, ...publish, 'sqs:GetQueueAttributes', 'sqs:GetQueueUrl', 'sqs:SendMessage']),
    );
    // The republisher reads transitions and details rows. Both the republisher and Lambda park records that cannot be
    // published.
    const reads = ['dynamodb:GetItem', 'dynamodb:Query'];
    const parks = ['sqs:GetQueueAttributes', 'sqs:GetQueueUrl', 'sqs:SendMessage'];
    expect(new Set(actionsOf('EventsRepublisher'))).toEqual(new Set([...always, ...publish, ...reads, ...parks]));
  });

  test.each([
    ['ApproximateNumberOfMessagesVisible', 1],
    ['event_publish_failed', 1],
    ['event_age', 60_000],
    ['IteratorAge', 60_000],
  ])('raises an alarm on %s, and the alarm names its runbook entry', (metric, threshold) => {
    service.hasResourceProperties('AWS::CloudWatch::Alarm', {
      MetricName: metric,
      Threshold: threshold,
      TreatMissingData: 'notBreaching',
      AlarmDescription: Match.stringLikeRegexp('docs/operate/runbook/events.md'),
    });
  });

  test.each(['event_publish_failed', 'event_age', 'IteratorAge'])(
    'raises an alarm on %s even if some minutes between retries have no data',
    (MetricName) => {
      const patience = { EvaluationPeriods: 15, DatapointsToAlarm: 3, Period: 60 };
      service.hasResourceProperties('AWS::CloudWatch::Alarm', { MetricName, ...patience });
    },
  );
});

describe('a consumer', () => {
  const stack = new Stack(testApp(), 'Consumers');
  const { bus } = new EventBus(stack, 'Events', { retain: false, archive: false });
  const made = (id: string, seconds = 30) =>
    new PayonceFunction(stack, id, {
      folder: 'payment-jobs',
      timeout: Duration.seconds(seconds),
      memoryMb: 256,
      logRetentionDays: 90,
      retainLogs: false,
      environment: {},
    });
  const consumers = [
    new EventConsumer(stack, 'Some', { bus, consumer: made('SomeFunction'), events: [EventNames.paymentCompleted] }),
    new EventConsumer(stack, 'All', { bus, consumer: made('AllFunction'), events: ALL_EVENTS, concurrency: 2 }),
  ];
  const template = Template.fromStack(stack);

  test('receives the events that it declares, through its own queue', () => {
    template.hasResourceProperties('AWS::Events::Rule', {
      EventPattern: { source: ['payonce'], 'detail-type': ['payment.completed.v1'] },
      Targets: [
        Match.objectLike({
          Arn: { 'Fn::GetAtt': [Match.stringLikeRegexp('^SomeTasksQueue'), 'Arn'] },
          DeadLetterConfig: { Arn: { 'Fn::GetAtt': [Match.stringLikeRegexp('^SomeTasksDeadLetters'), 'Arn'] } },
          RetryPolicy: { MaximumEventAgeInSeconds: 86_400 },
        }),
      ],
    });
  });

  test('cannot have a timeout of more than 30 seconds, so that it ends before its lease expires', () => {
    const slow = made('SlowFunction', 31);
    expect(() => new EventConsumer(stack, 'Slow', { bus, consumer: slow, events: [] })).toThrow('31 s');
  });

  test('reports which messages failed, and has a limited concurrency', () => {
    template.allResourcesProperties('AWS::Lambda::EventSourceMapping', {
      BatchSize: 10,
      FunctionResponseTypes: ['ReportBatchItemFailures'],
    });
    template.hasResourceProperties('AWS::Lambda::EventSourceMapping', { ScalingConfig: { MaximumConcurrency: 10 } });
    template.hasResourceProperties('AWS::Lambda::EventSourceMapping', { ScalingConfig: { MaximumConcurrency: 2 } });
  });

  test('keeps messages for the maximum SQS retention while its function is unavailable', () => {
    template.allResourcesProperties('AWS::SQS::Queue', { MessageRetentionPeriod: 1_209_600 });
  });

  test('has a dead-letter queue with an alarm, and passes its URL to its function', () => {
    template.hasResourceProperties('AWS::SQS::Queue', {
      RedrivePolicy: { deadLetterTargetArn: Match.anyValue(), maxReceiveCount: 120 },
      VisibilityTimeout: 180,
    });
    template.hasResourceProperties('AWS::Lambda::Function', {
      Environment: {
        Variables: Match.objectLike({ PARKING_QUEUE_URL: { Ref: Match.stringLikeRegexp('^SomeTasksDeadLetters') } }),
      },
    });
    template.resourceCountIs('AWS::CloudWatch::Alarm', 2 * consumers.length);
    template.allResourcesProperties('AWS::CloudWatch::Alarm', {
      AlarmDescription: Match.stringLikeRegexp('docs/operate/runbook/events.md'),
    });
  });
});

describe("the consumers' rules", () => {
  const rules = Object.entries(service.findResources('AWS::Events::Rule'));
  const bus = rules.filter(([, { Properties }]) => 'EventBusName' in (Properties as object));
  const patternOf = (name: string): unknown =>
    bus
      .filter(([id]) => id.startsWith(name))
      .map(([, { Properties }]) => (Properties as { EventPattern: unknown }).EventPattern);

  test.each([
    ['ViewsEvents', ALL_EVENTS],
    ['WebhooksEvents', PUBLIC_EVENTS],
  ])('include %s, which selects exactly its event types, for all payments', (name, events) => {
    expect(patternOf(name)).toEqual([{ source: ['payonce'], 'detail-type': [...events] }]);
  });

  // Each of these rules matches only payments with one metadata field. Most payments do not have this field.
  test.each([
    ['ReceiptEvents', 'receipt_email', ['payment.completed.v1']],
    [
      'CommissionEvents',
      'affiliate',
      ['payment.completed.v1', 'refund.completed.v1', 'refund.failed.v1', 'dispute.closed.v1'],
    ],
  ])('include %s, which selects exactly its event types, for payments with metadata.%s', (name, metadata, events) => {
    const detail = { payment: { metadata: { [metadata]: [{ exists: true }] } } };
    expect(patternOf(name)).toEqual([{ source: ['payonce'], 'detail-type': events, detail }]);
  });

  test('include CommissionEvents, which selects exactly the events of orders that name an affiliate', () => {
    expect(patternOf('FollowUpsCommissionEventsOrderRule')).toEqual([
      {
        source: ['payonce'],
        'detail-type': ['order.placed.v1', 'order.canceled.v1'],
        detail: { event: { data: { object: { affiliate: [{ exists: true }] } } } },
      },
    ]);
  });

  test('are the only rules on the bus', () => {
    expect(bus).toHaveLength(5);
  });
});
