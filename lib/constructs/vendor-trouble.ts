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

/** A breaker that opens has seen five consecutive failures; an alert within five minutes is early enough. */
const PERIOD = Duration.minutes(5);
/** The caller repeats a single call that was given up; this many in one period are an outage. */
const MANY_GIVEN_UP = 10;
/** Four days before SQS forgets them. */
const OLD = Duration.days(10);

/** Tells a person that a vendor is away, and that calls wait to be made again. Each alarm has its entry in docs/runbook.md. */
export class VendorTrouble extends Construct {
  constructor(scope: Construct, id: string, props: VendorTroubleProps) {
    super(scope, id);
    for (const vendor of props.vendors) {
      new RunbookAlarm(this, `${vendor}-BreakerOpened`, {
        description: `The circuit breaker of ${vendor} opened because calls fail.`,
        entry: 'a-vendor-is-away',
        metric: vendorMetric(vendor, 'outbound_breaker_opened', PERIOD),
        threshold: 1,
      });
      new RunbookAlarm(this, `${vendor}-GaveUp`, {
        description: `Many calls to ${vendor} ended without success.`,
        entry: 'a-vendor-is-away',
        metric: vendorMetric(vendor, 'outbound_gave_up', PERIOD),
        threshold: MANY_GIVEN_UP,
      });
    }
    const options = { period: PERIOD, statistic: 'Maximum' };
    new RunbookAlarm(this, 'DeadLetters', {
      description: 'Calls to vendors were dead-lettered and wait for a redrive.',
      entry: 'dead-letters',
      metric: props.deadLetters.metricApproximateNumberOfMessagesVisible(options),
      threshold: 1,
    });
    new RunbookAlarm(this, 'OldDeadLetters', {
      description: 'Dead letters will be deleted within four days.',
      entry: 'dead-letters',
      metric: props.deadLetters.metricApproximateAgeOfOldestMessage(options),
      threshold: OLD.toSeconds(),
    });
  }
}
