import type { StackProps } from 'aws-cdk-lib';
import { CfnOutput, Duration, Stack, Validations } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources';
import type { Construct } from 'constructs';
import { callbackAddressParameter, StackOutput } from '../lambdas/kernel/contract/api.ts';
import { SandboxEnvironment } from '../lambdas/kernel/contract/environment.ts';
import { IdempotencyTable, KeyAttribute } from '../lambdas/kernel/contract/tables.ts';
import { SANDBOX_TIMEOUT_SECONDS } from '../lambdas/kernel/contract/timing.ts';
import { allowRecursiveLoop } from './constructs/allow-recursive-loop.ts';
import { DataTable } from './constructs/data-table.ts';
import { HttpApi } from './constructs/http-api.ts';
import { PayonceFunction } from './constructs/payonce-function.ts';
import type { ProcessorSecret } from './constructs/processor-secret.ts';
import { TaskQueue } from './constructs/task-queue.ts';
import type { Settings } from './settings.ts';

/** Number of tasks per batch. A slow callback delays at most the other tasks of its batch. */
const TASKS_AT_ONCE = 5;
/**
 * Maximum number of concurrent executions for tasks. The rest of the account's concurrency remains for the sandbox API.
 */
const WORKERS = 20;

export interface SandboxStackProps extends StackProps {
  readonly settings: Settings;
  readonly data: {
    /** The secret that signs the sandbox's callbacks. */
    readonly callbackSecret: ProcessorSecret;
    /**
     * The secret that every caller except the payer must send.
     * @default no secret, for the demonstration
     */
    readonly accessSecret?: ProcessorSecret;
  };
  /**
   * The SSM parameter that contains the address for callbacks. A parameter is used because the service already refers
   * to the sandbox's address, and two stacks that refer to each other cannot be deployed.
   * @default the parameter of the service
   */
  readonly callbackAddressParameter?: string;
}

/** The sandbox processor: a function with its own table and its own API. */
export class SandboxStack extends Stack {
  /** Base address, without a trailing slash. */
  readonly url: string;

  constructor(scope: Construct, id: string, props: SandboxStackProps) {
    super(scope, id, props);
    const { settings, data } = props;
    const addressParameter = props.callbackAddressParameter ?? callbackAddressParameter(settings.environment);
    const tasks = new TaskQueue(this, 'Tasks', { handlerTimeout: Duration.seconds(SANDBOX_TIMEOUT_SECONDS) });
    const books = new DataTable(this, 'Books', {
      partitionKey: KeyAttribute.partition,
      sortKey: KeyAttribute.sort,
      timeToLiveAttribute: IdempotencyTable.timeToLiveAttribute,
      // Test data is not worth retaining.
      retain: false,
    });
    const processor = new PayonceFunction(this, 'Processor', {
      folder: 'sandbox-processor',
      timeout: Duration.seconds(SANDBOX_TIMEOUT_SECONDS),
      memoryMb: 256,
      logRetentionDays: settings.logRetentionDays,
      retainLogs: false,
      environment: {
        [SandboxEnvironment.sandboxTable]: books.tableName,
        [SandboxEnvironment.sandboxTasksQueueUrl]: tasks.queue.queueUrl,
        [SandboxEnvironment.sandboxSecretId]: data.callbackSecret.arn,
        [SandboxEnvironment.callbackAddressParameter]: addressParameter,
        ...(data.accessSecret === undefined
          ? {}
          : { [SandboxEnvironment.sandboxAccessSecretId]: data.accessSecret.arn }),
      },
    });
    enqueueForItself(processor, tasks);
    data.callbackSecret.grantReadTo(processor.role);
    data.accessSecret?.grantReadTo(processor.role);
    processor.role.addToPrincipalPolicy(
      new PolicyStatement({
        sid: 'CallbackAddress',
        actions: ['ssm:GetParameter'],
        resources: [this.formatArn({ service: 'ssm', resource: 'parameter', resourceName: addressParameter.slice(1) })],
      }),
    );
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
      isDocumented: false,
      settings: { ...settings, retainData: false },
      fallback: processor.function,
    });
    this.url = http.url;
    new CfnOutput(this, StackOutput.sandboxUrl, { value: this.url });
    if (data.accessSecret !== undefined) {
      new CfnOutput(this, StackOutput.sandboxSecret, { value: data.accessSecret.arn });
    }
    new CfnOutput(this, StackOutput.sandboxFunction, { value: processor.function.functionName });
  }
}

function enqueueForItself(processor: PayonceFunction, tasks: TaskQueue): void {
  processor.function.addEventSource(
    new SqsEventSource(tasks.queue, {
      batchSize: TASKS_AT_ONCE,
      reportBatchItemFailures: true,
      maxConcurrency: WORKERS,
    }),
  );
  // The message loop is bounded: a charge changes only a few times, and a callback is attempted only a few times.
  allowRecursiveLoop(processor.function);
  Validations.of(processor.function).acknowledge({
    id: 'Serverless::Serverless-LambdaEventSourceMappingDestination',
    reason:
      "A queue's event source mapping needs no failure destination: SQS moves the messages to the dead-letter queue.",
  });
  processor.role.addToPrincipalPolicy(
    new PolicyStatement({ sid: 'LaterTasks', actions: ['sqs:SendMessage'], resources: [tasks.queue.queueArn] }),
  );
}
