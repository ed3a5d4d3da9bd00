import { ProjectionType } from 'aws-cdk-lib/aws-dynamodb';
import type { IGrantable } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import { IdempotencyRow, OperationPrefix } from '../../lambdas/kernel/contract/rows.ts';
import { IdempotencyTable } from '../../lambdas/kernel/contract/tables.ts';
import { DataTable, number } from './data-table.ts';

export interface IdempotencyProps {
  /** Keep the table when its stack goes, and refuse to delete it. */
  readonly retain: boolean;
}

/** Records that a policy tells apart from those of payments, by how their operation ids begin. */
export type RecordKind = keyof typeof OperationPrefix;

/** The table of what must happen once: a record for each, which ends some time after it was completed. */
export class Idempotency extends DataTable {
  constructor(scope: Construct, id: string, { retain }: IdempotencyProps) {
    const { partitionKey, timeToLiveAttribute, openClaimsIndex } = IdempotencyTable;
    super(scope, id, { partitionKey, timeToLiveAttribute, retain });
    this.addGlobalSecondaryIndex({
      indexName: openClaimsIndex.name,
      partitionKey: number(openClaimsIndex.partitionKey),
      sortKey: number(openClaimsIndex.sortKey),
      projectionType: ProjectionType.KEYS_ONLY,
    });
  }

  /** Lets `grantee` claim, call and commit: a claim is taken over and completed by an update. */
  grantClaim(grantee: IGrantable): void {
    this.grantActions(grantee, 'Claims', ['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem']);
  }

  /**
   * Lets `grantee` write a record together with its effect, in one transaction.
   *
   * @param kind of the records that it may write. @default all
   */
  grantCommit(grantee: IGrantable, kind?: RecordKind): void {
    const actions = ['dynamodb:GetItem', 'dynamodb:PutItem'];
    if (kind === undefined) this.grantActions(grantee, 'Effects', actions);
    else this.grantRows(grantee, 'Effects', actions, [recordsOf(kind)]);
  }

  /** Lets `grantee` claim records of one kind and complete them; a claim that is refused comes back with the refusal. */
  grantClaimOf(grantee: IGrantable, kind: RecordKind): void {
    this.grantRows(grantee, 'Claims', ['dynamodb:PutItem'], [recordsOf(kind)]);
  }

  /** Lets `grantee` find claims that were not completed. */
  grantFindOpenClaims(grantee: IGrantable): void {
    this.grantIndex(grantee, 'FindOpenClaims', IdempotencyTable.openClaimsIndex.name);
  }

  /** Lets `grantee` walk through the table and delete what has expired. */
  grantPurge(grantee: IGrantable): void {
    this.grantActions(grantee, 'Purge', ['dynamodb:Scan', 'dynamodb:DeleteItem', 'dynamodb:DescribeTimeToLive']);
  }
}

function recordsOf(kind: RecordKind): string {
  return `${IdempotencyRow.record}${OperationPrefix[kind]}`;
}
