import { Duration, TimeZone, Validations } from 'aws-cdk-lib';
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources';
import { Schedule, ScheduleExpression, ScheduleTargetInput } from 'aws-cdk-lib/aws-scheduler';
import { SqsSendMessage } from 'aws-cdk-lib/aws-scheduler-targets';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import {
  type CalledTarget,
  JOB_TARGETS_TIMEOUT_SECONDS,
  type JobTargets,
  TargetEnvironment,
  windowOf,
} from '../../lambdas/jobs/contract/job-targets.ts';
import { SCHEDULED_TIME_ATTRIBUTE } from '../../lambdas/jobs/contract/runs.ts';
import { Environment } from '../../lambdas/kernel/contract/environment.ts';
import { RegistryRow } from '../../lambdas/kernel/contract/rows.ts';
import type { DataStack } from '../data-stack.ts';
import { allowRecursiveLoop } from './allow-recursive-loop.ts';
import { type FunctionLogs, PayonceFunction } from './payonce-function.ts';
import { schedulerRole } from './scheduler-role.ts';
import { TaskQueue } from './task-queue.ts';

export interface TargetJobsProps {
  readonly targets: JobTargets;
  readonly data: Pick<DataStack, 'idempotency' | 'jobTargetCredentials' | 'registry'>;
  readonly logs: FunctionLogs;
  /** The queue of runs that their targets did not accept. A message in this queue raises an alarm. */
  readonly missed: Queue;
  /** Whether targets may have loopback addresses, over plain HTTP. */
  readonly allowLoopback: boolean;
}

/** Maximum number of concurrent calls. A call ends within seconds, and jobs rarely start at the same time. */
const CALLS_AT_ONCE = 10;

/**
 * A schedule enqueues a call. A function makes the call and retries it until the target accepts the run or the run's
 * window ends.
 */
export class TargetJobs extends Construct {
  constructor(scope: Construct, id: string, props: TargetJobsProps) {
    super(scope, id);
    const { targets, data, missed } = props;
    const timeout = Duration.seconds(JOB_TARGETS_TIMEOUT_SECONDS);
    const { queue } = new TaskQueue(this, 'Calls', { handlerTimeout: timeout, deadLetters: missed });
    const caller = new PayonceFunction(this, 'Caller', {
      ...props.logs,
      folder: 'job-targets',
      timeout,
      memoryMb: 256,
      environment: {
        [Environment.idempotencyTable]: data.idempotency.tableName,
        [Environment.registryTable]: data.registry.tableName,
        [Environment.webhookLoopback]: String(props.allowLoopback),
      },
    });
    caller.setEnvironment({
      [TargetEnvironment.targets]: JSON.stringify(this.#called(props)),
      [TargetEnvironment.queueUrl]: queue.queueUrl,
      [TargetEnvironment.missedQueueUrl]: missed.queueUrl,
    });
    data.idempotency.grantCommit(caller, ['askedRun']);
    data.registry.grantRows(caller, 'NoteRuns', ['dynamodb:PutItem'], [RegistryRow.jobRuns]);
    for (const name of Object.keys(targets)) data.jobTargetCredentials[name]?.grantReadTo(caller);
    caller.allow('CallAgainOrGiveUp', 'sqs:SendMessage', queue.queueArn, missed.queueArn);
    caller.function.addEventSource(
      new SqsEventSource(queue, { batchSize: 1, reportBatchItemFailures: true, maxConcurrency: CALLS_AT_ONCE }),
    );
    // The chain of messages is bounded: a call is retried only until the window of its run ends.
    allowRecursiveLoop(caller.function);
    Validations.of(caller.function).acknowledge({
      id: 'Serverless::Serverless-LambdaEventSourceMappingDestination',
      reason:
        "A queue's event source mapping needs no failure destination: SQS moves the messages to the dead-letter queue.",
    });
    const role = schedulerRole(this);
    for (const [target, { jobs }] of Object.entries(targets)) {
      for (const { id: job, why, schedule, timeZone = 'UTC' } of jobs) {
        new Schedule(this, job, {
          description: why,
          schedule: ScheduleExpression.expression(schedule, TimeZone.of(timeZone)),
          target: new SqsSendMessage(queue, {
            role,
            input: ScheduleTargetInput.fromObject({ target, job, scheduledTime: SCHEDULED_TIME_ATTRIBUTE }),
            deadLetterQueue: missed,
          }),
        });
      }
    }
  }

  #called({ targets, data }: TargetJobsProps): Readonly<Record<string, CalledTarget>> {
    const called = Object.entries(targets).map(([name, { url, jobs }]): [string, CalledTarget] => [
      name,
      {
        url,
        secretId: data.jobTargetCredentials[name]?.arn ?? '',
        jobs: Object.fromEntries(
          jobs.map((job) => [job.id, { path: job.path, scopes: job.scopes, windowSeconds: windowOf(job) }]),
        ),
      },
    ]);
    return Object.fromEntries(called);
  }
}
