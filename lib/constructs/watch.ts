import { Duration, Stack } from 'aws-cdk-lib';
import type { RestApi } from 'aws-cdk-lib/aws-apigateway';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct, type IConstruct } from 'constructs';
import { type Authority, jobsOf } from '../../lambdas/jobs/contract/jobs.ts';
import { LIMITS_SERVICE, TENANT_LIMITED } from '../../lambdas/kernel/contract/metrics.ts';
import { VENDORS } from '../../lambdas/orders/contract.ts';
import type { DataStack } from '../data-stack.ts';
import type { Settings } from '../settings.ts';
import { AlarmTopic } from './alarm-topic.ts';
import { FunctionAlarms } from './function-alarms.ts';
import { JobAlarms } from './job-alarms.ts';
import { Overview } from './overview.ts';
import { PayonceFunction } from './payonce-function.ts';
import { payonceMetric } from './payonce-metric.ts';
import { RunbookAlarm } from './runbook-alarm.ts';

/**
 * Number of refused requests in five minutes. Two consecutive periods with this many raise an alarm. A client that
 * slows down as requested causes fewer.
 */
const LIMITED_REQUESTS = 100;

export interface WatchProps {
  readonly settings: Pick<Settings, 'alarmEmail' | 'alarmTopicArn'>;
  readonly data: DataStack;
  readonly api: RestApi;
  readonly processors: readonly string[];
  /** @default dynamodb */
  readonly authority?: Authority;
}

/**
 * Monitors a whole stack: alarms that cover every function and every job, dashboards, and the notification of
 * operators. This construct must be created last, because it monitors only constructs that already exist. Other
 * constructs define further alarms, for example for their dead letters; operators are notified of these alarms, too.
 */
export class Watch extends Construct {
  constructor(scope: Construct, id: string, { settings, data, api, processors, authority = 'dynamodb' }: WatchProps) {
    super(scope, id);
    const { alarmEmail, alarmTopicArn } = settings;
    const stack = Stack.of(this);
    const functions = named(stack, (node) => node instanceof PayonceFunction);
    const queues = queuesOf(stack, data);
    new FunctionAlarms(this, 'Functions', { functions });
    new JobAlarms(this, 'Jobs');
    new RunbookAlarm(this, 'TenantLimited', {
      description: 'Requests of a tenant are refused because its limit is exhausted.',
      entry: 'platform.md#a-tenant-is-limited',
      metric: payonceMetric({ service: LIMITS_SERVICE, name: TENANT_LIMITED, period: Duration.minutes(5) }),
      threshold: LIMITED_REQUESTS,
      evaluationPeriods: 2,
    });
    new Overview(this, 'Overview', {
      api,
      functions: onDashboard(functions),
      queues: onDashboard(queues),
      tables: {
        Idempotency: data.idempotency.tableName,
        Ledger: data.ledger.table.tableName,
        Registry: data.registry.tableName,
        Views: data.views.tableName,
      },
      jobs: jobsOf(authority),
      orders: data.deadLetters !== undefined,
      vendors: data.deadLetters === undefined ? [] : VENDORS,
      processors,
      alarms: [...named(stack, (node) => node instanceof RunbookAlarm).values()],
    });
    if (alarmTopicArn !== undefined) new AlarmTopic(this, 'Topic', { topicArn: alarmTopicArn });
    if (alarmEmail !== undefined) new AlarmTopic(this, 'Topic', { email: alarmEmail });
  }
}

/**
 * Excludes the archive, whose alarms already show its metrics, and exports and audits, because no payment waits for
 * them. With more metrics, the dashboard would not be free.
 */
function onDashboard<Part>(parts: ReadonlyMap<string, Part>): ReadonlyMap<string, Part> {
  return new Map([...parts].filter(([name]) => !/^(?:Archive|Audit|Exports)/.test(name)));
}

export function queuesOf(stack: Stack, { deadLetters }: Pick<DataStack, 'deadLetters'>): ReadonlyMap<string, Queue> {
  const queues = named(stack, (node) => node instanceof Queue);
  return deadLetters === undefined ? queues : queues.set('Vendors-DeadLetters', deadLetters);
}

function named<Part extends IConstruct>(stack: Stack, isOne: (node: IConstruct) => node is Part): Map<string, Part> {
  const parts = stack.node.findAll().filter(isOne);
  return new Map(parts.map((part) => [pathOf(part), part]));
}

/**
 * If an area has only one function, that function has the construct id `Default`, and operators see it under the area's
 * name.
 */
export function pathOf(part: IConstruct): string {
  const ids = part.node.path.slice(Stack.of(part).node.path.length + 1).split('/');
  return ids.filter((id) => id !== 'Default').join('-');
}
