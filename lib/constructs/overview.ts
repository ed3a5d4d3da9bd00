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
import type { JobEntry } from '../../lambdas/jobs/contract/jobs.ts';
import { frequencyOf, JobMetric } from '../../lambdas/jobs/contract/runs.ts';
import { EventMetric } from '../../lambdas/kernel/contract/events.ts';
import { ALARM_SERVICE, ALARMS } from '../../lambdas/kernel/contract/metrics.ts';
import { PurgeMetric } from '../../lambdas/operators/contract.ts';
import { BOOKS_SERVICE, BooksMetric } from '../../lambdas/reconciliation/contract.ts';
import { BACKLOG_SERVICE, BacklogMetric, type BacklogMetricName } from '../../lambdas/resolving/contract.ts';
import { environmentOf } from '../settings.ts';
import { failuresMetric, throttlesMetric } from './function-alarms.ts';
import { frequencyMetric, overdueMetric } from './job-alarms.ts';
import type { PayonceFunction } from './payonce-function.ts';
import { payonceMetric, vendorMetric } from './payonce-metric.ts';
import type { RunbookAlarm } from './runbook-alarm.ts';

export interface OverviewProps {
  readonly api: RestApi;
  readonly functions: ReadonlyMap<string, PayonceFunction>;
  readonly queues: ReadonlyMap<string, Queue>;
  /** Table names, by the names that the dashboard displays. */
  readonly tables: Readonly<Record<string, string>>;
  readonly jobs: readonly JobEntry[];
  readonly orders: boolean;
  /** The vendors and processors whose calls the dashboard shows. */
  readonly vendors: readonly string[];
  readonly processors: readonly string[];
  /** All alarms of the stack. */
  readonly alarms: readonly RunbookAlarm[];
}

const PERIOD = Duration.minutes(5);
/** A dashboard has 24 columns, so three widgets fit in a row. */
const WIDTH = 8;
/** The maximum number of alarms per widget (CloudWatch, "Dashboard body structure"). */
const ALARMS_SHOWN = 100;

/**
 * The operator's dashboards: one for the alarms and the flow of money from requests to the ledger, one for the
 * infrastructure. Each has at most 50 metrics, because AWS charges nothing for the first three such dashboards of an
 * account.
 */
export class Overview extends Construct {
  constructor(scope: Construct, id: string, props: OverviewProps) {
    super(scope, id);
    const dashboard = this.#dashboard('Dashboard', 'Payonce');
    const what = 'What each alarm means and what to do about it: docs/operate/runbook/README.md.';
    dashboard.addWidgets(new TextWidget({ markdown: `# Payonce\n${what}`, width: 3 * WIDTH, height: 2 }));
    for (let from = 0; from < props.alarms.length; from += ALARMS_SHOWN) {
      const alarms = props.alarms.slice(from, from + ALARMS_SHOWN);
      dashboard.addWidgets(new AlarmStatusWidget({ title: 'Alarms', alarms, width: 3 * WIDTH, height: 8 }));
    }
    for (const row of [requests(props), waiting(), flow(props)]) dashboard.addWidgets(...row);
    const machines = this.#dashboard('Machines', 'Payonce-machines');
    for (const row of [functions(props), stores(props)]) machines.addWidgets(...row);
  }

  /** The name contains the region, because dashboard names must be unique in the account. */
  #dashboard(id: string, name: string): Dashboard {
    const environment = environmentOf(this.node);
    return new Dashboard(this, id, {
      dashboardName: [...(environment === undefined ? [] : [environment]), name, Aws.REGION].join('-'),
      defaultInterval: Duration.hours(3),
    });
  }
}

function requests({ api, orders, vendors, processors }: OverviewProps): IWidget[] {
  const outcomes = [
    'first',
    'replay',
    'replay_warm',
    'replay_missed',
    'unknown',
    'takeover',
    'fenced',
    'unavailable',
    'failure',
  ];
  const ofOrders = orders ? counted('orders', ['first', 'unknown', 'unavailable', 'failure']) : [];
  return [
    graph('Payments, changes and orders by outcome', [...counted('payments', outcomes), ...ofOrders]),
    graph('Callbacks', counted('callbacks', ['recorded', 'redelivered', 'orphaned', 'refused'].map(callback))),
    graph('The gateway', [
      api.metricCount({ period: PERIOD }),
      api.metricClientError({ period: PERIOD }),
      api.metricServerError({ period: PERIOD }),
    ]),
    graph('Gateway latency', [api.metricLatency({ period: PERIOD, statistic: 'p99', label: 'p99' })]),
    graph('Vendors and processors', [
      ...vendors.map((name) => vendorMetric(name, 'outbound_gave_up', PERIOD).with({ label: `${name} gave up` })),
      ...[...vendors, ...processors].map((name) =>
        vendorMetric(name, 'outbound_breaker_opened', PERIOD).with({ label: `${name} breaker opened` }),
      ),
    ]),
  ];
}

function waiting(): IWidget[] {
  const ages = [BacklogMetric.oldestClaim, BacklogMetric.oldestUnknown];
  // The alarm for waiting messages already shows the metric `messages_wait`.
  const { messages_wait: _, ...ofMoney } = ALARMS;
  return [
    graph('Open claims and unknown outcomes', [
      backlogMetric(BacklogMetric.openClaims),
      backlogMetric(BacklogMetric.unknownOutcomes),
    ]),
    graph('Age of the oldest entry, in milliseconds', ages.map(backlogMetric)),
    graph('Requires an operator', [
      ...counted('outbox-relay', [EventMetric.toReview, EventMetric.tampered]),
      ...counted(ALARM_SERVICE, Object.keys(ofMoney)),
      metric(BOOKS_SERVICE, BooksMetric.mismatches, 'Maximum'),
    ]),
  ];
}

function flow({ jobs }: OverviewProps): IWidget[] {
  const frequencies = new Set(jobs.map(({ every }) => frequencyOf(every)));
  const troubles = [JobMetric.failed, JobMetric.itemFailed, JobMetric.skipped];
  return [
    graph('Events published', counted('outbox-relay', [EventMetric.published, EventMetric.publishFailed])),
    graph('Age of events on the bus, in milliseconds', [metric('outbox-relay', EventMetric.age, 'Maximum')]),
    graph('Jobs: overdue, runs given up, items that failed or were skipped', [
      overdueMetric(),
      ...[...frequencies].flatMap((frequency) =>
        troubles.map((name) => frequencyMetric(frequency, name).with({ label: `${name} (every few ${frequency})` })),
      ),
    ]),
  ];
}

function functions(props: OverviewProps): IWidget[] {
  return [
    graph('Functions: failed executions', [failuresMetric()]),
    graph('All Lambda functions in the account: throttles', [throttlesMetric()]),
    graph(
      'Functions: errors',
      [...props.functions].map(([label, made]) => made.function.metricErrors({ period: PERIOD, label })),
    ),
  ];
}

function stores({ queues, tables }: OverviewProps): IWidget[] {
  return [
    graph(
      'Waiting messages and dead letters',
      [...queues].map(([label, queue]) => queue.metricApproximateNumberOfMessagesVisible({ period: PERIOD, label })),
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
    graph('Expired records that remain, and tables whose time to live does not work', [
      metric(BOOKS_SERVICE, PurgeMetric.expiredLeft, 'Maximum'),
      metric(BOOKS_SERVICE, PurgeMetric.ttlNotWorking, 'Maximum'),
    ]),
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
