import { describe, expect, test } from '@jest/globals';
import type { Template } from 'aws-cdk-lib/assertions';
import { queueTitle } from '../../console/show.ts';
import { MESSAGE_QUEUES } from '../../lambdas/operators/contract.ts';
import { deployedQueues, messageQueueNames } from '../../lambdas/operators/store/sqs-queues.ts';
import {
  describeMessages,
  dismissalOf,
  MISSED_RUNS,
  NO_REDRIVE,
  redriveTarget,
} from '../../lambdas/operators/use/queue-lists.ts';
import { synthesize } from '../support/synth.ts';
import { EVERYTHING, present, WITH_STRIPE } from './templates.ts';

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

/**
 * Time that a message may wait while its function is throttled, in seconds. Each throttled invocation returns the
 * message to the queue and counts as one receive.
 */
const LONGEST_WAIT_SECONDS = 6 * 60 * 60;
/**
 * Maximum total concurrency of the functions: the account's quota (AWS Lambda developer guide, "Lambda quotas") minus
 * the share that the APIs need.
 */
const MAX_AT_ONCE = 500;

const { sandbox, service } = await synthesize(WITH_STRIPE);
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

test('the tested list contains every queue with a consumer function', () => {
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

/**
 * Minimum visibility timeout as a multiple of the function's timeout. During the visibility timeout, Lambda retries a
 * throttled batch (AWS Lambda developer guide, "Using Lambda with Amazon SQS", queue configuration).
 */
const TIMES_OF_TIMEOUT = 6;
/**
 * Queues that may have a shorter visibility timeout: for pages of job runs (docs/design/decisions/0040-job-runs.md) and
 * for delayed vendor calls (lib/parties.ts). If one of their messages is redelivered early, the consumer finds a lock
 * or a claim.
 */
const SOONER = /^(?:PaymentRuns|UpkeepRuns|PartiesDelayed)/;

describe.each(sources)('the queue $id', ({ id, mapping, queue, timeout }) => {
  test('hides a message for six times the timeout of its function, or for less if early redelivery is safe', () => {
    if (SOONER.test(id)) expect(queue.VisibilityTimeout).toBeLessThan(2 * timeout);
    else expect(queue.VisibilityTimeout).toBeGreaterThanOrEqual(TIMES_OF_TIMEOUT * timeout);
  });

  test('redelivers a message for at least six hours, and keeps it for even longer', () => {
    const { VisibilityTimeout, RedrivePolicy, MessageRetentionPeriod } = queue;
    expect(RedrivePolicy.maxReceiveCount * VisibilityTimeout).toBeGreaterThanOrEqual(LONGEST_WAIT_SECONDS);
    expect(RedrivePolicy.maxReceiveCount).toBeLessThanOrEqual(1_000);
    expect(MessageRetentionPeriod).toBeGreaterThan(2 * LONGEST_WAIT_SECONDS);
  });

  test('has a limited concurrency; only the failed messages of a batch are redelivered', () => {
    expect(mapping.ScalingConfig?.MaximumConcurrency).toBeGreaterThanOrEqual(2);
    expect(mapping.FunctionResponseTypes).toEqual(['ReportBatchItemFailures']);
  });

  test('hides a message until its function has ended', () => {
    expect(queue.VisibilityTimeout).toBeGreaterThan(timeout);
  });
});

function deployedIn(template: Template | undefined) {
  const functions = present(template).findResources('AWS::Lambda::Function') as Record<
    string,
    Made<{ readonly Environment?: { readonly Variables: Readonly<Record<string, unknown>> } }>
  >;
  const [names] = Object.values(functions).flatMap(
    ({ Properties }) => Properties.Environment?.Variables[MESSAGE_QUEUES] ?? [],
  );
  const {
    'Fn::Join': [, parts],
  } = names as { readonly 'Fn::Join': readonly [string, readonly unknown[]] };
  const text = parts.map((part) => (typeof part === 'string' ? part : 'https://sqs.invalid/1/queue')).join('');
  return deployedQueues(messageQueueNames.parse(JSON.parse(text)));
}

const DEPLOYMENTS = [
  ['with the sandbox', service],
  ['with everything', everything],
] as const;

test.each(DEPLOYMENTS)('each message queue has a title and a description of its own: %s', (_which, template) => {
  const deployed = deployedIn(template);
  const ids = Object.keys(deployed);
  const titles = ids.map((id) => queueTitle(id));
  const descriptions = ids.map((id) => describeMessages(id, deployed[id]?.isKept === true));
  expect(ids.filter((id) => queueTitle(id) === id)).toEqual([]);
  expect(descriptions.filter((each) => each.startsWith('Messages of the queue'))).toEqual([]);
  for (const each of [titles, descriptions]) expect(new Set(each).size).toBe(ids.length);
});

test.each(DEPLOYMENTS)(
  'each queue without a consumer function can be redriven, or declares what to do instead: %s',
  (_which, template) => {
    const deployed = deployedIn(template);
    const kept = Object.keys(deployed).filter((id) => deployed[id]?.isKept);
    expect(dismissalOf(deployed, MISSED_RUNS)).toEqual({ kind: 'all' });
    const targets = kept.map((id) => [id, redriveTarget(deployed, id)] as const);
    expect(targets.filter(([, target]) => target?.kind === 'none' && target.because === NO_REDRIVE)).toEqual([]);
    const redriven = targets.flatMap(([id, target]) => (target?.kind === 'target' ? [[id, target.to]] : []));
    expect(redriven).toEqual(
      expect.arrayContaining([
        ['Events-Parked', 'Events-Republisher'],
        ['Vendors-DeadLetters', 'Parties-DelayedCalls-Queue'],
      ]),
    );
    // A redrive must lead to a consumer: to a queue that a function reads, or to the republisher.
    const taken = ([, to = '']: readonly string[]) => deployed[to]?.isKept === false || to === 'Events-Republisher';
    expect(redriven.filter((target) => !taken(target))).toEqual([]);
  },
);

test('functions behind queues leave half of an account’s default concurrency to the APIs', () => {
  const most = sources.map(({ mapping }) => mapping.ScalingConfig?.MaximumConcurrency ?? Number.POSITIVE_INFINITY);
  expect(most.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(MAX_AT_ONCE);
});
