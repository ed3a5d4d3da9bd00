import { Aws, RemovalPolicy } from 'aws-cdk-lib';
import type { Attribute, CfnTable, GlobalSecondaryIndexProps, ITable, TableProps } from 'aws-cdk-lib/aws-dynamodb';
import { AttributeType, BillingMode, Table } from 'aws-cdk-lib/aws-dynamodb';
import { type IGrantable, PolicyStatement, type PolicyStatementProps } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { KeyAttribute } from '../../lambdas/kernel/contract/tables.ts';
import { defined } from '../../lambdas/kernel/defined.ts';
import type { RestoredTable } from '../restored-tables.ts';
import { tableEncryption } from './data-key.ts';

export interface DataTableProps extends Pick<TableProps, 'stream' | 'timeToLiveAttribute'> {
  readonly partitionKey: string;
  /** @default no sort key */
  readonly sortKey?: string;
  /** Whether to keep the table when its stack is deleted, and to enable deletion protection. */
  readonly retain: boolean;
  /**
   * A table to use instead of the declared table, which then remains declared but unused.
   * @default the declared table is used
   */
  readonly restored?: RestoredTable | undefined;
}

/**
 * A table for payment data: on-demand capacity, point-in-time recovery for 35 days, and encryption with the key of the
 * setting `dataKeyArn` or the AWS managed key of DynamoDB. CloudTrail records the use of either key.
 */
export class DataTable extends Construct {
  /** Table in use: the restored table if there is one, otherwise the declared table. */
  readonly table: ITable;
  readonly #declared: Table;

  constructor(scope: Construct, id: string, props: DataTableProps) {
    super(scope, id);
    const { partitionKey, sortKey, retain, restored, ...rest } = props;
    // The construct id `Default` leaves the logical id unchanged.
    this.#declared = new Table(this, 'Default', {
      ...rest,
      partitionKey: text(partitionKey),
      ...(sortKey === undefined ? {} : { sortKey: text(sortKey) }),
      billingMode: BillingMode.PAY_PER_REQUEST,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      ...tableEncryption(this),
      deletionProtection: retain,
      // A protected table cannot be deleted, so it remains after the rollback of a failed first deployment.
      removalPolicy: retain ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
    });
    // The cast is needed because CDK's class and its interface differ in an optional property.
    this.table = restored === undefined ? (this.#declared as unknown as ITable) : adopted(this, restored);
  }

  /** The table that the stack declares, even when a restored table is in use. */
  get declared(): CfnTable {
    return this.#declared.node.defaultChild as CfnTable;
  }

  get tableName(): string {
    return this.table.tableName;
  }

  get tableArn(): string {
    return this.table.tableArn;
  }

  /** A restored table has only the indexes from the time of its backup. */
  addIndex(index: GlobalSecondaryIndexProps): void {
    this.#declared.addGlobalSecondaryIndex(index);
  }

  grantActions(grantee: IGrantable, sid: string, actions: readonly string[]): void {
    allow(grantee, { sid, actions: [...actions], resources: [this.tableArn] });
  }

  /**
   * The payments function cannot create API keys, for example, even if it is compromised.
   *
   * @param rows prefixes or complete values of partition keys (lambdas/kernel/contract/rows.ts); at least one
   */
  grantRows(grantee: IGrantable, sid: string, actions: readonly string[], rows: readonly string[]): void {
    allow(grantee, { sid, actions: [...actions], resources: [this.tableArn], conditions: rowConditions(sid, rows) });
  }

  /**
   * If an allowed update creates a row, the row has only these attributes.
   *
   * @param attributes the attributes that the update and its condition may contain, in addition to the key attributes
   */
  grantUpdateOf(grantee: IGrantable, sid: string, row: string, attributes: readonly string[]): void {
    const names = [KeyAttribute.partition, KeyAttribute.sort, ...attributes];
    // An update without attributes also satisfies this condition, but changes nothing.
    const conditions = { ...rowConditions(sid, [row]), 'ForAllValues:StringEquals': { 'dynamodb:Attributes': names } };
    allow(grantee, { sid, actions: ['dynamodb:UpdateItem'], resources: [this.tableArn], conditions });
  }

  /** @param rows like `rows` of {@link grantRows}, but partition keys of the index */
  grantRowsOfIndex(grantee: IGrantable, sid: string, index: string, rows: readonly string[]): void {
    const resources = [`${this.tableArn}/index/${index}`];
    allow(grantee, { sid, actions: ['dynamodb:Query'], resources, conditions: rowConditions(sid, rows) });
  }

  grantIndex(grantee: IGrantable, sid: string, index: string): void {
    allow(grantee, { sid, actions: ['dynamodb:Query'], resources: [`${this.tableArn}/index/${index}`] });
  }
}

/** The ARN contains the table's name literally, because the policy rules recognize the Ledger by name. */
function adopted(scope: Construct, { name, streamArn }: RestoredTable): ITable {
  const tableArn = `arn:${Aws.PARTITION}:dynamodb:${Aws.REGION}:${Aws.ACCOUNT_ID}:table/${name}`;
  return Table.fromTableAttributes(scope, 'Restored', {
    tableArn,
    ...defined({ tableStreamArn: streamArn }),
  });
}

function allow({ grantPrincipal }: IGrantable, statement: PolicyStatementProps): void {
  grantPrincipal.addToPrincipalPolicy(new PolicyStatement(statement));
}

/** `ForAllValues` also passes when no value is present, but every read and write contains its key. */
export function rowConditions(sid: string, rows: readonly string[]): Record<string, Record<string, string[]>> {
  if (rows.length === 0) throw new Error(`${sid}: rows is empty; name at least one kind of partition key`);
  const partitions = rows.map((row) => (/[#_]$/.test(row) ? `${row}*` : row));
  return { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': partitions } };
}

export function text(name: string): Attribute {
  return { name, type: AttributeType.STRING };
}

export function number(name: string): Attribute {
  return { name, type: AttributeType.NUMBER };
}
