import { Duration, Validations } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { JOB_MESSAGE_HIDDEN_SECONDS, JOB_WORKER_TIMEOUT_SECONDS } from '../../lambdas/jobs/contract/runs.ts';
import { Environment } from '../../lambdas/kernel/contract/environment.ts';
import { allowRecursiveLoop } from './allow-recursive-loop.ts';
import type { PayonceFunction } from './payonce-function.ts';
import { RunbookAlarm } from './runbook-alarm.ts';
import { TaskQueue } from './task-queue.ts';

export interface JobWorkerProps {
  /** Worker function, created with `createJobQueueHandler`. Its timeout is `JOB_WORKER_TIMEOUT_SECONDS`. */
  readonly worker: Pick<PayonceFunction, 'function' | 'role'>;
  /**
   * Maximum number of job pages that are processed concurrently, each of a different job; 2 to 1000.
   * @default 10
   */
  readonly concurrency?: number;
}

/** Each job of a worker can have one page in progress. A message whose delivery is delayed uses no execution time. */
const DEFAULT_CONCURRENCY = 10;
const EVERY_MINUTE = { period: Duration.minutes(1), statistic: 'Maximum' };

/**
 * Delivers the messages of runs to a function, one message per execution, and allows the function to send itself the
 * message for the next page.
 */
export class JobWorker extends Construct {
  readonly queue: Queue;

  constructor(scope: Construct, id: string, props: JobWorkerProps) {
    super(scope, id);
    const { worker, concurrency = DEFAULT_CONCURRENCY } = props;
    const { queue, deadLetters } = new TaskQueue(this, 'Tasks', {
      handlerTimeout: Duration.seconds(JOB_WORKER_TIMEOUT_SECONDS),
      hiddenFor: Duration.seconds(JOB_MESSAGE_HIDDEN_SECONDS),
    });
    this.queue = queue;
    worker.function.addEventSource(
      new SqsEventSource(queue, { batchSize: 1, reportBatchItemFailures: true, maxConcurrency: concurrency }),
    );
    // The chain of messages is bounded: a run ends when all items are processed, or at its maximum duration.
    allowRecursiveLoop(worker.function);
    Validations.of(worker.function).acknowledge({
      id: 'Serverless::Serverless-LambdaEventSourceMappingDestination',
      reason:
        "A queue's event source mapping needs no failure destination: SQS moves the messages to the dead-letter queue.",
    });
    // The function itself moves messages that it cannot read to the dead-letter queue, with the reason.
    worker.function.addEnvironment(Environment.parkingQueueUrl, deadLetters.queueUrl);
    worker.role.addToPrincipalPolicy(
      new PolicyStatement({
        sid: 'NextPages',
        actions: ['sqs:SendMessage'],
        resources: [queue.queueArn, deadLetters.queueArn],
      }),
    );
    new RunbookAlarm(this, 'DeadLettersWait', {
      description: `The dead-letter queue of ${id} contains runs.`,
      entry: 'jobs.md#job-messages-wait',
      metric: deadLetters.metricApproximateNumberOfMessagesVisible({ ...EVERY_MINUTE }),
      threshold: 1,
    });
  }
}
