import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { synthesize } from '../support/synth.ts';
import { EVERYTHING, present, type Statement, statementsByOwner } from './templates.ts';

const KEY = 'arn:aws:kms:eu-central-1:123456789012:key/0a1b';
const { data, service } = await synthesize({ ...EVERYTHING, 'payonce:dataKeyArn': KEY });
const { data: ofSandbox, sandbox } = await synthesize({ 'payonce:dataKeyArn': KEY });

describe('the setting dataKeyArn', () => {
  const resources = (type: string) =>
    [data, service, ofSandbox, sandbox].flatMap(
      (template) =>
        Object.entries(template?.findResources(type) ?? {}) as [string, { Properties: Record<string, unknown> }][],
    );
  const without = (type: string, encryption: (properties: Record<string, unknown>) => unknown) =>
    resources(type).filter(([, { Properties }]) => !JSON.stringify(encryption(Properties) ?? '').includes(KEY));

  test.each([
    ['AWS::DynamoDB::Table', 'SSESpecification', 9],
    ['AWS::SQS::Queue', 'KmsMasterKeyId', 20],
    ['AWS::S3::Bucket', 'BucketEncryption', 2],
  ])('encrypts every %s with that key', (type, property, least) => {
    expect(resources(type).length).toBeGreaterThanOrEqual(least);
    expect(without(type, (properties) => properties[property]).map(([id]) => id)).toEqual([]);
  });

  test('lets only roles that use queues use that key, and only to encrypt and decrypt', () => {
    const roles = [service, sandbox].flatMap((template) => [...statementsByOwner(present(template))]);
    const isOfKey = ({ Resource }: Statement) => JSON.stringify(Resource).includes(KEY);
    const withKey = roles.filter(([, statements]) => statements.some(isOfKey));
    expect(withKey.length).toBeGreaterThan(10);
    expect(
      withKey.filter(([, statements]) => !JSON.stringify(statements).includes('"sqs:')).map(([owner]) => owner),
    ).toEqual([]);
    const actions = withKey.flatMap(([, statements]) => statements.filter(isOfKey).flatMap(({ Action }) => Action));
    expect([...new Set(actions)].toSorted()).toEqual([
      'kms:Decrypt',
      'kms:DescribeKey',
      'kms:Encrypt',
      'kms:GenerateDataKey*',
      'kms:ReEncrypt*',
    ]);
  });

  test('needs the key policy in docs/operate/data-key.md, which allows each service to use the key', () => {
    const [, policy = ''] = /```json\n(\[[^`]+\])\n```/.exec(readFileSync('docs/operate/data-key.md', 'utf8')) ?? [];
    const services = ['dynamodb', 'sqs', 's3', 'dsql'].map((name) => `${name}.<region>.amazonaws.com`);
    expect(JSON.parse(policy)).toMatchObject([
      { Principal: { AWS: '*' }, Condition: { StringEquals: { 'kms:ViaService': services } } },
      { Principal: { Service: 'events.amazonaws.com' } },
    ]);
  });
});
