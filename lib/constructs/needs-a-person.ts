import { Duration } from 'aws-cdk-lib';
import { Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';
import type { AlarmMetric } from '../../lambdas/kernel/contract/metrics.ts';
import { METRIC_NAMESPACE } from '../../lambdas/kernel/contract/metrics.ts';
import { RunbookAlarm, type RunbookAlarmProps } from './runbook-alarm.ts';

export interface NeedsAPersonProps {
  /** Which functions may count each, by the names that their telemetry gives them. */
  readonly services: Readonly<Partial<Record<AlarmMetric, readonly string[]>>>;
}

const MEANING: Readonly<Record<AlarmMetric, Pick<RunbookAlarmProps, 'description' | 'entry'>>> = {
  late_success: {
    description: 'Money was taken for a payment that had ended, or twice. It is recorded, and goes back by itself.',
    entry: 'late-success',
  },
  contradiction: { description: 'A processor says what cannot be. Nothing was posted.', entry: 'contradiction' },
  undecidable: {
    description: 'Nobody can find out what became of a change, or money that must go back does not.',
    entry: 'undecidable',
  },
  order_needs_review: {
    description: 'Nobody can find out what became of an order’s payment, or its undoing does not come to its end.',
    entry: 'order-in-review',
  },
};

/** An alarm for each thing that must not happen and that somebody must hear of when it does. */
export class NeedsAPerson extends Construct {
  constructor(scope: Construct, id: string, props: NeedsAPersonProps) {
    super(scope, id);
    for (const [metricName, services] of Object.entries(props.services) as [AlarmMetric, readonly string[]][]) {
      for (const service of services) {
        new RunbookAlarm(this, `${metricName}-${service}`, {
          ...MEANING[metricName],
          metric: new Metric({
            namespace: METRIC_NAMESPACE,
            metricName,
            dimensionsMap: { service },
            statistic: 'Sum',
            period: Duration.minutes(1),
          }),
          threshold: 1,
        });
      }
    }
  }
}
