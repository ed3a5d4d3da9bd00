import { Duration, TimeZone, Validations } from 'aws-cdk-lib';
import type { Role } from 'aws-cdk-lib/aws-iam';
import type { Function } from 'aws-cdk-lib/aws-lambda';
import { SqsDestination } from 'aws-cdk-lib/aws-lambda-destinations';
import { Schedule, ScheduleExpression, ScheduleTargetInput } from 'aws-cdk-lib/aws-scheduler';
import { LambdaInvoke } from 'aws-cdk-lib/aws-scheduler-targets';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { JobEntry } from '../../lambdas/jobs/contract/jobs.ts';
import { type JobFiring, SCHEDULED_TIME_ATTRIBUTE } from '../../lambdas/jobs/contract/runs.ts';
import { checkJobs } from '../job-registry.ts';
import { queueEncryption } from './data-key.ts';
import { RunbookAlarm } from './runbook-alarm.ts';
import { schedulerRole } from './scheduler-role.ts';

export interface ScheduledJobsProps {
  readonly jobs: readonly JobEntry[];
  /** The function that a schedule invokes to request a run. */
  readonly executor: Function;
}

/** Maximum age of an invocation. An older invocation is obsolete, because each run processes everything that is due. */
const LATEST = Duration.hours(1);
/** Shortest maximum event age that the Scheduler accepts (EventBridge Scheduler API reference, "RetryPolicy"). */
const SOONEST_GIVEN_UP = Duration.minutes(1);
/**
 * Maximum number of delivery retries. The Scheduler waits longer before each retry, so fewer than this number fit into
 * an hour. In practice, the age of the invocation ends the retries.
 */
const DELIVERY_ATTEMPTS = 20;
/**
 * Number of retries of a failed execution: Lambda's maximum, after one and two minutes (AWS Lambda developer guide,
 * "Asynchronous invocation").
 */
const CALL_RETRIES = 2;
/** Retention of missed invocations: the SQS maximum, so that an operator has time to inspect them. */
const KEPT = Duration.days(14);

/**
 * The Scheduler invokes Lambda asynchronously and does not receive the result (AWS Lambda developer guide, "Invoke a
 * Lambda function on a schedule"). The Scheduler retries the invocation, and Lambda retries a failed execution. If all
 * retries fail, the invocation is sent to a queue that has an alarm.
 */
export class ScheduledJobs extends Construct {
  /** Queue of scheduled invocations that failed to request a run. */
  readonly missed: Queue;

  /** @throws Error that lists all faults, when an entry is invalid */
  constructor(scope: Construct, id: string, { jobs, executor }: ScheduledJobsProps) {
    super(scope, id);
    checkJobs(jobs);
    this.missed = this.#missed();
    executor.configureAsyncInvoke({
      retryAttempts: CALL_RETRIES,
      maxEventAge: LATEST,
      onFailure: new SqsDestination(this.missed),
    });
    const role = this.#role(executor);
    for (const job of jobs) this.#schedule(job, executor, role);
    new RunbookAlarm(this, 'JobsMissed', {
      description: 'Schedules fired, but no run was accepted.',
      entry: 'jobs.md#jobs-missed',
      metric: this.missed.metricApproximateNumberOfMessagesVisible({
        period: Duration.minutes(1),
        statistic: 'Maximum',
      }),
      threshold: 1,
    });
  }

  #schedule(job: JobEntry, executor: Function, role: Role): void {
    const firing: JobFiring = { job: job.id, scheduledTime: SCHEDULED_TIME_ATTRIBUTE };
    new Schedule(this, job.id, {
      description: job.why,
      schedule: ScheduleExpression.expression(job.schedule, TimeZone.of(job.timeZone ?? 'UTC')),
      target: new LambdaInvoke(executor, {
        role,
        input: ScheduleTargetInput.fromObject(firing),
        retryAttempts: DELIVERY_ATTEMPTS,
        maxEventAge: usefulFor(job),
        deadLetterQueue: this.missed,
      }),
    });
  }

  #role(executor: Function): Role {
    const role = schedulerRole(this);
    Validations.of(role).acknowledge({
      id: `AwsSolutions::AwsSolutions-IAM5[Resource::<${executor.stack.getLogicalId(executor.node.defaultChild as never)}.Arn>:*]`,
      reason: 'The wildcard covers versions and aliases of the executor, which has none.',
    });
    return role;
  }

  #missed(): Queue {
    const missed = new Queue(this, 'Missed', {
      ...queueEncryption(this),
      enforceSSL: true,
      retentionPeriod: KEPT,
    });
    const reason = 'This is the dead-letter queue.';
    Validations.of(missed).acknowledge(
      { id: 'AwsSolutions::AwsSolutions-SQS3', reason },
      { id: 'Serverless::Serverless-SQSRedrivePolicy', reason },
    );
    return missed;
  }
}

/**
 * An invocation is useful until the next one, which does the same work, but at most for an hour. The Scheduler accepts
 * no less than a minute.
 */
function usefulFor({ every }: JobEntry): Duration {
  return Duration.seconds(Math.min(LATEST.toSeconds(), Math.max(SOONEST_GIVEN_UP.toSeconds(), every)));
}
