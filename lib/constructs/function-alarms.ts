import { Duration } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import type { PayonceFunction } from './payonce-function.ts';
import { RunbookAlarm } from './runbook-alarm.ts';

export interface FunctionAlarmsProps {
  /** By what people call them. */
  readonly functions: ReadonlyMap<string, PayonceFunction>;
}

const PERIOD = Duration.minutes(5);
/** One may be a process that died, which every caller makes up for; so many in one period are a bug or an outage. */
const MANY_ERRORS = 3;
/** Throttled for two periods on end: more than a burst. */
const THROTTLED_PERIODS = 2;

/** Tells a person of functions that end with an error, and of those that AWS does not start. */
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
