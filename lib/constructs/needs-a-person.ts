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
    description: 'A processor took money for a payment that had ended, or took it twice. The resolver sends it back.',
    entry: 'late-success',
  },
  contradiction: { description: 'A processor reported a fact that contradicts the payment.', entry: 'contradiction' },
  undecidable: {
    description:
      'The outcome of a change cannot be determined, or a processor does not accept the return of late money.',
    entry: 'undecidable',
  },
  order_needs_review: {
    description: 'The outcome of an order’s payment cannot be determined, or the order’s reversal does not complete.',
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
