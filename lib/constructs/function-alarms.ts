import { Duration } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import type { PayonceFunction } from './payonce-function.ts';
import { RunbookAlarm } from './runbook-alarm.ts';

export interface FunctionAlarmsProps {
  /** By the names that the alarms show. */
  readonly functions: ReadonlyMap<string, PayonceFunction>;
}

const PERIOD = Duration.minutes(5);
/** A single error can be a crashed process, and callers retry. This number in one period indicates a bug or an outage. */
const MANY_ERRORS = 3;
/** Throttling in two consecutive periods is more than a burst. */
const THROTTLED_PERIODS = 2;

/** Alarms for functions that fail and for functions that are throttled. */
export class FunctionAlarms extends Construct {
  constructor(scope: Construct, id: string, { functions }: FunctionAlarmsProps) {
    super(scope, id);
    for (const [name, { function: watched }] of functions) {
      new RunbookAlarm(this, `${name}-Errors`, {
        description: `The function ${name} fails.`,
        entry: 'a-function-fails',
        metric: watched.metricErrors({ period: PERIOD }),
        threshold: MANY_ERRORS,
      });
      new RunbookAlarm(this, `${name}-Throttles`, {
        description: `The function ${name} is throttled.`,
        entry: 'a-function-is-throttled',
        metric: watched.metricThrottles({ period: PERIOD }),
        threshold: 1,
        evaluationPeriods: THROTTLED_PERIODS,
      });
    }
  }
}
