import { Aws, Duration } from 'aws-cdk-lib';
import type { RestApi } from 'aws-cdk-lib/aws-apigateway';
import {
  AlarmStatusWidget,
  Dashboard,
  GraphWidget,
  type GraphWidgetProps,
  type IMetric,
  type IWidget,
  Metric,
  TextWidget,
} from 'aws-cdk-lib/aws-cloudwatch';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { JobMetric, type JobMetricName } from '../../lambdas/jobs/contract.ts';
import { EventMetric } from '../../lambdas/kernel/contract/events.ts';
import type { JobEntry } from '../../lambdas/kernel/contract/jobs.ts';
import type { OutboundMetric } from '../../lambdas/kernel/contract/metrics.ts';
import { BOOKS_SERVICE, BooksMetric } from '../../lambdas/reconciling/contract.ts';
import { BACKLOG_SERVICE, BacklogMetric, type BacklogMetricName } from '../../lambdas/resolving/contract.ts';
import { environmentOf } from '../settings.ts';
import { jobMetric } from './job-alarms.ts';
import type { PayonceFunction } from './payonce-function.ts';
import { payonceMetric, vendorMetric } from './payonce-metric.ts';
import type { RunbookAlarm } from './runbook-alarm.ts';

export interface OverviewProps {
  readonly api: RestApi;
  readonly functions: ReadonlyMap<string, PayonceFunction>;
  readonly queues: ReadonlyMap<string, Queue>;
  /** Names of tables, by the names that the dashboard shows. */
  readonly tables: Readonly<Record<string, string>>;
  readonly jobs: readonly JobEntry[];
  /** The vendors and processors whose calls are counted. */
  readonly vendors: readonly string[];
  readonly processors: readonly string[];
  /** All alarms of the stack. */
  readonly alarms: readonly RunbookAlarm[];
}

const PERIOD = Duration.minutes(5);
/** A dashboard has 24 columns: three widgets in a row. */
const WIDTH = 8;
/** The maximum number of alarms of a widget (CloudWatch, "Dashboard body structure"). */
const ALARMS_SHOWN = 100;

/** The operator's dashboard: first the alarms, then the path of the money from the requests to the books. */
export class Overview extends Construct {
  constructor(scope: Construct, id: string, props: OverviewProps) {
    super(scope, id);
    const environment = environmentOf(this.node);
    const dashboard = new Dashboard(this, 'Dashboard', {
      // Names of dashboards are unique in the account, not in the region.
      dashboardName: [...(environment === undefined ? [] : [environment]), 'Payonce', Aws.REGION].join('-'),
      defaultInterval: Duration.hours(3),
    });
    const what = 'What each alarm means and what to do about it: docs/runbook.md.';
    dashboard.addWidgets(new TextWidget({ markdown: `# Payonce\n${what}`, width: 3 * WIDTH, height: 2 }));
    for (let from = 0; from < props.alarms.length; from += ALARMS_SHOWN) {
      const alarms = props.alarms.slice(from, from + ALARMS_SHOWN);
      dashboard.addWidgets(new AlarmStatusWidget({ title: 'Alarms', alarms, width: 3 * WIDTH, height: 8 }));
    }
    for (const row of [requests(props), waiting(), events(props), runs(props), books(), machines(props)]) {
      dashboard.addWidgets(...row);
    }
  }
}

function requests({ api, vendors, processors }: OverviewProps): IWidget[] {
  const outcomes = ['first', 'replay', 'in_progress', 'mismatch', 'unknown', 'takeover', 'fenced', 'unavailable'];
  const calls: OutboundMetric[] = ['outbound_call', 'outbound_retry', 'outbound_gave_up'];
  return [
    graph('Payments and changes by outcome', counted('payments', [...outcomes, 'failure'])),
    graph('Orders by outcome', counted('orders', [...outcomes, 'failure'])),
    graph('Callbacks', counted('callbacks', ['taken_in', 'redelivered', 'orphaned', 'refused'].map(callback))),
    graph('The gateway', [
      api.metricCount({ period: PERIOD }),
      api.metricClientError({ period: PERIOD }),
      api.metricServerError({ period: PERIOD }),
    ]),
    graph('Gateway latency', [
      api.metricLatency({ period: PERIOD, statistic: 'p50', label: 'p50' }),
      api.metricLatency({ period: PERIOD, statistic: 'p99', label: 'p99' }),
    ]),
    graph('Vendors and processors', [
      ...vendors.flatMap((vendor) =>
        calls.map((name) => vendorMetric(vendor, name, PERIOD).with({ label: `${vendor} ${name}` })),
      ),
      ...[...vendors, ...processors].map((name) =>
        vendorMetric(name, 'outbound_breaker_opened', PERIOD).with({ label: `${name} breaker opened` }),
      ),
    ]),
  ];
}

function waiting(): IWidget[] {
  const ages = [BacklogMetric.oldestClaim, BacklogMetric.oldestUnknown];
  return [
    graph('Open claims and unknown outcomes', [
      backlogMetric(BacklogMetric.openClaims),
      backlogMetric(BacklogMetric.unknownOutcomes),
    ]),
    graph('Age of the oldest, in milliseconds', ages.map(backlogMetric)),
    graph('Requires an operator', [
      ...counted('outbox-relay', [EventMetric.toReview]),
      ...counted('payment-jobs', ['undecidable', 'order_needs_review', 'late_success', 'contradiction']),
      ...counted('callbacks', ['late_success', 'contradiction']),
    ]),
  ];
}

function events({ queues }: OverviewProps): IWidget[] {
  const named = [...queues];
  return [
    graph('Events published', counted('outbox-relay', [EventMetric.published, EventMetric.publishFailed])),
    graph('Age of events on the bus, in milliseconds', [metric('outbox-relay', EventMetric.age, 'Maximum')]),
    graph(
      'Waiting messages and dead letters',
      named.map(([label, queue]) => queue.metricApproximateNumberOfMessagesVisible({ period: PERIOD, label })),
    ),
  ];
}

function runs({ jobs }: OverviewProps): IWidget[] {
  const each = (name: JobMetricName): IMetric[] =>
    jobs.map((job) => jobMetric(job, name, PERIOD).with({ label: `${job.id} ${name}` }));
  return [
    graph('Runs of jobs', each(JobMetric.succeeded)),
    graph('Runs given up', each(JobMetric.failed)),
    graph('Items that failed or were skipped', [...each(JobMetric.itemFailed), ...each(JobMetric.skipped)]),
  ];
}

function books(): IWidget[] {
  return [
    graph('Differences between processors and the Ledger', [metric(BOOKS_SERVICE, BooksMetric.mismatches, 'Maximum')]),
    graph('Rows of the Ledger that were changed', counted('outbox-relay', [EventMetric.tampered])),
    graph('Expired records that remain, tables without time to live', [
      metric(BOOKS_SERVICE, BooksMetric.expiredLeft, 'Maximum'),
      metric(BOOKS_SERVICE, BooksMetric.ttlNotWorking, 'Maximum'),
    ]),
  ];
}

function machines({ functions, tables }: OverviewProps): IWidget[] {
  const named = [...functions];
  return [
    graph(
      'Functions: errors',
      named.map(([label, made]) => made.function.metricErrors({ period: PERIOD, label })),
    ),
    graph(
      'Functions: throttles',
      named.map(([label, made]) => made.function.metricThrottles({ period: PERIOD, label })),
    ),
    graph(
      'Tables: throttled reads and writes',
      Object.entries(tables).flatMap(([label, TableName]) =>
        ['ReadThrottleEvents', 'WriteThrottleEvents'].map(
          (metricName) =>
            new Metric({
              namespace: 'AWS/DynamoDB',
              metricName,
              dimensionsMap: { TableName },
              statistic: 'Sum',
              period: PERIOD,
              label: `${label} ${metricName}`,
            }),
        ),
      ),
    ),
  ];
}

function graph(title: string, left: IMetric[], more: Partial<GraphWidgetProps> = {}): GraphWidget {
  return new GraphWidget({ title, left, width: WIDTH, height: 6, leftYAxis: { min: 0, showUnits: false }, ...more });
}

const callback = (what: string): string => `callback_${what}`;

function counted(service: string, names: readonly string[]): Metric[] {
  return names.map((name) => metric(service, name, 'Sum'));
}

function backlogMetric(name: BacklogMetricName): Metric {
  return payonceMetric({ service: BACKLOG_SERVICE, name, statistic: 'Maximum', period: PERIOD });
}

function metric(service: string, name: string, statistic: 'Sum' | 'Maximum'): Metric {
  return payonceMetric({ service, name, statistic, period: PERIOD }).with({ label: `${name} (${service})` });
}
