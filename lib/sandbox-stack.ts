import type { StackProps } from 'aws-cdk-lib';
import { CfnOutput, Duration, Stack } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import { StackOutput } from '../lambdas/contract/api.ts';
import { Environment } from '../lambdas/contract/environment.ts';
import { IdempotencyTable, KeyAttribute } from '../lambdas/contract/tables.ts';
import { SANDBOX_TIMEOUT_SECONDS } from '../lambdas/contract/timing.ts';
import { DataTable } from './constructs/data-table.ts';
import { HttpApi } from './constructs/http-api.ts';
import { PayonceFunction } from './constructs/payonce-function.ts';
import type { Settings } from './settings.ts';

export interface SandboxStackProps extends StackProps {
  readonly settings: Settings;
}

/** A payment processor to try everything with: a function with books of its own behind an API of its own. */
export class SandboxStack extends Stack {
  /** Base address, without a trailing slash. */
  readonly url: string;

  constructor(scope: Construct, id: string, props: SandboxStackProps) {
    super(scope, id, props);
    const { settings } = props;
    const books = new DataTable(this, 'Books', {
      partitionKey: KeyAttribute.partition,
      sortKey: KeyAttribute.sort,
      timeToLiveAttribute: IdempotencyTable.timeToLiveAttribute,
      // Play money: nothing to keep.
      retain: false,
    });
    const processor = new PayonceFunction(this, 'Processor', {
      folder: 'sandbox-processor',
      timeout: Duration.seconds(SANDBOX_TIMEOUT_SECONDS),
      memoryMb: 256,
      logRetentionDays: settings.logRetentionDays,
      retainLogs: false,
      environment: { [Environment.sandboxTable]: books.tableName },
    });
    processor.role.addToPrincipalPolicy(
      new PolicyStatement({
        sid: 'OwnBooks',
        actions: [
          'dynamodb:GetItem',
          'dynamodb:BatchGetItem',
          'dynamodb:Query',
          'dynamodb:PutItem',
          'dynamodb:UpdateItem',
          'dynamodb:ConditionCheckItem',
        ],
        resources: [books.tableArn],
      }),
    );
    const http = new HttpApi(this, 'Http', {
      description: 'Sandbox payment processor',
      settings: { ...settings, retainData: false },
      fallback: processor.function,
    });
    this.url = http.url;
    new CfnOutput(this, StackOutput.sandboxUrl, { value: this.url });
  }
}
