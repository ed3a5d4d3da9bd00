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
  /** Go on with orders. @default there are no orders */
  readonly parties?: Parties;
}

const SOON = Duration.minutes(5);
/** No attempt sends later than a quarter of an hour after its claim, so nothing can keep one open for much longer. */
const CLAIM_OPEN = Duration.minutes(20);
/** Within a day a processor knows, or its own people do: some payments of banks take days, and are worth a look. */
const OUTCOME_UNKNOWN = Duration.hours(24);

const { reference, details, return: giveBack, inquiry, openOrder, hold, orphan, keptOrphan } = RegistryRow;

/** Finishes what others began, as a retry would; its work is done by jobs, to whose worker it grants what they need. */
export class Resolving extends Construct {
  readonly #props: ResolvingProps;

  constructor(scope: Construct, id: string, props: ResolvingProps) {
    super(scope, id);
    this.#props = props;
    new RunbookAlarm(this, 'ClaimOpen', {
      description: 'A claim stays open and the resolver cannot finish it.',
      entry: 'a-claim-stays-open',
      metric: backlogMetric(BacklogMetric.oldestClaim),
      threshold: CLAIM_OPEN.toMilliseconds(),
    });
    new RunbookAlarm(this, 'OutcomeUnknown', {
      description: 'The outcome of a payment or a change has been unknown for a day.',
      entry: 'an-outcome-stays-unknown',
      metric: backlogMetric(BacklogMetric.oldestUnknown),
      threshold: OUTCOME_UNKNOWN.toMilliseconds(),
    });
  }

  /** Lets a worker of jobs finish stale claims, send back what may not be kept, try orphans again and end holds. */
  grantResolve(worker: PayonceFunction): void {
    const { data, parties } = this.#props;
    data.idempotency.grantClaim(worker);
    data.idempotency.grantFindOpenClaims(worker);
    // It claims as the caller would, with the rows of a first claim, so that a claim is refused by what is there.
    const written = [reference, details, giveBack, inquiry, openOrder, hold, keptOrphan];
    data.registry.grantRows(worker, 'WriteReferences', ['dynamodb:PutItem'], written);
    const queues = [giveBack, inquiry, openOrder, hold, orphan];
    data.registry.grantRows(worker, 'TakeQueued', ['dynamodb:Query', 'dynamodb:DeleteItem'], queues);
    parties?.grantCall(worker);
  }
}

function backlogMetric(name: BacklogMetricName) {
  return payonceMetric({ service: BACKLOG_SERVICE, name, statistic: 'Maximum', period: SOON });
}
