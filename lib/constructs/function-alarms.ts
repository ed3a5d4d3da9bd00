import { Duration } from 'aws-cdk-lib';
import { Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { FilterPattern, MetricFilter } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { FUNCTION_FAILED } from '../../lambdas/kernel/contract/metrics.ts';
import type { PayonceFunction } from './payonce-function.ts';
import { environmentMetric, metricNamespace } from './payonce-metric.ts';
import { RunbookAlarm } from './runbook-alarm.ts';

export interface FunctionAlarmsProps {
  /** Functions by the names that the alarms show. */
  readonly functions: ReadonlyMap<string, PayonceFunction>;
}

const PERIOD = Duration.minutes(5);
/** A single error can be a crashed process, and callers retry. This number in one period indicates a bug or an outage. */
const MANY_ERRORS = 3;
/** Throttling in two consecutive periods is more than a burst. */
const THROTTLED_PERIODS = 2;
/** Lambda writes this line after every execution; `status` is success, error, failure or timeout (AWS Lambda developer guide, "Lambda Telemetry API Event schema reference", platform.report). */
const NOT_SUCCESSFUL = FilterPattern.all(
  FilterPattern.stringValue('$.type', '=', 'platform.report'),
  FilterPattern.stringValue('$.record.status', '!=', 'success'),
);

/**
 * Alarms for functions that fail and for functions that are throttled, over all functions. Lambda's metrics cover one
 * function or the whole account, and an alarm over several costs as much as one for each.
 */
export class FunctionAlarms extends Construct {
  constructor(scope: Construct, id: string, { functions }: FunctionAlarmsProps) {
    super(scope, id);
    for (const [name, { function: watched }] of functions) {
      new MetricFilter(this, `${name}-Failures`, {
        logGroup: watched.logGroup,
        filterPattern: NOT_SUCCESSFUL,
        metricNamespace: metricNamespace(this.node),
        metricName: FUNCTION_FAILED,
        metricValue: '1',
      });
    }
    new RunbookAlarm(this, 'Errors', {
      description: 'Executions of functions fail.',
      entry: 'a-function-fails',
      metric: failuresMetric(),
      threshold: MANY_ERRORS,
    });
    new RunbookAlarm(this, 'Throttles', {
      description: 'Lambda throttles functions of this account and region.',
      entry: 'a-function-is-throttled',
      metric: throttlesMetric(),
      threshold: 1,
      evaluationPeriods: THROTTLED_PERIODS,
    });
  }
}

/** Failed executions of all functions of the environment. */
export function failuresMetric(): Metric {
  return environmentMetric(FUNCTION_FAILED, PERIOD);
}

/** Throttles of all functions of the account in the region, because they share its concurrency. */
export function throttlesMetric(): Metric {
  return new Metric({ namespace: 'AWS/Lambda', metricName: 'Throttles', statistic: 'Sum', period: PERIOD });
}
