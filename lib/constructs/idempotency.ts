import { ProjectionType } from 'aws-cdk-lib/aws-dynamodb';
import type { IGrantable } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import { IdempotencyRow, OperationPrefix } from '../../lambdas/kernel/contract/rows.ts';
import { IdempotencyTable } from '../../lambdas/kernel/contract/tables.ts';
import type { RestoredTable } from '../restored-tables.ts';
import { DataTable, number } from './data-table.ts';

export interface IdempotencyProps {
  readonly retain: boolean;
  /** @default the declared table is used */
  readonly restored?: RestoredTable | undefined;
}

export type RecordKind = keyof typeof OperationPrefix;

const CLAIMED: readonly RecordKind[] = ['charge', 'capture', 'cancel', 'refund', 'return', 'order', 'callback'];

/**
 * The table of idempotency records and effect records. A completed record expires after its retention period, unless it
 * is permanent.
 */
export class Idempotency extends DataTable {
  constructor(scope: Construct, id: string, { retain, restored }: IdempotencyProps) {
    const { partitionKey, timeToLiveAttribute, openClaimsIndex } = IdempotencyTable;
    super(scope, id, { partitionKey, timeToLiveAttribute, retain, restored });
    this.addIndex({
      indexName: openClaimsIndex.name,
      partitionKey: number(openClaimsIndex.partitionKey),
      sortKey: number(openClaimsIndex.sortKey),
      projectionType: ProjectionType.ALL,
    });
  }

  /** A takeover or a commit updates the record. */
  grantClaim(grantee: IGrantable, kinds: readonly RecordKind[]): void {
    const actions = ['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem'];
    this.grantRows(grantee, 'Claims', actions, kinds.map(recordsOf));
  }

  /** Each record is written in one transaction with its effect. */
  grantCommit(grantee: IGrantable, kinds: readonly RecordKind[]): void {
    this.grantRows(grantee, 'Effects', ['dynamodb:GetItem', 'dynamodb:PutItem'], kinds.map(recordsOf));
  }

  /** Allows `grantee` to write on condition that records of these kinds are absent. */
  grantCheck(grantee: IGrantable, kinds: readonly RecordKind[]): void {
    this.grantRows(grantee, 'Checks', ['dynamodb:ConditionCheckItem'], kinds.map(recordsOf));
  }

  /** If a claim is refused, DynamoDB returns the existing record. */
  grantClaimOf(grantee: IGrantable, kind: RecordKind): void {
    this.grantRows(grantee, 'Claims', ['dynamodb:PutItem'], [recordsOf(kind)]);
  }

  grantFindOpenClaims(grantee: IGrantable): void {
    this.grantIndex(grantee, 'FindOpenClaims', IdempotencyTable.openClaimsIndex.name);
  }

  /**
   * @param kinds @default the records of callbacks, and the records of requests that write a claim before they call a
   * processor or a party
   */
  grantReadClaims(grantee: IGrantable, kinds: readonly RecordKind[] = CLAIMED): void {
    this.grantRows(grantee, 'ReadClaims', ['dynamodb:GetItem'], kinds.map(recordsOf));
  }

  /** A scan cannot be limited by key. */
  grantPurge(grantee: IGrantable): void {
    this.grantActions(grantee, 'Purge', ['dynamodb:Scan', 'dynamodb:DeleteItem', 'dynamodb:DescribeTimeToLive']);
  }
}

function recordsOf(kind: RecordKind): string {
  return `${IdempotencyRow.record}${OperationPrefix[kind]}`;
}
