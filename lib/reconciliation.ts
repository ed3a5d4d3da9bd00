import { Duration } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { RegistryRow } from '../lambdas/kernel/contract/rows.ts';
import { BOOKS_SERVICE, BooksMetric } from '../lambdas/reconciliation/contract.ts';
import type { PayonceFunction } from './constructs/payonce-function.ts';
import { payonceMetric } from './constructs/payonce-metric.ts';
import { RunbookAlarm } from './constructs/runbook-alarm.ts';
import type { DataStack } from './data-stack.ts';
import type { Processors } from './processors.ts';

export interface ReconciliationProps {
  readonly data: Pick<DataStack, 'ledger' | 'registry'>;
  readonly processors: Processors;
}

/** Period of the alarm. The books are compared at least every hour, so every period contains a comparison. */
const COMPARED = Duration.hours(2);

/** Allows a jobs worker to compare the processors' books with the Ledger. Creates the alarm for differences. */
export class Reconciliation extends Construct {
  readonly #props: ReconciliationProps;

  constructor(scope: Construct, id: string, props: ReconciliationProps) {
    super(scope, id);
    this.#props = props;
    new RunbookAlarm(this, 'BooksDiffer', {
      description: 'The books of a processor and the Ledger differ, and a second comparison confirmed it.',
      entry: 'data.md#the-books-differ',
      metric: payonceMetric({
        service: BOOKS_SERVICE,
        name: BooksMetric.mismatches,
        statistic: 'Maximum',
        period: COMPARED,
      }),
      threshold: 1,
    });
  }

  /** Allows a jobs worker to compare books, but not to append to the Ledger. */
  grantCompare(worker: PayonceFunction): void {
    const { data, processors } = this.#props;
    processors.grantCall(worker);
    data.ledger.grantRead(worker, ['payment', 'order']);
    data.registry.grantReadDetails(worker);
    data.ledger.grantFindOutcomes(worker);
    const { inquiry, return: giveBack } = RegistryRow;
    data.registry.grantRows(worker, 'QueueOpen', ['dynamodb:PutItem'], [inquiry, giveBack]);
  }
}
