import { Duration } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { RegistryRow } from '../lambdas/kernel/contract/rows.ts';
import { BACKLOG_SERVICE, BacklogMetric, type BacklogMetricName } from '../lambdas/resolving/contract.ts';
import type { PayonceFunction } from './constructs/payonce-function.ts';
import { payonceMetric } from './constructs/payonce-metric.ts';
import { RunbookAlarm } from './constructs/runbook-alarm.ts';
import type { DataStack } from './data-stack.ts';
import type { Parties } from './parties.ts';

export interface ResolvingProps {
  readonly data: Pick<DataStack, 'idempotency' | 'registry'>;
  /**
   * The external services for orders. If set, the resolver also completes orders.
   * @default no orders are deployed
   */
  readonly parties?: Parties;
}

const SOON = Duration.minutes(5);
/**
 * Age of an open claim at which an alarm is raised. The send window closes 15 minutes after the claim, so a claim that
 * stays open for much longer is stuck.
 */
const CLAIM_OPEN = Duration.minutes(20);
/**
 * Age of an unknown outcome at which an alarm is raised. Most processors know an outcome within a day. Some bank
 * payments take days, and an operator must ask the processor about them.
 */
const OUTCOME_UNKNOWN = Duration.hours(24);

const { reference, details, return: giveBack, inquiry, openOrder, hold, orphan, keptOrphan } = RegistryRow;

/**
 * Allows the jobs worker to complete open claims in the same way as a retry would. Also creates alarms for claims that
 * stay open and outcomes that stay unknown.
 */
export class Resolving extends Construct {
  readonly #props: ResolvingProps;

  constructor(scope: Construct, id: string, props: ResolvingProps) {
    super(scope, id);
    this.#props = props;
    new RunbookAlarm(this, 'ClaimOpen', {
      description: 'A claim stays open and the resolver cannot finish it.',
      entry: 'payments.md#a-claim-stays-open',
      metric: backlogMetric(BacklogMetric.oldestClaim),
      threshold: CLAIM_OPEN.toMilliseconds(),
    });
    new RunbookAlarm(this, 'OutcomeUnknown', {
      description: 'The outcome of a payment or a change has been unknown for a day.',
      entry: 'payments.md#an-outcome-stays-unknown',
      metric: backlogMetric(BacklogMetric.oldestUnknown),
      threshold: OUTCOME_UNKNOWN.toMilliseconds(),
    });
  }

  /**
   * Allows a jobs worker to finish stale claims, to refund or void stray charges, to retry orphaned callbacks, and to
   * end holds.
   */
  grantResolve(worker: PayonceFunction): void {
    const { data, parties } = this.#props;
    data.idempotency.grantClaim(worker, ['charge', 'capture', 'cancel', 'refund', 'return', 'order']);
    data.idempotency.grantCommit(worker, ['inquiry', 'adoption', 'callback']);
    data.idempotency.grantFindOpenClaims(worker);
    // The worker finishes operations as API requests and callbacks do, so it writes the same rows of the Registry. It
    // also stores the orphans that it gives up, for operators.
    const written = [reference, details, giveBack, inquiry, openOrder, hold, keptOrphan];
    data.registry.grantRows(worker, 'WriteReferences', ['dynamodb:PutItem'], written);
    const queues = [giveBack, inquiry, openOrder, hold, orphan];
    data.registry.grantReadQueues(worker);
    data.registry.grantRows(worker, 'FindHolds', ['dynamodb:Query'], [hold]);
    // The worker postpones a queue entry, marks it for an operator, or deletes it.
    data.registry.grantRows(worker, 'TakeQueued', ['dynamodb:UpdateItem', 'dynamodb:DeleteItem'], queues);
    parties?.grantSend(worker);
  }
}

function backlogMetric(name: BacklogMetricName) {
  return payonceMetric({ service: BACKLOG_SERVICE, name, statistic: 'Maximum', period: SOON });
}
