import { Duration } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { ALARM_SERVICE, ALARMS, type AlarmEntry } from '../../lambdas/kernel/contract/metrics.ts';
import { payonceMetric } from './payonce-metric.ts';
import { RunbookAlarm } from './runbook-alarm.ts';

export interface OperatorAlarmsProps {
  /** Without orders, no function counts their metrics. */
  readonly orders: boolean;
}

/** Alarms for the metrics that must stay at zero (`ALARMS`), counted over all functions. */
export class OperatorAlarms extends Construct {
  constructor(scope: Construct, id: string, { orders }: OperatorAlarmsProps) {
    super(scope, id);
    const alarms: readonly (readonly [string, AlarmEntry])[] = Object.entries(ALARMS);
    for (const [name, { description, entry, ofOrders = false }] of alarms) {
      if (ofOrders && !orders) continue;
      const metric = payonceMetric({ service: ALARM_SERVICE, name, period: Duration.minutes(1) });
      new RunbookAlarm(this, name, { description, entry, metric, threshold: 1 });
    }
  }
}
