import { Duration } from 'aws-cdk-lib';
import { Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { FilterPattern, MetricFilter } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { FUNCTION_FAILED } from '../../lambdas/kernel/contract/metrics.ts';
import type { PayonceFunction } from './payonce-function.ts';
import { environmentMetric, metricNamespace } from './payonce-metric.ts';
import { RunbookAlarm } from './runbook-alarm.ts';

export interface FunctionAlarmsProps {
  /** The names are used in construct ids. */
  readonly functions: ReadonlyMap<string, PayonceFunction>;
}

const PERIOD = Duration.minutes(5);
/**
 * Number of failures per period that indicates a bug or an outage. A single error can be a crashed process; its caller
 * retries.
 */
const MANY_ERRORS = 3;
/**
 * Number of consecutive throttled periods after which the alarm is raised. A burst throttles requests in only one
 * period.
 */
const THROTTLED_PERIODS = 2;
/**
 * Matches failed executions. Lambda logs this line after every execution; `status` is success, error, failure or
 * timeout (AWS Lambda developer guide, "Lambda Telemetry API Event schema reference", platform.report).
 */
const NOT_SUCCESSFUL = FilterPattern.all(
  FilterPattern.stringValue('$.type', '=', 'platform.report'),
  FilterPattern.stringValue('$.record.status', '!=', 'success'),
);

/**
 * Alarms for failing and for throttled functions, each summed over all functions. Lambda's own metrics cover either one
 * function or the whole account, and an alarm over several metrics costs as much as one alarm per metric.
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
      description: 'Function executions fail.',
      entry: 'platform.md#a-function-fails',
      metric: failuresMetric(),
      threshold: MANY_ERRORS,
    });
    new RunbookAlarm(this, 'Throttles', {
      description: 'Lambda throttles functions of this account and region.',
      entry: 'platform.md#a-function-is-throttled',
      metric: throttlesMetric(),
      threshold: 1,
      evaluationPeriods: THROTTLED_PERIODS,
    });
  }
}

export function failuresMetric(): Metric {
  return environmentMetric(FUNCTION_FAILED, PERIOD);
}

/** Counts throttles of all functions of the account in the region, which share one concurrency limit. */
export function throttlesMetric(): Metric {
  return new Metric({ namespace: 'AWS/Lambda', metricName: 'Throttles', statistic: 'Sum', period: PERIOD });
}
