import { expect, test } from '@jest/globals';
import { synthesize } from '../support/synth.ts';
import { present, statementsByOwner } from './templates.ts';

const stacks = await synthesize();

test('only one role in the data stack may restore Ledger rows, and no function can assume it', () => {
  const template = present(stacks.data);
  const roles = Object.entries(template.findResources('AWS::IAM::Role')).filter(([id]) => id.startsWith('RowRestore'));
  expect(roles).toHaveLength(1);
  const trust = JSON.stringify(roles);
  expect(trust).toContain(':root');
  expect(trust).not.toContain('"Service"');
  // The role trusts the account, so another role of the account needs a statement of its own to assume it. No
  // function's role has such a statement.
  for (const stack of [stacks.service, stacks.sandbox])
    expect(JSON.stringify([...statementsByOwner(present(stack)).values()])).not.toContain('sts:AssumeRole');
  const statements = [...statementsByOwner(template)]
    .filter(([owner]) => owner.startsWith('RowRestore'))
    .flatMap(([, own]) => own);
  const writes = statements.filter(({ Action }) => JSON.stringify(Action).includes('dynamodb:PutItem'));
  expect(writes).toMatchObject([
    {
      Effect: 'Allow',
      Condition: {
        'ForAnyValue:StringEquals': { 'dynamodb:EnclosingOperation': ['TransactWriteItems'] },
        'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': ['PAY#*', 'ORD#*', 'ACT#*'] },
      },
    },
  ]);
  const denied = statements.filter(({ Effect }) => Effect === 'Deny');
  expect(JSON.stringify(denied)).toContain('dynamodb:DeleteItem');
});

test("the auditor's role may read the Ledger and its archive, but may not change anything", async () => {
  const key = 'arn:aws:kms:eu-central-1:444455556666:key/0a1b';
  const { data } = await synthesize({ 'payonce:archive': 'true', 'payonce:archiveKeyArn': key });
  const template = present(data);
  const [role] = Object.entries(template.findResources('AWS::IAM::Role')).filter(([id]) => id.startsWith('Auditing'));
  expect(JSON.stringify(role)).toContain(':root');
  const statements = [...statementsByOwner(template)]
    .filter(([owner]) => owner.startsWith('Auditing'))
    .flatMap(([, own]) => own);
  const actions = statements.flatMap(({ Effect, Action }) => (Effect === 'Allow' ? [Action].flat() : []));
  expect(
    actions.filter((action) => !/^(dynamodb|s3|cloudformation):(Get|List|Query|Scan|Describe)/.test(action)),
  ).toEqual(['kms:Decrypt']);
  for (const action of ['dynamodb:Scan', 's3:GetObject', 's3:ListBucketVersions', 's3:GetBucketPolicy'])
    expect(actions).toContain(action);
});
