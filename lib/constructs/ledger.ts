import { ProjectionType, StreamViewType } from 'aws-cdk-lib/aws-dynamodb';
import type { IGrantable } from 'aws-cdk-lib/aws-iam';
import { Effect, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { LedgerRow } from '../../lambdas/kernel/contract/rows.ts';
import { KeyAttribute, LedgerTable } from '../../lambdas/kernel/contract/tables.ts';
import { DataTable, ofRows, text } from './data-table.ts';

/** Everything that could change or remove a row, in whichever way the API offers. */
export const LEDGER_FORBIDDEN_ACTIONS = [
  'dynamodb:UpdateItem',
  'dynamodb:DeleteItem',
  'dynamodb:BatchWriteItem',
  'dynamodb:PartiQLInsert',
  'dynamodb:PartiQLUpdate',
  'dynamodb:PartiQLDelete',
];

export type LedgerKind = keyof typeof LedgerRow;

export interface LedgerProps {
  /** Keep the table when its stack goes, and refuse to delete it. */
  readonly retain: boolean;
}

/** The append-only table of transitions: written by one kind of write, and by nothing else. */
export class Ledger extends Construct {
  readonly table: DataTable;

  constructor(scope: Construct, id: string, props: LedgerProps) {
    super(scope, id);
    this.table = new DataTable(this, 'Table', {
      partitionKey: KeyAttribute.partition,
      sortKey: KeyAttribute.sort,
      retain: props.retain,
      // Old images too: a MODIFY or REMOVE is an alarm, and must say what was lost.
      stream: StreamViewType.NEW_AND_OLD_IMAGES,
    });
    this.table.addGlobalSecondaryIndex({
      indexName: LedgerTable.recentOutcomesIndex.name,
      partitionKey: text(LedgerTable.recentOutcomesIndex.partitionKey),
      sortKey: text(LedgerTable.recentOutcomesIndex.sortKey),
      // A reader of the index reads the transition itself: a copy would double the write cost of a payment.
      projectionType: ProjectionType.KEYS_ONLY,
    });
  }

  /**
   * Lets `grantee` append rows of some kinds inside a transaction, with the record that the row belongs to, and denies it every
   * other write (Amazon DynamoDB developer guide, "IAM and transactions": the condition key `dynamodb:EnclosingOperation`).
   */
  grantAppend(grantee: IGrantable, kinds: readonly LedgerKind[]): void {
    grantee.grantPrincipal.addToPrincipalPolicy(
      new PolicyStatement({
        sid: 'LedgerAppendInTransaction',
        actions: ['dynamodb:PutItem'],
        resources: [this.table.tableArn],
        conditions: {
          'ForAnyValue:StringEquals': { 'dynamodb:EnclosingOperation': ['TransactWriteItems'] },
          ...ofRows(
            'LedgerAppendInTransaction',
            kinds.map((kind) => LedgerRow[kind]),
          ),
        },
      }),
    );
    this.#denyChanges(grantee);
  }

  /** Lets `grantee` record actions in the activity log: it appends after the newest entry of a chain, and nothing else. */
  grantRecordActivity(grantee: IGrantable): void {
    this.grantAppend(grantee, ['activity']);
    this.table.grantRows(grantee, 'NewestActivity', ['dynamodb:Query'], [LedgerRow.activity]);
  }

  /** Lets `grantee` read a payment's transitions. */
  grantRead(grantee: IGrantable): void {
    this.table.grantActions(grantee, 'LedgerRead', ['dynamodb:GetItem', 'dynamodb:Query']);
  }

  /** Lets `grantee` read transitions whose places it knows, and no others. */
  grantReadTransitions(grantee: IGrantable): void {
    this.table.grantActions(grantee, 'ReadTransitions', ['dynamodb:GetItem']);
  }

  /** Lets `grantee` find the outcomes of a time, by their places. */
  grantFindOutcomes(grantee: IGrantable): void {
    this.table.grantIndex(grantee, 'FindOutcomes', LedgerTable.recentOutcomesIndex.name);
  }

  /** Stands whatever else is allowed, now or by a later mistake. */
  #denyChanges(grantee: IGrantable): void {
    grantee.grantPrincipal.addToPrincipalPolicy(
      new PolicyStatement({
        sid: 'LedgerNeverChanges',
        effect: Effect.DENY,
        actions: LEDGER_FORBIDDEN_ACTIONS,
        resources: [this.table.tableArn],
      }),
    );
  }
}
