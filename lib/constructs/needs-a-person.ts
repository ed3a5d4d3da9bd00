import { Duration } from 'aws-cdk-lib';
import { Alarm, ComparisonOperator, Metric, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';
import type { AlarmMetric } from '../../lambdas/contract/metrics.ts';
import { METRIC_NAMESPACE } from '../../lambdas/contract/metrics.ts';

export interface NeedsAPersonProps {
  /** Which functions may count each, by the names that their telemetry gives them. */
  readonly services: Readonly<Record<AlarmMetric, readonly string[]>>;
}

const MEANING: Readonly<Record<AlarmMetric, string>> = {
  late_success:
    'Money was taken for a payment that had ended, or twice. It is in the Ledger under late_receipts, and queued to be sent back.',
  contradiction:
    'A processor says what cannot be. Nothing was posted; the log has the payment, and GET /v1/admin/mismatches both figures.',
  undecidable:
    'Nobody can find out what became of a capture, cancellation or refund: look at the processor, and decide with POST /v1/admin/payments/{id}/resolve. Or the processor does not send back what must go back: send it back there.',
};

/** An alarm for each thing that must not happen and that somebody must hear of when it does. */
export class NeedsAPerson extends Construct {
  constructor(scope: Construct, id: string, props: NeedsAPersonProps) {
    super(scope, id);
    for (const [metricName, services] of Object.entries(props.services) as [AlarmMetric, readonly string[]][]) {
      for (const service of services) {
        new Alarm(this, `${metricName}-${service}`, {
          alarmDescription: MEANING[metricName],
          metric: new Metric({
            namespace: METRIC_NAMESPACE,
            metricName,
            dimensionsMap: { service },
            statistic: 'Sum',
            period: Duration.minutes(1),
          }),
          threshold: 1,
          evaluationPeriods: 1,
          comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
          treatMissingData: TreatMissingData.NOT_BREACHING,
        });
      }
    }
  }
}
