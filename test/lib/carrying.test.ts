import { expect, test } from '@jest/globals';
import { carryingTemplate } from './carrying-template.ts';
import { statementsByOwner } from './templates.ts';

const template = carryingTemplate();
const statements = statementsByOwner(template);

const allowed = (owner: string) =>
  (statements.get(owner) ?? [])
    .filter(({ Effect }) => Effect === 'Allow')
    .map(({ Action, Condition }) => [
      [Action].flat().join(),
      [Condition?.['ForAllValues:StringLike']?.['dynamodb:LeadingKeys'] ?? []].flat().join(),
      Condition?.['ForAnyValue:StringEquals']?.['dynamodb:EnclosingOperation']?.toString(),
    ])
    .filter(([action = '']) => action.startsWith('dynamodb:'));

test('a function that copies rows may put them into the Ledger only in a transaction, and may check the preceding rows', () => {
  expect(allowed('Writer')).toEqual([
    ['dynamodb:PutItem', 'PAY#*', 'TransactWriteItems'],
    ['dynamodb:ConditionCheckItem', 'PAY#*,ORD#*', undefined],
    ['dynamodb:Query,dynamodb:PutItem,dynamodb:DeleteItem', 'DETAILS#*', undefined],
  ]);
});

test('only the worker may store the time until which the copies are complete', () => {
  const grants = [...statements.keys()].flatMap((owner) => allowed(owner).map((grant) => [owner, ...grant]));
  expect(grants.filter(([, , rows]) => rows === 'JOB_MARK#carry')).toEqual([
    ['Worker', 'dynamodb:GetItem,dynamodb:PutItem', 'JOB_MARK#carry', undefined],
  ]);
});

test.each([
  ['oldest_uncopied', 60_000],
  ['copies_stopped', 1],
])('an alarm watches the metric %s with a threshold of %d', (MetricName, Threshold) => {
  template.hasResourceProperties('AWS::CloudWatch::Alarm', {
    MetricName,
    Threshold,
    Dimensions: [{ Name: 'service', Value: 'copies' }],
    Period: 60,
    Statistic: 'Maximum',
    ComparisonOperator: 'GreaterThanOrEqualToThreshold',
  });
});
