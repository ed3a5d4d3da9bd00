import { describe, expect, test } from '@jest/globals';
import { Match, type Template } from 'aws-cdk-lib/assertions';
import { ALL_EVENTS } from '../../lambdas/events/contract.ts';
import { findViolations } from '../../lib/policies/payonce-rules.ts';
import { readSettings } from '../../lib/settings.ts';
import { synthesize } from '../support/synth.ts';
import { EVERYTHING, present, statementsByOwner } from './templates.ts';
import { testApp } from './test-app.ts';

const service = present((await synthesize(EVERYTHING)).service);
const OWNER = { tenant: 'ten_shop', mode: 'test' } as const;

const settingOf = (paymentRequests: unknown) =>
  readSettings(testApp({ 'payonce:paymentRequests': paymentRequests }).node).paymentRequests;
const kafkaOf = (kafka: unknown) => settingOf({ senders: [{ topic: 'payments', ...OWNER }], kafka });
const SECRET = 'arn:aws:secretsmanager:eu-west-1:111122223333:secret:kafka-AbCdEf';

describe('the setting paymentRequests', () => {
  test('maps senders to tenants, with defaults', () => {
    const senders = [OWNER, { queue: 'shop', ...OWNER }, { subject: 'payments.shop', ...OWNER, mode: 'live' }];
    expect(settingOf(JSON.stringify({ senders }))).toEqual({
      oldestHours: 24,
      senders: [{ source: 'payonce.requests', ...OWNER }, ...senders.slice(1)],
    });
    expect(kafkaOf({ brokers: ['b1.example:9093'], secret: SECRET })?.kafka).toEqual({
      brokers: ['b1.example:9093'],
      secret: SECRET,
      authentication: 'scram-512',
      startAt: 'earliest',
    });
  });

  test.each([
    ['a text that is not JSON', '{', 'payonce:paymentRequests must be an object'],
    ['an unknown field of the setting', { senders: [OWNER], sender: OWNER }, 'has the unknown field sender'],
    ['an age that is too short', { senders: [OWNER], oldestHours: 0 }, 'oldestHours must be 1 to 168 hours'],
    ['an age that is not a number', { senders: [OWNER], oldestHours: '24' }, 'oldestHours must be 1 to 168 hours'],
    ['an empty list of senders', { senders: [] }, 'senders must be a list of 1 to 50 senders'],
    ['an invalid sender', { senders: ['shop'] }, 'senders.0 must be an object'],
    ['an unknown field', { senders: [{ ...OWNER, tenants: 'x' }] }, 'senders.0 has the unknown field tenants'],
    [
      'a sender with two transports',
      { senders: [{ ...OWNER, queue: 'a', topic: 'b' }] },
      'senders.0 has the unknown field topic',
    ],
    [
      'a sender without a tenant',
      { senders: [{ queue: 'a', mode: 'test' }] },
      'senders.0.tenant must be the id of a tenant',
    ],
    ['an unknown mode', { senders: [{ ...OWNER, mode: 'prod' }] }, 'senders.0.mode must be test or live'],
    [
      "Payonce's own source as a sender",
      { senders: [{ ...OWNER, source: 'payonce' }] },
      'senders.0.source must be an event source',
    ],
    [
      'a wildcard in a subject',
      { senders: [{ ...OWNER, subject: 'payments.*' }] },
      'senders.0.subject must be a NATS subject',
    ],
    [
      'a duplicate sender',
      {
        senders: [
          { ...OWNER, queue: 'a' },
          { ...OWNER, queue: 'a', mode: 'live' },
        ],
      },
      'senders.1 has the same address as an earlier sender',
    ],
    ['an age of more than 168 hours', { oldestHours: 200, senders: [OWNER] }, 'oldestHours must be 1 to 168 hours'],
    [
      'a topic without brokers',
      { senders: [{ ...OWNER, topic: 'a' }] },
      'kafka must be given, because a sender has a topic',
    ],
    [
      'brokers without a topic',
      { senders: [OWNER], kafka: { brokers: ['b:1'], secret: SECRET } },
      'kafka is given, but',
    ],
  ])('refuses %s, and the error names the field', (_what, given, message) => {
    expect(() => settingOf(given)).toThrow(message);
  });

  test('refuses public brokers without a secret, and subnets without a security group', () => {
    expect(() => kafkaOf({ brokers: ['b1.example:9092'] })).toThrow('kafka.secret must be given');
    expect(() => kafkaOf({ secret: SECRET })).toThrow(
      'kafka.cluster must be the ARN of an Amazon MSK cluster, unless brokers are given',
    );
    expect(() => kafkaOf({ cluster: 'shop' })).toThrow('kafka.cluster must be the ARN of an Amazon MSK cluster');
    expect(() => kafkaOf({ brokers: ['b1'] })).toThrow('kafka.brokers.0 must be host:port');
    expect(() => kafkaOf({ brokers: ['b1:9092'], subnets: ['subnet-1'] })).toThrow(
      'kafka must have both subnets and securityGroup',
    );
  });
});

describe('payment requests by event', () => {
  test('are switched off unless payonce:paymentRequests is set', async () => {
    const without = present((await synthesize()).service);
    expect(JSON.stringify(without.toJSON())).not.toContain('PAYMENT_REQUESTS');
  });

  test('reach the queue only if their source and account are mapped to a tenant', () => {
    const rules = Object.values(service.findResources('AWS::Events::Rule')).map(
      ({ Properties }) => (Properties as { EventPattern: Record<string, unknown> }).EventPattern,
    );
    expect(rules.filter((pattern) => JSON.stringify(pattern).includes('payment.requested.v1'))).toEqual([
      { source: ['payonce.requests'], account: [{ Ref: 'AWS::AccountId' }], 'detail-type': ['payment.requested.v1'] },
      { source: ['checkout'], account: ['444455556666'], 'detail-type': ['payment.requested.v1'] },
    ]);
  });

  test('are the only events that another account may put on the bus, and only with the source that the setting maps to it', () => {
    service.resourceCountIs('AWS::Events::EventBusPolicy', 1);
    service.hasResourceProperties('AWS::Events::EventBusPolicy', {
      Statement: Match.objectLike({
        Action: 'events:PutEvents',
        Condition: { StringEquals: { 'events:source': 'checkout', 'events:detail-type': 'payment.requested.v1' } },
      }),
    });
  });

  test('are processed by a role that may claim charges and append payments, but access no other records, no API keys and no orders', () => {
    const sids = (statementsByOwner(service).get('Intake') ?? [])
      .map(({ Sid }) => Sid)
      .filter((sid) => sid !== undefined);
    expect(sids).toEqual(
      expect.arrayContaining(['Claims', 'CountRequests', 'KeepRequests', 'LedgerNeverChanges', 'WriteReferences']),
    );
    const text = JSON.stringify(statementsByOwner(service).get('Intake'));
    expect(text).toContain('"OP#pay_*"');
    expect(text).not.toMatch(/OP#(?!pay_)|KEY#|OPERATOR|"ORD#/);
  });

  test('are received from queues in batches of ten, with limited concurrency', () => {
    const mappings = Object.values(
      service.findResources('AWS::Lambda::EventSourceMapping', {
        Properties: { FunctionName: { Ref: Match.stringLikeRegexp('^IntakeFunction') } },
      }),
    ).map(({ Properties }) => Properties as Record<string, unknown>);
    const ofQueues = mappings.filter((each) => each['Topics'] === undefined);
    expect(ofQueues).toHaveLength(2);
    for (const each of ofQueues)
      expect(each).toMatchObject({
        BatchSize: 10,
        FunctionResponseTypes: ['ReportBatchItemFailures'],
        ScalingConfig: { MaximumConcurrency: 10 },
      });
  });

  test('are read from the start of an Amazon MSK topic, and no batch is discarded', () => {
    service.hasResourceProperties('AWS::Lambda::EventSourceMapping', {
      EventSourceArn: 'arn:aws:kafka:eu-west-1:111122223333:cluster/shop/1',
      Topics: ['payments'],
      StartingPosition: 'TRIM_HORIZON',
      AmazonManagedKafkaEventSourceConfig: { ConsumerGroupId: 'payonce-payments' },
      MetricsConfig: { Metrics: ['EventCount'] },
      DestinationConfig: Match.absent(),
      FunctionResponseTypes: Match.absent(),
      MaximumRetryAttempts: Match.absent(),
    });
    // An event source mapping reports 0 for an empty topic, and no data if it cannot reach a broker.
    service.hasResourceProperties('AWS::CloudWatch::Alarm', {
      MetricName: 'PolledEventCount',
      Dimensions: [{ Name: 'EventSourceMappingUUID', Value: Match.anyValue() }],
      ComparisonOperator: 'LessThanThreshold',
      Threshold: 0,
      TreatMissingData: 'breaching',
    });
    expect(
      statementsByOwner(service)
        .get('Intake')
        ?.find(({ Action }) => Action.includes('kafka-cluster:ReadData'))?.Resource,
    ).toEqual([
      'arn:aws:kafka:eu-west-1:111122223333:cluster/shop/1',
      'arn:aws:kafka:eu-west-1:111122223333:group/shop/1/payonce-payments',
      'arn:aws:kafka:eu-west-1:111122223333:topic/shop/1/payments',
    ]);
  });

  test('are read from self-managed brokers in the brokers’ network, with user name and password', async () => {
    const kafka = {
      brokers: ['b1.example:9093', 'b2.example:9093'],
      secret: SECRET,
      subnets: ['subnet-0a', 'subnet-0b'],
      securityGroup: 'sg-0c',
      startAt: 'latest',
    };
    const senders = [{ topic: 'payments', group: 'billing', ...OWNER }];
    const own = present((await synthesize({ 'payonce:paymentRequests': { senders, kafka } })).service);
    own.hasResourceProperties('AWS::Lambda::EventSourceMapping', {
      SelfManagedEventSource: { Endpoints: { KafkaBootstrapServers: kafka.brokers } },
      SelfManagedKafkaEventSourceConfig: { ConsumerGroupId: 'billing' },
      StartingPosition: 'LATEST',
      SourceAccessConfigurations: [
        { Type: 'SASL_SCRAM_512_AUTH', URI: SECRET },
        { Type: 'VPC_SUBNET', URI: 'subnet:subnet-0a' },
        { Type: 'VPC_SUBNET', URI: 'subnet:subnet-0b' },
        { Type: 'VPC_SECURITY_GROUP', URI: 'security_group:sg-0c' },
      ],
    });
    const statements = statementsByOwner(own).get('Intake') ?? [];
    expect(statements.find(({ Sid }) => Sid === 'ReadKafkaSecrets')?.Resource).toEqual(SECRET);
    expect(statements.some(({ Sid }) => Sid === 'NetworkOfKafka')).toBe(true);
  });
});

const topicOf = (topic: string) => `arn:aws:kafka:eu-west-1:111122223333:topic/shop/1/${topic}`;

test('one statement lists all topics of a cluster, and the bus policies of other accounts are created one after another', async () => {
  const kafka = { cluster: 'arn:aws:kafka:eu-west-1:111122223333:cluster/shop/1' };
  const others = ['444455556666', '777788889999'].map((account) => ({
    source: `checkout.${account}`,
    account,
    ...OWNER,
  }));
  const senders = [{ topic: 'payments', ...OWNER }, { topic: 'renewals', ...OWNER }, ...others];
  const own = present((await synthesize({ 'payonce:paymentRequests': { senders, kafka } })).service);
  expect(findViolations(own.toJSON() as Parameters<typeof findViolations>[0])).toEqual([]);
  const readers = (statementsByOwner(own).get('Intake') ?? []).filter(({ Action }) =>
    Action.includes('kafka-cluster:ReadData'),
  );
  expect(readers.map(({ Resource }) => Resource)).toEqual([
    expect.arrayContaining([topicOf('payments'), topicOf('renewals')]),
  ]);
  const [first, second] = Object.entries(own.findResources('AWS::Events::EventBusPolicy'));
  expect([first?.[1], second?.[1]]).toContainEqual(
    expect.objectContaining({ DependsOn: expect.arrayContaining([expect.stringMatching(/^IntakeSenders/)]) }),
  );
});

describe('the setting natsBridge', () => {
  test('creates a queue that receives all events, and a policy that allows the bridge only to receive, park and send messages', async () => {
    const [policy] = policiesForPrograms(service);
    expect(policy?.Properties.PolicyDocument.Statement).toEqual([
      expect.objectContaining({ Sid: 'TakeEvents', Action: ['sqs:DeleteMessage', 'sqs:ReceiveMessage'] }),
      expect.objectContaining({ Sid: 'ParkEvents', Action: 'sqs:SendMessage' }),
      expect.objectContaining({ Sid: 'SendRequests', Action: 'sqs:SendMessage' }),
    ]);
    const rules = Object.values(service.findResources('AWS::Events::Rule'));
    const ofBridge = rules.find(({ Properties }) => JSON.stringify(Properties).includes('NatsBridge')) as {
      Properties: { EventPattern: unknown };
    };
    expect(ofBridge.Properties.EventPattern).toEqual({ source: ['payonce'], 'detail-type': ALL_EVENTS });
    const without = present((await synthesize({})).service);
    expect(policiesForPrograms(without)).toEqual([]);
  });
});

/** These policies are for programs outside the stack. */
function policiesForPrograms(template: Template) {
  const policies = template.findResources('AWS::IAM::ManagedPolicy') as Record<
    string,
    { readonly Properties: { readonly Roles?: unknown; readonly PolicyDocument: { readonly Statement: unknown[] } } }
  >;
  return Object.values(policies).filter(({ Properties }) => Properties.Roles === undefined);
}
