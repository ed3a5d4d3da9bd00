import { Duration, Stack, Validations } from 'aws-cdk-lib';
import { Policy, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { EXPORT_WRITER_TIMEOUT_SECONDS, EXPORTS_FOLDER, ExportsEnvironment } from '../lambdas/exports/contract.ts';
import { Environment } from '../lambdas/kernel/contract/environment.ts';
import { RegistryRow, ViewsRow } from '../lambdas/kernel/contract/rows.ts';
import { PAYMENTS_TIMEOUT_SECONDS } from '../lambdas/kernel/contract/timing.ts';
import { allowRecursiveLoop } from './constructs/allow-recursive-loop.ts';
import type { HttpApi } from './constructs/http-api.ts';
import { type FunctionLogs, PayonceFunction } from './constructs/payonce-function.ts';
import type { DataStack } from './data-stack.ts';

export interface ExportsProps {
  readonly data: Pick<DataStack, 'exports' | 'ledger' | 'registry' | 'views'>;
  readonly http: HttpApi;
  readonly logs: FunctionLogs;
  /** Memory of the API function, in MB (128 to 10,240). */
  readonly memoryMb: number;
}

/** Memory of the writer, in MB: enough for the text of one part of the file and for its encoded bytes. */
const WRITER_MEMORY_MB = 512;

/**
 * Data exports: the API, and the function that writes the files. The writer continues its work by invoking itself. A
 * queue would cost money even without exports, because Lambda would poll it.
 */
export class Exports extends Construct {
  readonly writer: PayonceFunction;
  readonly #props: ExportsProps;

  constructor(scope: Construct, id: string, props: ExportsProps) {
    super(scope, id);
    this.#props = props;
    this.writer = this.#writer();
    const api = this.#api();
    props.http.route(['/v1/exports', '/v1/exports/{proxy+}'], api.function);
  }

  #api(): PayonceFunction {
    const { data, logs, memoryMb } = this.#props;
    const api = new PayonceFunction(this, 'Api', {
      ...logs,
      folder: 'exports',
      timeout: Duration.seconds(PAYMENTS_TIMEOUT_SECONDS),
      memoryMb,
      environment: {
        [Environment.ledgerTable]: data.ledger.table.tableName,
        [Environment.registryTable]: data.registry.tableName,
      },
    });
    api.setEnvironment({
      [ExportsEnvironment.bucket]: data.exports.bucket.bucketName,
      [ExportsEnvironment.writer]: this.writer.function.functionName,
    });
    data.registry.grantAuthenticate(api);
    data.registry.grantIdentifyOperators(api);
    data.registry.grantReadTenants(api);
    data.ledger.grantRecordActivity(api);
    const actions = ['dynamodb:GetItem', 'dynamodb:Query', 'dynamodb:PutItem'];
    data.registry.grantRows(api, 'RequestExports', actions, [RegistryRow.export, RegistryRow.openExports]);
    api.allow('StartWriter', 'lambda:InvokeFunction', this.writer.function.functionArn);
    // A link to a file has the permissions of the role that signed the link.
    data.exports.grantFiles(api, 'LinkFiles', ['s3:GetObject']);
    this.#acknowledge(api);
    return api;
  }

  #writer(): PayonceFunction {
    const { data, logs } = this.#props;
    const writer = new PayonceFunction(this, 'Writer', {
      ...logs,
      folder: 'export-writer',
      timeout: Duration.seconds(EXPORT_WRITER_TIMEOUT_SECONDS),
      memoryMb: WRITER_MEMORY_MB,
      environment: {
        [Environment.ledgerTable]: data.ledger.table.tableName,
        [Environment.registryTable]: data.registry.tableName,
        [Environment.viewsTable]: data.views.tableName,
      },
    });
    writer.setEnvironment({ [ExportsEnvironment.bucket]: data.exports.bucket.bucketName });
    const rows = [RegistryRow.export, RegistryRow.openExports];
    data.registry.grantRows(writer, 'WriteExports', ['dynamodb:GetItem', 'dynamodb:PutItem'], rows);
    data.registry.grantRows(writer, 'EndExports', ['dynamodb:DeleteItem'], [RegistryRow.openExports]);
    data.registry.grantReadDetails(writer);
    data.ledger.grantReadTransitions(writer);
    const { book, payment, dispute, event } = ViewsRow;
    data.views.grantRows(writer, 'ReadLists', ['dynamodb:Query'], [book, payment, dispute, event]);
    // Without permission to list, S3 returns 403 instead of 404 for a missing file.
    writer.allow('FindFiles', 's3:ListBucket', data.exports.bucket.bucketArn);
    data.exports.grantFiles(writer, 'WriteFiles', ['s3:AbortMultipartUpload', 's3:GetObject', 's3:PutObject']);
    this.#acknowledge(writer);
    this.#continues(writer);
    return writer;
  }

  /** Allows a jobs worker to start a writer for each open export that has none. */
  grantSweep(worker: PayonceFunction): void {
    const { registry } = this.#props.data;
    worker.setEnvironment({ [ExportsEnvironment.writer]: this.writer.function.functionName });
    registry.grantRows(worker, 'FindOpenExports', ['dynamodb:Query'], [RegistryRow.openExports]);
    registry.grantRows(worker, 'ReadOpenExports', ['dynamodb:GetItem'], [RegistryRow.export]);
    worker.allow('StartWriter', 'lambda:InvokeFunction', this.writer.function.functionArn);
  }

  /**
   * The permission is in a separate policy, because the function depends on the policy of its role. The number of
   * invocations is bounded, because an execution starts the next one only after it has advanced the saved position.
   */
  #continues({ function: writer, role }: PayonceFunction): void {
    const own = new Policy(this, 'Continue', { roles: [role] });
    own.addStatements(
      new PolicyStatement({ sid: 'Continue', actions: ['lambda:InvokeFunction'], resources: [writer.functionArn] }),
    );
    Validations.of(own).acknowledge({
      id: 'PCI.DSS.321::PCI.DSS.321-IAMNoInlinePolicy',
      reason: 'The permission is specific to one function, like the other permissions of its role.',
    });
    allowRecursiveLoop(writer);
  }

  #acknowledge(grantee: PayonceFunction): void {
    const { stackName: StackName } = Stack.of(this.#props.data.exports);
    const [Region, OutputName] = [{ Ref: 'AWS::Region' }, 'PublishOutputFnGetAttExportsBucket54D5CE64ArnD5FE3A8B'];
    const shown = JSON.stringify({ 'Fn::GetStackOutput': { StackName, Region, OutputName } });
    Validations.of(grantee).acknowledge({
      id: `AwsSolutions::AwsSolutions-IAM5[Resource::${shown}/${EXPORTS_FOLDER}*]`,
      reason: 'The names of exported files are only known at run time.',
    });
  }
}
