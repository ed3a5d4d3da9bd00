import { describe, expect, test } from '@jest/globals';
import { findViolations } from '../../lib/policies/payonce-rules.ts';

type Resource = Parameters<typeof findViolations>[0]['Resources'][string];

const rulesBrokenBy = (resource: Resource) =>
  findViolations({ Resources: { Planted: resource } }).map(({ rule }) => rule.name);

const policy = (statement: Record<string, unknown>): Resource => ({
  Type: 'AWS::IAM::Policy',
  Properties: { PolicyDocument: { Statement: [{ Effect: 'Allow', ...statement }] } },
});
const LEDGER = { 'Fn::ImportValue': 'PayonceData:ExportsOutputFnGetAttLedgerTableArn' };
const IN_TRANSACTION = {
  'ForAnyValue:StringEquals': { 'dynamodb:EnclosingOperation': ['TransactWriteItems'] },
};

describe('our own rules find', () => {
  test.each<[string, Resource, string[]]>([
    [
      'a policy that updates Ledger rows',
      policy({ Action: 'dynamodb:UpdateItem', Resource: LEDGER }),
      ['LedgerIsAppendOnly'],
    ],
    [
      'a policy that deletes from anything',
      policy({ Action: ['dynamodb:DeleteItem'], Resource: '*' }),
      ['LedgerIsAppendOnly'],
    ],
    ['a put outside a transaction', policy({ Action: 'dynamodb:PutItem', Resource: LEDGER }), ['LedgerIsAppendOnly']],
    ['a wildcard', policy({ Action: 'dynamodb:*', Resource: LEDGER }), ['LedgerIsAppendOnly', 'NoWildcardOnData']],
    [
      'a function without idempotency',
      {
        Type: 'AWS::Lambda::Function',
        Properties: { Environment: { Variables: { POWERTOOLS_IDEMPOTENCY_DISABLED: 'true' } } },
      },
      ['IdempotencyStaysOn'],
    ],
    ['a log that never ends', { Type: 'AWS::Logs::LogGroup', Properties: {} }, ['LogsEnd']],
  ])('%s', (_name, resource, rules) => {
    expect(rulesBrokenBy(resource)).toEqual(rules);
  });

  test.each<[string, Resource]>([
    ['a put inside a transaction', policy({ Action: 'dynamodb:PutItem', Resource: LEDGER, Condition: IN_TRANSACTION })],
    ['a denial', policy({ Effect: 'Deny', Action: 'dynamodb:UpdateItem', Resource: LEDGER })],
    ['a log that ends', { Type: 'AWS::Logs::LogGroup', Properties: { RetentionInDays: 7 } }],
  ])('nothing wrong with %s', (_name, resource) => {
    expect(rulesBrokenBy(resource)).toEqual([]);
  });
});
