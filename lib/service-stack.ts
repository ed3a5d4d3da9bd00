import type { StackProps } from 'aws-cdk-lib';
import { CfnOutput, Duration, Stack } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import { StackOutput } from '../lambdas/contract/api.ts';
import { Environment } from '../lambdas/contract/environment.ts';
import { PAYMENTS_TIMEOUT_SECONDS } from '../lambdas/contract/timing.ts';
import type { DataTable } from './constructs/data-table.ts';
import { HttpApi } from './constructs/http-api.ts';
import { PayonceFunction } from './constructs/payonce-function.ts';
import { RequestFirewall } from './constructs/request-firewall.ts';
import type { DataStack } from './data-stack.ts';
import type { Settings } from './settings.ts';

export interface ServiceStackProps extends StackProps {
  readonly settings: Settings;
  readonly data: DataStack;
  /** Base address of the payment processor, without a trailing slash. */
  readonly processorUrl: string;
}

/** Everything that a deploy may replace: the API and its functions. */
export class ServiceStack extends Stack {
  constructor(scope: Construct, id: string, props: ServiceStackProps) {
    super(scope, id, props);
    const { settings } = props;
    const payments = this.#paymentsFunction(props);
    const documents = new PayonceFunction(this, 'ApiDocuments', {
      folder: 'api-documents',
      timeout: Duration.seconds(5),
      memoryMb: 256,
      logRetentionDays: settings.logRetentionDays,
      retainLogs: settings.retainData,
      environment: {},
    });
    const http = new HttpApi(this, 'Http', {
      description: 'Payonce payments',
      settings,
      fallback: payments.function,
    });
    for (const path of ['/docs', '/docs/{asset}', '/v1/openapi.json']) http.route(path, documents.function);
    if (settings.firewall) new RequestFirewall(this, 'Firewall', { stage: http.api.deploymentStage, settings });

    new CfnOutput(this, StackOutput.apiUrl, { value: http.url });
    new CfnOutput(this, StackOutput.paymentsFunction, { value: payments.function.functionName });
  }

  /** What it may do, and nothing else: claim, append, complete, read. */
  #paymentsFunction({ settings, data, processorUrl }: ServiceStackProps): PayonceFunction {
    const payments = new PayonceFunction(this, 'Payments', {
      folder: 'payments',
      timeout: Duration.seconds(PAYMENTS_TIMEOUT_SECONDS),
      memoryMb: settings.memoryMb,
      ...(settings.reservedConcurrency === undefined ? {} : { reservedConcurrency: settings.reservedConcurrency }),
      logRetentionDays: settings.logRetentionDays,
      retainLogs: settings.retainData,
      environment: {
        [Environment.idempotencyTable]: data.idempotency.tableName,
        [Environment.ledgerTable]: data.ledger.table.tableName,
        [Environment.registryTable]: data.registry.tableName,
        [Environment.processorUrl]: processorUrl,
      },
    });
    payments.role.addToPrincipalPolicy(
      new PolicyStatement({
        sid: 'Claims',
        actions: ['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem'],
        resources: [data.idempotency.tableArn],
      }),
    );
    allowRows(payments, data.registry, 'ReadApiKeys', 'dynamodb:GetItem', 'KEY#*');
    allowRows(payments, data.registry, 'WriteReferences', 'dynamodb:PutItem', 'REF#*');
    data.ledger.grantAppend(payments.role);
    data.ledger.grantRead(payments.role);
    return payments;
  }
}

/**
 * One action on the rows of one kind: a function that takes payments can make no API key, whatever it is made to do.
 * Every read and write of one row carries its key, so that `ForAllValues` never holds for want of a value.
 */
function allowRows(grantee: PayonceFunction, table: DataTable, sid: string, action: string, partitions: string): void {
  grantee.role.addToPrincipalPolicy(
    new PolicyStatement({
      sid,
      actions: [action],
      resources: [table.tableArn],
      conditions: { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': [partitions] } },
    }),
  );
}
