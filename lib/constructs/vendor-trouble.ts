import { Duration } from 'aws-cdk-lib';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { VendorName } from '../../lambdas/orders/contract.ts';
import { vendorMetric } from './payonce-metric.ts';
import { RunbookAlarm } from './runbook-alarm.ts';

export interface VendorTroubleProps {
  readonly vendors: readonly VendorName[];
  readonly deadLetters: Queue;
}

/**
 * Evaluation period. A breaker opens after five consecutive failures, and an alarm within five minutes is early enough.
 */
const PERIOD = Duration.minutes(5);
/**
 * Number of given-up calls per period that indicates an outage. A few given-up calls are normal, and callers retry
 * them.
 */
const MANY_GIVEN_UP = 10;
/** Age of dead letters at which an alarm is raised: four days before SQS deletes them. */
const OLD = Duration.days(10);

/**
 * Alarms for an unavailable vendor, and for calls that wait for a redrive. Each alarm has an entry in
 * docs/operate/runbook/orders.md.
 */
export class VendorTrouble extends Construct {
  constructor(scope: Construct, id: string, props: VendorTroubleProps) {
    super(scope, id);
    for (const vendor of props.vendors) {
      new RunbookAlarm(this, `${vendor}-BreakerOpened`, {
        description: `The circuit breaker of ${vendor} opened because calls fail.`,
        entry: 'orders.md#a-vendor-is-unavailable',
        metric: vendorMetric(vendor, 'outbound_breaker_opened', PERIOD),
        threshold: 1,
      });
      new RunbookAlarm(this, `${vendor}-GaveUp`, {
        description: `Many calls to ${vendor} ended without success.`,
        entry: 'orders.md#a-vendor-is-unavailable',
        metric: vendorMetric(vendor, 'outbound_gave_up', PERIOD),
        threshold: MANY_GIVEN_UP,
      });
    }
    const options = { period: PERIOD, statistic: 'Maximum' };
    new RunbookAlarm(this, 'DeadLetters', {
      description: 'Calls to vendors were dead-lettered and wait for a redrive.',
      entry: 'orders.md#dead-letters',
      metric: props.deadLetters.metricApproximateNumberOfMessagesVisible(options),
      threshold: 1,
    });
    new RunbookAlarm(this, 'OldDeadLetters', {
      description: 'Dead letters will be deleted within four days.',
      entry: 'orders.md#dead-letters',
      metric: props.deadLetters.metricApproximateAgeOfOldestMessage(options),
      threshold: OLD.toSeconds(),
    });
  }
}
