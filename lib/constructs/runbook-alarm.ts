import type { IMetric } from 'aws-cdk-lib/aws-cloudwatch';
import { Alarm, ComparisonOperator, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';

export interface RunbookAlarmProps {
  /** What it means, in a sentence that ends with a full stop. */
  readonly description: string;
  /** The entry of docs/runbook.md that says what to do: its heading in lower case, with hyphens. */
  readonly entry: string;
  /** Without a label and without math: those are for dashboards. */
  readonly metric: IMetric;
  /** It rings at this, and above. */
  readonly threshold: number;
  /** In periods of the metric. @default 1 */
  readonly evaluationPeriods?: number;
  /** In how many of them it must be so, where silence may come in between. @default all */
  readonly datapointsToAlarm?: number;
  /** What must be heard of: it rings below the threshold instead, and in silence. @default silence is good */
  readonly isSignOfLife?: boolean;
}

/** An alarm as all of ours are: its description says where to read what to do. */
export class RunbookAlarm extends Alarm {
  constructor(scope: Construct, id: string, props: RunbookAlarmProps) {
    const { description, entry, metric, threshold, evaluationPeriods = 1, isSignOfLife = false } = props;
    const { datapointsToAlarm } = props;
    super(scope, id, {
      alarmDescription: `${description} What to do: docs/runbook.md#${entry}`,
      metric,
      threshold,
      evaluationPeriods,
      ...(datapointsToAlarm === undefined ? {} : { datapointsToAlarm }),
      comparisonOperator: isSignOfLife
        ? ComparisonOperator.LESS_THAN_THRESHOLD
        : ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      treatMissingData: isSignOfLife ? TreatMissingData.BREACHING : TreatMissingData.NOT_BREACHING,
    });
  }
}
