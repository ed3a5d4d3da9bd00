import { describe, expect, test } from '@jest/globals';
import { Match } from 'aws-cdk-lib/assertions';
import { synthesize } from '../support/synth.ts';
import { present } from './templates.ts';

const stacks = await synthesize();
const service = present(stacks.service);
const sandbox = present(stacks.sandbox);

describe('the sandbox', () => {
  test('receives the charges if it is deployed', async () => {
    expect(JSON.stringify(service.findResources('AWS::Lambda::Function'))).toContain('PayonceSandbox');
    const without = await synthesize({
      'payonce:sandbox': 'false',
      'payonce:processorUrl': 'https://processor.example',
    });
    expect(without.sandbox).toBeUndefined();
    present(without.service).hasResourceProperties('AWS::Lambda::Function', {
      Environment: { Variables: Match.objectLike({ PROCESSOR_URL: 'https://processor.example' }) },
    });
  });

  test('is not deployed when the setting disables it, and an output reports that no processor is configured', async () => {
    const none = await synthesize({ 'payonce:sandbox': 'false' });
    expect(none.sandbox).toBeUndefined();
    const text = 'NONE: payments get 503 no_processor_configured.';
    present(none.service).hasOutput('CalledProcessors', { Value: Match.stringLikeRegexp(`^${text}`) });
    service.hasOutput('CalledProcessors', { Value: 'sandbox (test)' });
  });

  test('may read the callback address, and signs with the secret that the service uses for verification', () => {
    sandbox.hasResourceProperties('AWS::Lambda::Function', {
      Environment: {
        Variables: Match.objectLike({
          CALLBACK_ADDRESS_PARAMETER: '/payonce/sandbox/callback-address',
          SANDBOX_SECRET_ID: {
            'Fn::GetStackOutput': Match.objectLike({ OutputName: Match.stringLikeRegexp('CallbackSecret') }),
          },
        }),
      },
    });
    sandbox.hasResourceProperties('AWS::IAM::Policy', {
      PolicyDocument: Match.objectLike({
        Statement: Match.arrayWith([
          Match.objectLike({
            Action: 'ssm:GetParameter',
            Resource: {
              'Fn::Join': [
                '',
                Match.arrayWith([Match.stringLikeRegexp('parameter/payonce/sandbox/callback-address$')]),
              ],
            },
          }),
        ]),
      }),
    });
  });
});

describe('the queue of the sandbox’s delayed actions', () => {
  const deadLetters = { 'Fn::GetAtt': [Match.stringLikeRegexp('^TasksDeadLetters'), 'Arn'] };

  test('dead-letters a message after 125 receives, and keeps it for two weeks', () => {
    sandbox.resourceCountIs('AWS::SQS::Queue', 2);
    sandbox.hasResourceProperties('AWS::SQS::Queue', {
      RedrivePolicy: { deadLetterTargetArn: deadLetters, maxReceiveCount: 125 },
    });
    sandbox.hasResourceProperties('AWS::SQS::Queue', {
      RedrivePolicy: Match.absent(),
      MessageRetentionPeriod: 14 * 24 * 60 * 60,
    });
  });

  test('has a visibility timeout of six times its function’s timeout', () => {
    sandbox.hasResourceProperties('AWS::SQS::Queue', { VisibilityTimeout: 6 * 29 });
    sandbox.hasResourceProperties('AWS::Lambda::Function', { Timeout: 29 });
  });

  test('is encrypted and requires TLS, like its dead-letter queue', () => {
    sandbox.allResourcesProperties('AWS::SQS::Queue', { SqsManagedSseEnabled: true });
    sandbox.resourceCountIs('AWS::SQS::QueuePolicy', 2);
    sandbox.allResourcesProperties('AWS::SQS::QueuePolicy', {
      PolicyDocument: Match.objectLike({
        Statement: [
          Match.objectLike({
            Effect: 'Deny',
            Action: 'sqs:*',
            Principal: { AWS: '*' },
            Condition: { Bool: { 'aws:SecureTransport': 'false' } },
          }),
        ],
      }),
    });
  });

  test('redelivers only the failed messages of a batch', () => {
    sandbox.hasResourceProperties('AWS::Lambda::EventSourceMapping', {
      BatchSize: 5,
      FunctionResponseTypes: ['ReportBatchItemFailures'],
      EventSourceArn: { 'Fn::GetAtt': [Match.stringLikeRegexp('^TasksQueue'), 'Arn'] },
    });
  });
});
