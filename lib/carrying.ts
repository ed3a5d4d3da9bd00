import { Duration } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import type { PostgresJobId } from '../lambdas/jobs/contract/jobs.ts';
import { LedgerRow, RegistryRow } from '../lambdas/kernel/contract/rows.ts';
import { CARRY_SERVICE, CarryMetric, COPIES_LATE_MS } from '../lambdas/postgres/contract.ts';
import type { PayonceFunction } from './constructs/payonce-function.ts';
import { payonceMetric } from './constructs/payonce-metric.ts';
import { RunbookAlarm } from './constructs/runbook-alarm.ts';
import type { DataStack } from './data-stack.ts';

/** Partition key of the row that stores the time before which all PostgreSQL rows have been copied. */
export const CARRIED_UNTIL_ROW = `${RegistryRow.jobMark}${'carry' satisfies PostgresJobId}`;

export interface CarryingProps {
  readonly data: Pick<DataStack, 'ledger' | 'registry'>;
}

/** The copying of PostgreSQL rows to the DynamoDB tables: permissions of the functions that copy, and alarms. */
export class Carrying extends Construct {
  readonly #data: CarryingProps['data'];

  constructor(scope: Construct, id: string, { data }: CarryingProps) {
    super(scope, id);
    this.#data = data;
    const gauge = (name: string) =>
      payonceMetric({ service: CARRY_SERVICE, name, statistic: 'Maximum', period: Duration.minutes(1) });
    new RunbookAlarm(this, 'CopiesLate', {
      description: 'A PostgreSQL row has waited more than a minute to be copied to DynamoDB.',
      entry: 'data.md#copies-are-late',
      metric: gauge(CarryMetric.oldest),
      threshold: COPIES_LATE_MS,
    });
    new RunbookAlarm(this, 'CopiesStopped', {
      description:
        'A PostgreSQL row cannot be copied to the Ledger, or differs from its copy; its payment or order is no longer copied.',
      entry: 'data.md#a-copy-is-stopped',
      metric: gauge(CarryMetric.stopped),
      threshold: 1,
    });
  }

  /**
   * Allows a function that may append to the Ledger to copy rows: to check that the Ledger has a row's predecessor, and
   * to copy and erase personal data. After a commit, the function copies all uncopied rows of the chain, and these can
   * include an erasure.
   */
  grantCarry(writer: PayonceFunction): void {
    const { ledger, registry } = this.#data;
    const chains = [LedgerRow.payment, LedgerRow.order];
    ledger.table.grantRows(writer, 'CheckPredecessors', ['dynamodb:ConditionCheckItem'], chains);
    const actions = ['dynamodb:Query', 'dynamodb:PutItem', 'dynamodb:DeleteItem'];
    registry.grantRows(writer, 'CopyDetails', actions, [RegistryRow.details]);
  }

  /**
   * Allows the jobs worker to copy all uncopied rows, and to store two facts: the time before which all rows have been
   * copied, and the databases that have payments.
   */
  grantPoll(worker: PayonceFunction): void {
    this.grantCarry(worker);
    const actions = ['dynamodb:GetItem', 'dynamodb:PutItem'];
    const { registry } = this.#data;
    registry.grantRows(worker, 'CarriedUntil', actions, [CARRIED_UNTIL_ROW]);
    registry.grantRows(worker, 'RecordDatabases', ['dynamodb:PutItem'], [RegistryRow.databases]);
  }
}
