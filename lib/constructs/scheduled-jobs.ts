import { Duration, Stack, TimeZone, Validations } from 'aws-cdk-lib';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { Function } from 'aws-cdk-lib/aws-lambda';
import { SqsDestination } from 'aws-cdk-lib/aws-lambda-destinations';
import { Schedule, ScheduleExpression, ScheduleTargetInput } from 'aws-cdk-lib/aws-scheduler';
import { LambdaInvoke } from 'aws-cdk-lib/aws-scheduler-targets';
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { type JobFiring, SCHEDULED_TIME_ATTRIBUTE } from '../../lambdas/jobs/contract.ts';
import type { JobEntry } from '../../lambdas/kernel/contract/jobs.ts';
import { checkJobs } from '../job-registry.ts';
import { RunbookAlarm } from './runbook-alarm.ts';

export interface ScheduledJobsProps {
  /** Each gets a schedule of its own. */
  readonly jobs: readonly JobEntry[];
  /** Asks for the run that a schedule has fired for. */
  readonly executor: Function;
}

/** A firing that is later than this has been overtaken: each run sweeps whatever is due. */
const LATEST = Duration.hours(1);
/** The least that the Scheduler takes (EventBridge Scheduler API reference, "RetryPolicy"). */
const SOONEST_GIVEN_UP = Duration.minutes(1);
/** With the Scheduler's growing waits, more than fit into an hour: a firing is given up by its age. */
const DELIVERY_ATTEMPTS = 20;
/** Lambda's most, a minute and two minutes later (AWS Lambda developer guide, "Asynchronous invocation"). */
const CALL_RETRIES = 2;
/** The maximum of SQS, so that an operator has time to look at the message. */
const KEPT = Duration.days(14);

/**
 * A schedule for each job. The Scheduler hands a firing over to Lambda and knows no more of it (AWS Lambda developer guide,
 * "Invoke a Lambda function on a schedule": asynchronously); so it tries again to hand over, and Lambda tries a failed call
 * again. What fails in both ends in one queue, which has an alarm.
 */
export class ScheduledJobs extends Construct {
  /** Firings that started nothing. */
  readonly missed: Queue;

  /** @throws Error when an entry is invalid, with all faults */
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
      description: 'Schedules fired and no run was accepted.',
      entry: 'jobs-missed',
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
    // Nobody else's schedules, should the Scheduler be made to use it (its user guide, "Confused deputy prevention").
    const ours = { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } };
    const assumedBy = new ServicePrincipal('scheduler.amazonaws.com', { conditions: ours });
    const role = new Role(this, 'Role', { assumedBy });
    Validations.of(role).acknowledge(
      {
        id: `AwsSolutions::AwsSolutions-IAM5[Resource::<${executor.stack.getLogicalId(executor.node.defaultChild as never)}.Arn>:*]`,
        reason: 'The versions and aliases of the one function that the schedules run; there are none.',
      },
      {
        id: 'PCI.DSS.321::PCI.DSS.321-IAMNoInlinePolicy',
        reason:
          'A role of the schedules has a policy of its own: a managed one could be attached elsewhere or changed alone.',
      },
    );
    return role;
  }

  #missed(): Queue {
    const missed = new Queue(this, 'Missed', {
      encryption: QueueEncryption.SQS_MANAGED,
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

/** Until the next one is due, which does the same; an hour at most. */
function usefulFor({ every }: JobEntry): Duration {
  return Duration.seconds(Math.min(LATEST.toSeconds(), Math.max(SOONEST_GIVEN_UP.toSeconds(), every)));
}
