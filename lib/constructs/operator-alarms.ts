import { Duration } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { ALARMS, type AlarmEntry } from '../../lambdas/kernel/contract/metrics.ts';
import { payonceMetric } from './payonce-metric.ts';
import { RunbookAlarm } from './runbook-alarm.ts';

export interface OperatorAlarmsProps {
  /** Whether orders are enabled. Without them, no function counts their metrics. */
  readonly orders: boolean;
}

/** An alarm for each metric that must stay at zero (`ALARMS`), for each function that may count it. */
export class OperatorAlarms extends Construct {
  constructor(scope: Construct, id: string, { orders }: OperatorAlarmsProps) {
    super(scope, id);
    const alarms: readonly (readonly [string, AlarmEntry])[] = Object.entries(ALARMS);
    for (const [name, { description, entry, countedBy, ofOrders = false }] of alarms) {
      for (const service of countedBy) {
        if ((ofOrders || service === 'orders') && !orders) continue;
        new RunbookAlarm(this, `${name}-${service}`, {
          description,
          entry,
          metric: payonceMetric({ service, name, period: Duration.minutes(1) }),
          threshold: 1,
        });
      }
    }
  }
}
