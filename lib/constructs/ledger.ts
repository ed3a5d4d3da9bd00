import { ProjectionType, StreamViewType } from 'aws-cdk-lib/aws-dynamodb';
import type { IGrantable } from 'aws-cdk-lib/aws-iam';
import { Effect, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { LedgerRow } from '../../lambdas/kernel/contract/rows.ts';
import { KeyAttribute, LedgerTable } from '../../lambdas/kernel/contract/tables.ts';
import type { RestoredTable } from '../restored-tables.ts';
import { DataTable, rowConditions, text } from './data-table.ts';

/** All actions that can write or remove a row, except `dynamodb:PutItem`, which is allowed in transactions. */
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
  readonly retain: boolean;
  /** @default the declared table is used */
  readonly restored?: RestoredTable | undefined;
}

/** The append-only table of transitions and of the activity log. The only allowed write is a put in a transaction. */
export class Ledger extends Construct {
  readonly table: DataTable;

  constructor(scope: Construct, id: string, props: LedgerProps) {
    super(scope, id);
    this.table = new DataTable(this, 'Table', {
      partitionKey: KeyAttribute.partition,
      sortKey: KeyAttribute.sort,
      retain: props.retain,
      restored: props.restored,
      // Old images are included, because the parked record and the archive line of a MODIFY or REMOVE must contain the
      // lost row.
      stream: StreamViewType.NEW_AND_OLD_IMAGES,
    });
    this.table.addIndex({
      indexName: LedgerTable.recentOutcomesIndex.name,
      partitionKey: text(LedgerTable.recentOutcomesIndex.partitionKey),
      sortKey: text(LedgerTable.recentOutcomesIndex.sortKey),
      // The index contains only keys, and its readers read the transition from the table. A copy of the transition in
      // the index would double the write cost of a payment.
      projectionType: ProjectionType.KEYS_ONLY,
    });
  }

  /**
   * Allows `grantee` to append rows of some kinds together with their idempotency records, in one transaction. Denies
   * every other write (Amazon DynamoDB developer guide, "IAM and transactions": the condition key
   * `dynamodb:EnclosingOperation`).
   */
  grantAppend(grantee: IGrantable, kinds: readonly LedgerKind[]): void {
    grantee.grantPrincipal.addToPrincipalPolicy(
      new PolicyStatement({
        sid: 'LedgerAppendInTransaction',
        actions: ['dynamodb:PutItem'],
        resources: [this.table.tableArn],
        conditions: {
          'ForAnyValue:StringEquals': { 'dynamodb:EnclosingOperation': ['TransactWriteItems'] },
          ...rowConditions('LedgerAppendInTransaction', kinds.map(rowsOf)),
        },
      }),
    );
    this.#denyChanges(grantee);
  }

  /** An append reads the newest entry of its chain. */
  grantRecordActivity(grantee: IGrantable): void {
    this.grantAppend(grantee, ['activity']);
    this.table.grantRows(grantee, 'NewestActivity', ['dynamodb:Query'], [LedgerRow.activity]);
  }

  /** @param more further actions that read rows by key @default none */
  grantRead(grantee: IGrantable, kinds: readonly LedgerKind[], more: readonly 'dynamodb:BatchGetItem'[] = []): void {
    const actions = [...more, 'dynamodb:GetItem', 'dynamodb:Query'];
    this.table.grantRows(grantee, 'LedgerRead', actions, kinds.map(rowsOf));
  }

  /** Allows `grantee` to determine the system of record, from the first recorded settings and the later imports. */
  grantReadAuthority(grantee: IGrantable): void {
    const rows = [`${LedgerRow.activity}settings`, `${LedgerRow.activity}imports`];
    this.table.grantRows(grantee, 'SettingsAndImports', ['dynamodb:GetItem', 'dynamodb:Query'], rows);
  }

  grantReadTransitions(grantee: IGrantable): void {
    const rows = [LedgerRow.payment, LedgerRow.order];
    this.table.grantRows(grantee, 'ReadTransitions', ['dynamodb:GetItem'], rows);
  }

  grantFindOutcomes(grantee: IGrantable): void {
    this.table.grantIndex(grantee, 'FindOutcomes', LedgerTable.recentOutcomesIndex.name);
  }

  /** An explicit deny overrides every allow, including one that is added by mistake later. */
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

function rowsOf(kind: LedgerKind): string {
  return LedgerRow[kind];
}
