import type { IMetric } from 'aws-cdk-lib/aws-cloudwatch';
import { Alarm, ComparisonOperator, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';
import { defined } from '../../lambdas/kernel/defined.ts';

export interface RunbookAlarmProps {
  /** The meaning of the alarm, as a sentence that ends with a full stop. */
  readonly description: string;
  /** The entry in docs/operate/runbook/ with the steps to take: `<page>.md#<heading in lower case, with hyphens>`. */
  readonly entry: string;
  /** The metric that raises the alarm. Must not have a label, because labels are only for dashboards. */
  readonly metric: IMetric;
  /** Value at and above which the alarm is raised; for a heartbeat, the value below which it is raised. */
  readonly threshold: number;
  /** @default 1 */
  readonly evaluationPeriods?: number;
  /** The number of these periods that must breach the threshold. @default all */
  readonly datapointsToAlarm?: number;
  /**
   * Whether the alarm monitors a heartbeat: it is raised by values below the threshold and by missing data.
   * @default the alarm is raised at and above the threshold; missing data is not breaching
   */
  readonly isHeartbeat?: boolean;
}

export class RunbookAlarm extends Alarm {
  constructor(scope: Construct, id: string, props: RunbookAlarmProps) {
    const { description, entry, metric, threshold, evaluationPeriods = 1, isHeartbeat = false } = props;
    const { datapointsToAlarm } = props;
    super(scope, id, {
      alarmDescription: `${description} What to do: docs/operate/runbook/${entry}`,
      metric,
      threshold,
      evaluationPeriods,
      ...defined({ datapointsToAlarm }),
      comparisonOperator: isHeartbeat
        ? ComparisonOperator.LESS_THAN_THRESHOLD
        : ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      treatMissingData: isHeartbeat ? TreatMissingData.BREACHING : TreatMissingData.NOT_BREACHING,
    });
  }
}
