import { describe, expect, test } from '@jest/globals';
import { Duration, Stack } from 'aws-cdk-lib';
import { Match, Template } from 'aws-cdk-lib/assertions';
import {
  JOB_LEASE_SECONDS,
  JOB_MESSAGE_HIDDEN_SECONDS,
  JOB_WORKER_TIMEOUT_SECONDS,
} from '../../lambdas/jobs/contract/runs.ts';
import { JobWorker } from '../../lib/constructs/job-worker.ts';
import { PayonceFunction } from '../../lib/constructs/payonce-function.ts';
import { statementsByOwner } from './templates.ts';
import { testApp } from './test-app.ts';

const stack = new Stack(testApp(), 'Jobs');
const worker = new PayonceFunction(stack, 'Worker', {
  folder: 'payment-jobs',
  timeout: Duration.seconds(JOB_WORKER_TIMEOUT_SECONDS),
  memoryMb: 256,
  logRetentionDays: 90,
  retainLogs: false,
  environment: {},
});
const { queue } = new JobWorker(stack, 'PaymentJobs', { worker });
const template = Template.fromStack(stack);

describe('a job worker', () => {
  test('receives one message per invocation, in at most ten concurrent invocations', () => {
    template.allResourcesProperties('AWS::Lambda::EventSourceMapping', {
      BatchSize: 1,
      FunctionResponseTypes: ['ReportBatchItemFailures'],
      ScalingConfig: { MaximumConcurrency: 10 },
    });
  });

  test('may send messages to itself repeatedly, because Lambda’s loop detection is disabled for it', () => {
    template.hasResourceProperties('AWS::Lambda::Function', {
      RecursiveLoop: 'Allow',
      Role: { 'Fn::GetAtt': [Match.stringLikeRegexp('^WorkerRole'), 'Arn'] },
    });
  });

  test('has a visibility timeout longer than its function’s timeout and shorter than the lease of a job', () => {
    template.hasResourceProperties('AWS::SQS::Queue', {
      RedrivePolicy: { deadLetterTargetArn: Match.anyValue(), maxReceiveCount: 216 },
      VisibilityTimeout: 100,
    });
    expect(JOB_WORKER_TIMEOUT_SECONDS).toBeLessThan(JOB_MESSAGE_HIDDEN_SECONDS);
    expect(JOB_MESSAGE_HIDDEN_SECONDS).toBeLessThan(JOB_LEASE_SECONDS);
  });

  test('may send only to its own queue and its dead-letter queue', () => {
    const sends = (statementsByOwner(template).get('Worker') ?? []).filter(
      ({ Action }) => Action === 'sqs:SendMessage',
    );
    expect(sends).toEqual([
      {
        Sid: 'NextPages',
        Effect: 'Allow',
        Action: 'sqs:SendMessage',
        Resource: [
          stack.resolve(queue.queueArn),
          { 'Fn::GetAtt': [expect.stringContaining('PaymentJobsTasksDeadLetters'), 'Arn'] },
        ],
      },
    ]);
  });

  test('has a dead-letter queue that keeps messages for two weeks and has an alarm, and its function gets the URL of that queue', () => {
    template.hasResourceProperties('AWS::SQS::Queue', { MessageRetentionPeriod: 1_209_600 });
    template.hasResourceProperties('AWS::Lambda::Function', {
      Environment: {
        Variables: Match.objectLike({ PARKING_QUEUE_URL: { Ref: Match.stringLikeRegexp('TasksDeadLetters') } }),
      },
    });
    template.resourceCountIs('AWS::CloudWatch::Alarm', 1);
    template.allResourcesProperties('AWS::CloudWatch::Alarm', {
      AlarmDescription: Match.stringLikeRegexp('docs/operate/runbook/jobs.md#job-messages-wait'),
    });
  });
});
