import { Aws, Duration, Stack, Validations } from 'aws-cdk-lib';
import { AccountRootPrincipal, PolicyStatement, Role } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { RegistryRow } from '../../lambdas/kernel/contract/rows.ts';
import type { RestoredTable } from '../restored-tables.ts';
import { type ArchiveBucket, grantVerify } from './archive-bucket.ts';
import type { DataTable } from './data-table.ts';
import type { Ledger } from './ledger.ts';

export interface AuditingRoleProps {
  readonly ledger: Ledger;
  /** @default the declared table is in use */
  readonly restored?: RestoredTable | undefined;
  /** @default the role reads no archive */
  readonly archive?: ArchiveBucket | undefined;
  /** @default the archive is encrypted with an S3-managed key */
  readonly archiveKeyArn?: string | undefined;
  /** `payonce verify --from … --to …` reads the activity logs of the tenants in this table. */
  readonly registry: DataTable;
}

/** Maximum session duration of the role. */
const SESSION = Duration.hours(1);

/**
 * Role of an auditor who verifies the Ledger and its archive (`payonce verify`). It may read everything in the Ledger,
 * its restored copies and the archive, but change nothing. A principal of the account can assume the role if the
 * principal's identity policy allows it. No function has this permission.
 */
export class AuditingRole extends Construct {
  readonly role: Role;

  constructor(scope: Construct, id: string, props: AuditingRoleProps, description = 'Reads: payonce verify.') {
    super(scope, id);
    const { ledger, restored, archive, archiveKeyArn, registry } = props;
    this.role = new Role(this, 'Role', {
      description,
      assumedBy: new AccountRootPrincipal(),
      maxSessionDuration: SESSION,
    });
    ledger.grantFindOutcomes(this.role);
    registry.grantRows(this.role, 'FindOwners', ['dynamodb:Query'], [RegistryRow.owners]);
    if (archive !== undefined && archiveKeyArn !== undefined)
      this.role.addToPolicy(
        new PolicyStatement({ sid: 'DecryptArchive', actions: ['kms:Decrypt'], resources: [archiveKeyArn] }),
      );
    const tables = `arn:${Aws.PARTITION}:dynamodb:${Aws.REGION}:${Aws.ACCOUNT_ID}:table/`;
    // The name of a copy is the name of the original table with a time appended.
    const first = restored?.name.replace(/-r\d{1,10}$/, '');
    const copies = `${first ?? ledger.table.tableName}-r*`;
    const actions = ['dynamodb:Query', 'dynamodb:Scan', 'dynamodb:DescribeTable'];
    const statements = [
      { sid: 'ReadLedger', actions, resources: [ledger.table.tableArn] },
      { sid: 'ReadCopies', actions, resources: [`${tables}${copies}`] },
      { sid: 'FindTables', actions: ['cloudformation:DescribeStacks'], resources: [Stack.of(this).stackId] },
    ];
    if (archive !== undefined) grantVerify(archive, this.role);
    for (const statement of statements) this.role.addToPolicy(new PolicyStatement(statement));
    const shown = first ?? `<${(Stack.of(this).resolve(ledger.table.tableName) as { readonly Ref: string }).Ref}>`;
    Validations.of(this.role).acknowledge(
      {
        id: `AwsSolutions::AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:dynamodb:<AWS::Region>:<AWS::AccountId>:table/${shown}-r*]`,
        reason: 'The name of a copy consists of the name of the Ledger and the time to which it was restored.',
      },
      {
        id: 'PCI.DSS.321::PCI.DSS.321-IAMNoInlinePolicy',
        reason: 'The policy names the table of this stack and belongs to no other role.',
      },
    );
  }
}

/**
 * Role of an operator who restores a row of the Ledger (`payonce tables restore-row`). It has all permissions of an
 * auditor, and the permissions that appends require.
 */
export class RowRestoreRole extends AuditingRole {
  constructor(scope: Construct, id: string, props: AuditingRoleProps) {
    super(scope, id, props, 'Restores rows of the Ledger: payonce tables restore-row.');
    props.ledger.grantAppend(this.role, ['payment', 'order', 'activity']);
  }
}
