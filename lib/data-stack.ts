import type { StackProps } from 'aws-cdk-lib';
import { CfnOutput, Stack } from 'aws-cdk-lib';
import { ProjectionType } from 'aws-cdk-lib/aws-dynamodb';
import type { Construct } from 'constructs';
import { StackOutput } from '../lambdas/contract/api.ts';
import { IdempotencyTable, KeyAttribute } from '../lambdas/contract/tables.ts';
import { CallbackSecret } from './constructs/callback-secret.ts';
import { DataTable, number } from './constructs/data-table.ts';
import { Ledger } from './constructs/ledger.ts';
import type { Settings } from './settings.ts';

export interface DataStackProps extends StackProps {
  readonly settings: Pick<Settings, 'retainData'>;
}

/** Everything that must survive: four tables with four lifetimes, and the secret of callbacks. Nothing here is ever replaced by a deploy of the service. */
export class DataStack extends Stack {
  readonly idempotency: DataTable;
  readonly ledger: Ledger;
  readonly registry: DataTable;
  readonly views: DataTable;
  readonly callbackSecret: CallbackSecret;

  constructor(scope: Construct, id: string, props: DataStackProps) {
    super(scope, id, { ...props, terminationProtection: props.settings.retainData });
    const retain = props.settings.retainData;
    this.idempotency = idempotencyTable(this, retain);
    this.ledger = new Ledger(this, 'Ledger', { retain });
    this.registry = keyedTable(this, 'Registry', retain);
    this.views = keyedTable(this, 'Views', retain);
    this.callbackSecret = new CallbackSecret(this, 'CallbackSecret', { retain });

    new CfnOutput(this, StackOutput.idempotencyTable, { value: this.idempotency.tableName });
    new CfnOutput(this, StackOutput.ledgerTable, { value: this.ledger.table.tableName });
    new CfnOutput(this, StackOutput.registryTable, { value: this.registry.tableName });
    new CfnOutput(this, StackOutput.viewsTable, { value: this.views.tableName });
  }
}

function idempotencyTable(scope: Construct, retain: boolean): DataTable {
  const table = new DataTable(scope, 'Idempotency', {
    partitionKey: IdempotencyTable.partitionKey,
    timeToLiveAttribute: IdempotencyTable.timeToLiveAttribute,
    retain,
  });
  table.addGlobalSecondaryIndex({
    indexName: IdempotencyTable.openClaimsIndex.name,
    partitionKey: number(IdempotencyTable.openClaimsIndex.partitionKey),
    sortKey: number(IdempotencyTable.openClaimsIndex.sortKey),
    projectionType: ProjectionType.KEYS_ONLY,
  });
  return table;
}

function keyedTable(scope: Construct, id: string, retain: boolean): DataTable {
  return new DataTable(scope, id, { partitionKey: KeyAttribute.partition, sortKey: KeyAttribute.sort, retain });
}
