import { Duration } from 'aws-cdk-lib';
import { Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';
import { EventMetric } from '../../lambdas/kernel/contract/events.ts';
import { METRIC_NAMESPACE, OUTBOUND_SERVICE, VENDOR_DIMENSION } from '../../lambdas/kernel/contract/metrics.ts';
import { BOOKS_SERVICE, BooksMetric } from '../../lambdas/reconciling/contract.ts';
import { BACKLOG_SERVICE, BacklogMetric, type BacklogMetricName } from '../../lambdas/resolving/contract.ts';
import { RunbookAlarm, type RunbookAlarmProps } from './runbook-alarm.ts';

export interface StateAlarmsProps {
  /** Those that are called. */
  readonly processors: readonly string[];
}

const SOON = Duration.minutes(5);
/** Nobody sends later than a quarter of an hour after a claim, so nothing can keep one open for much longer. */
const CLAIM_OPEN = Duration.minutes(20);
/** Within a day a processor knows, or its own people do: some payments of banks take days, and are worth a look. */
const OUTCOME_UNKNOWN = Duration.hours(24);
/** The books are compared every hour at least. */
const COMPARED = Duration.hours(2);
/** Told of every night. */
const NIGHTLY = Duration.days(1);

/** Tells a person of what has got stuck, differs, or must never be: in the books, in the queues, at the processors. */
export class StateAlarms extends Construct {
  constructor(scope: Construct, id: string, { processors }: StateAlarmsProps) {
    super(scope, id);
    for (const [name, alarm] of Object.entries(STATES)) new RunbookAlarm(this, name, { threshold: 1, ...alarm });
    for (const processor of processors) {
      new RunbookAlarm(this, `${processor}-BreakerOpened`, {
        description: `The circuit breaker of the processor ${processor} opened because calls fail.`,
        entry: 'a-processor-is-away',
        metric: breakerMetric(processor),
        threshold: 1,
      });
    }
  }
}

export function backlogMetric(metricName: BacklogMetricName): Metric {
  return metric(metricName, BACKLOG_SERVICE, 'Maximum', SOON);
}

export function breakerMetric(vendor: string): Metric {
  return new Metric({
    namespace: METRIC_NAMESPACE,
    metricName: 'outbound_breaker_opened',
    dimensionsMap: { service: OUTBOUND_SERVICE, [VENDOR_DIMENSION]: vendor },
    statistic: 'Sum',
    period: SOON,
  });
}

function metric(metricName: string, service: string, statistic: string, period: Duration): Metric {
  return new Metric({ namespace: METRIC_NAMESPACE, metricName, dimensionsMap: { service }, statistic, period });
}

const STATES: Readonly<
  Record<string, Omit<RunbookAlarmProps, 'threshold'> & Partial<Pick<RunbookAlarmProps, 'threshold'>>>
> = {
  ClaimOpen: {
    description: 'A claim stays open and the resolver cannot finish it.',
    entry: 'a-claim-stays-open',
    metric: backlogMetric(BacklogMetric.oldestClaim),
    threshold: CLAIM_OPEN.toMilliseconds(),
  },
  OutcomeUnknown: {
    description: 'The outcome of a payment or a change has been unknown for a day.',
    entry: 'an-outcome-stays-unknown',
    metric: backlogMetric(BacklogMetric.oldestUnknown),
    threshold: OUTCOME_UNKNOWN.toMilliseconds(),
  },
  PaymentToReview: {
    description: 'The outcome of a payment cannot be determined. An operator must decide it.',
    entry: 'a-payment-needs-review',
    metric: metric(EventMetric.toReview, 'outbox-relay', 'Sum', SOON),
  },
  LedgerChanged: {
    description: 'A row of the Ledger was changed or removed.',
    entry: 'the-ledger-was-changed',
    metric: metric(EventMetric.tampered, 'outbox-relay', 'Sum', SOON),
  },
  EventsBeyondReach: {
    description: 'Events that are too old to be republished may be lost.',
    entry: 'events-beyond-reach',
    metric: metric(EventMetric.beyondReach, 'upkeep-jobs', 'Sum', SOON),
  },
  BooksDiffer: {
    description: 'The books of a processor and the Ledger differ, and a second comparison confirmed it.',
    entry: 'the-books-differ',
    metric: metric(BooksMetric.mismatches, BOOKS_SERVICE, 'Maximum', COMPARED),
  },
  TimeToLive: {
    description: 'Time to live is disabled for a table or does not keep up.',
    entry: 'time-to-live-does-not-work',
    metric: metric(BooksMetric.ttlNotWorking, BOOKS_SERVICE, 'Maximum', NIGHTLY),
  },
};
