/** Tests the guarantee "least privilege". */
import { describe, expect, test } from '@jest/globals';
import { CfnResource, Stack, Validations } from 'aws-cdk-lib';
import { findViolations, PayonceRules } from '../../lib/policies/payonce-rules.ts';
import { testApp } from './test-app.ts';

type Resource = Parameters<typeof findViolations>[0]['Resources'][string];

const rulesBrokenBy = (resource: Resource) =>
  findViolations({ Resources: { Planted: resource } }).map(({ rule }) => rule.name);

const policy = (statement: Record<string, unknown>): Resource => ({
  Type: 'AWS::IAM::Policy',
  Properties: { PolicyDocument: { Statement: [{ Effect: 'Allow', ...statement }] } },
});
const LEDGER = {
  'Fn::GetStackOutput': { StackName: 'PayonceData', OutputName: 'PublishOutputFnGetAttLedgerTableArn' },
};
const WITH_LOG = { LoggingConfig: { LogGroup: { Ref: 'Log' } } };
const IN_TRANSACTION = {
  'ForAnyValue:StringEquals': { 'dynamodb:EnclosingOperation': ['TransactWriteItems'] },
};

describe('Payonce’s own cdk-nag rules', () => {
  test.each<[string, Resource, string[]]>([
    [
      'a policy that updates Ledger rows',
      policy({ Action: 'dynamodb:UpdateItem', Resource: LEDGER }),
      ['LedgerIsAppendOnly'],
    ],
    [
      'a policy that allows deletion from any resource',
      policy({ Action: ['dynamodb:DeleteItem'], Resource: '*' }),
      ['LedgerIsAppendOnly'],
    ],
    ['a put outside a transaction', policy({ Action: 'dynamodb:PutItem', Resource: LEDGER }), ['LedgerIsAppendOnly']],
    ['a wildcard', policy({ Action: 'dynamodb:*', Resource: LEDGER }), ['LedgerIsAppendOnly', 'NoWildcardOnData']],
    [
      'a wildcard among other actions and resources',
      policy({ Action: ['dynamodb:GetItem', 'dynamodb:Delete*'], Resource: ['arn:aws:s3:::other', '*'] }),
      ['LedgerIsAppendOnly', 'NoWildcardOnData'],
    ],
    [
      'a put under a condition that also holds outside a transaction',
      policy({
        Action: 'dynamodb:PutItem',
        Resource: LEDGER,
        Condition: {
          'ForAllValues:StringEquals': { 'dynamodb:EnclosingOperation': ['TransactWriteItems'] },
        },
      }),
      ['LedgerIsAppendOnly'],
    ],
    [
      'an Allow for all actions except a few',
      policy({ Action: undefined, NotAction: 'iam:*', Resource: LEDGER }),
      ['LedgerIsAppendOnly'],
    ],
    [
      'an Allow for all resources except a few',
      policy({ Action: 'dynamodb:UpdateItem', NotResource: 'arn:aws:dynamodb:eu-west-1:1:table/other' }),
      ['LedgerIsAppendOnly'],
    ],
    [
      'a policy on the table itself',
      {
        Type: 'AWS::DynamoDB::Table',
        Properties: {
          ResourcePolicy: {
            PolicyDocument: { Statement: [{ Effect: 'Allow', Action: 'dynamodb:UpdateItem', Resource: '*' }] },
          },
        },
      },
      ['LedgerIsAppendOnly'],
    ],
    [
      'a function without idempotency',
      {
        Type: 'AWS::Lambda::Function',
        Properties: {
          ...WITH_LOG,
          Environment: { Variables: { POWERTOOLS_IDEMPOTENCY_DISABLED: 'true' } },
        },
      },
      ['IdempotencyStaysOn'],
    ],
    [
      'a function that lets Lambda create its log group',
      { Type: 'AWS::Lambda::Function', Properties: { LoggingConfig: { LogFormat: 'JSON' } } },
      ['LogsEnd'],
    ],
    [
      'two statements with the same id',
      {
        Type: 'AWS::IAM::Policy',
        Properties: {
          PolicyDocument: {
            Statement: ['a', 'b'].map((Resource) => ({
              Sid: 'Read',
              Effect: 'Allow',
              Action: 's3:GetObject',
              Resource,
            })),
          },
        },
      },
      ['StatementIdsAreUnique'],
    ],
    ['a log group without an expiry', { Type: 'AWS::Logs::LogGroup', Properties: {} }, ['LogsEnd']],
  ])('report %s', (_name, resource, rules) => {
    expect(rulesBrokenBy(resource)).toEqual(rules);
  });

  test.each<[string, Resource]>([
    ['a put inside a transaction', policy({ Action: 'dynamodb:PutItem', Resource: LEDGER, Condition: IN_TRANSACTION })],
    ['a denial', policy({ Effect: 'Deny', Action: 'dynamodb:UpdateItem', Resource: LEDGER })],
    ['a function with a log group', { Type: 'AWS::Lambda::Function', Properties: WITH_LOG }],
    ['a log group with an expiry', { Type: 'AWS::Logs::LogGroup', Properties: { RetentionInDays: 7 } }],
  ])('accept %s', (_name, resource) => {
    expect(rulesBrokenBy(resource)).toEqual([]);
  });
});

test('a template that violates a rule makes the synthesis fail, and the error names the rule and the resource', () => {
  const app = testApp();
  const planted = new CfnResource(new Stack(app, 'Stack'), 'EndlessLog', { type: 'AWS::Logs::LogGroup' });
  Validations.of(app).addPlugins(new PayonceRules());
  expect(() => app.synth()).toThrow(new RegExp(`${planted.node.path}[\\s\\S]*Payonce::LogsEnd`));
});
