import { describe, expect, test } from '@jest/globals';
import type { Template } from 'aws-cdk-lib/assertions';
import { synthesize } from '../support/synth.ts';
import { EVERYTHING, present } from './templates.ts';

interface Made<Properties> {
  readonly Properties: Properties;
}
interface Mapping {
  readonly EventSourceArn: { readonly 'Fn::GetAtt': readonly [string, string] };
  readonly FunctionName: { readonly Ref: string };
  readonly FunctionResponseTypes?: readonly string[];
  readonly ScalingConfig?: { readonly MaximumConcurrency: number };
}
interface Queue {
  readonly VisibilityTimeout: number;
  readonly RedrivePolicy: { readonly maxReceiveCount: number };
  readonly MessageRetentionPeriod: number;
}

/** Lambda's poller gives a throttled message back, and the receive counts. */
const LONGEST_WAIT_SECONDS = 6 * 60 * 60;
/** The account's concurrency (AWS Lambda developer guide, "Lambda quotas"), less what the APIs need. */
const MOST_AT_ONCE = 500;

const { sandbox, service } = await synthesize({ 'payonce:stripeAccount': 'acct_1' });
const { service: everything } = await synthesize(EVERYTHING);

function sourcesOf(template: Template) {
  const of = <Properties>(type: string) => template.findResources(type) as Record<string, Made<Properties>>;
  const functions = of<{ readonly Timeout: number }>('AWS::Lambda::Function');
  const queues = of<Queue>('AWS::SQS::Queue');
  return Object.values(of<Mapping>('AWS::Lambda::EventSourceMapping')).flatMap(({ Properties: mapping }) => {
    const [id] = mapping.EventSourceArn['Fn::GetAtt'] ?? [''];
    const queue = queues[id]?.Properties;
    const timeout = functions[mapping.FunctionName.Ref]?.Properties.Timeout ?? Number.NaN;
    return queue === undefined ? [] : [{ id, mapping, queue, timeout }];
  });
}

const all = [service, sandbox, everything].flatMap((template) => sourcesOf(present(template)));
const sources = [...new Map(all.map((source) => [source.id, source])).values()];

test('each queue with a function is among these', () => {
  expect(sources.map(({ id }) => id.replace(/Queue[0-9A-F]{8}$/, '')).toSorted()).toEqual([
    'CommissionEventsTasks',
    'IntakeQueueshop',
    'IntakeTasks',
    'JobsTargetsCalls',
    'PartiesDelayedCalls',
    'PaymentRunsTasks',
    'ReceiptEventsTasks',
    'Tasks',
    'UpkeepRunsTasks',
    'ViewsEventsTasks',
    'WebhooksEventsTasks',
    'WebhooksLanes',
    'WebhooksTasks',
  ]);
});

describe.each(sources)('the queue $id', ({ mapping, queue, timeout }) => {
  test('has tries for six hours of waiting, and keeps messages for longer', () => {
    const { VisibilityTimeout, RedrivePolicy, MessageRetentionPeriod } = queue;
    expect(RedrivePolicy.maxReceiveCount * VisibilityTimeout).toBeGreaterThanOrEqual(LONGEST_WAIT_SECONDS);
    expect(RedrivePolicy.maxReceiveCount).toBeLessThanOrEqual(1_000);
    expect(MessageRetentionPeriod).toBeGreaterThan(2 * LONGEST_WAIT_SECONDS);
  });

  test('is received as far as its function may run, and one message fails without the others of its batch', () => {
    expect(mapping.ScalingConfig?.MaximumConcurrency).toBeGreaterThanOrEqual(2);
    expect(mapping.FunctionResponseTypes).toEqual(['ReportBatchItemFailures']);
  });

  test('hides a message until its function has ended', () => {
    expect(queue.VisibilityTimeout).toBeGreaterThan(timeout);
  });
});

test('the functions behind queues leave half of an account’s usual concurrency to the APIs', () => {
  const most = sources.map(({ mapping }) => mapping.ScalingConfig?.MaximumConcurrency ?? Number.POSITIVE_INFINITY);
  expect(most.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(MOST_AT_ONCE);
});
