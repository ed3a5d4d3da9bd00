import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { PAYONCE, payonceWith, projectContext, settingsWithoutEffect } from '../../local/cdk.ts';

const TARGETS = 'payonce:jobTargets';
const VOUCHERS = { url: 'https://vouchers.example', jobs: [] };

let project = '';
beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), 'payonce-settings-'));
});
afterEach(() => rmSync(project, { recursive: true }));

function contextOf(context: object): ReturnType<typeof projectContext> {
  writeFileSync(join(project, 'cdk.json'), JSON.stringify({ app: 'x', context }));
  return projectContext(project);
}

const deployedTargets = (context: object): unknown =>
  JSON.parse(payonceWith(contextOf(context)).context[TARGETS] ?? '');
const ownTargets = JSON.parse(PAYONCE.context[TARGETS] ?? '') as { readonly membership: unknown };

describe('the job targets of cdk.json', () => {
  test.each([{ vouchers: VOUCHERS }, JSON.stringify({ vouchers: VOUCHERS })])(
    'are deployed to the local stack in addition to its own: %j',
    (given) => {
      expect(deployedTargets({ [TARGETS]: given })).toEqual({ ...ownTargets, vouchers: VOUCHERS });
    },
  );

  test('replace targets of the local stack with the same name', () => {
    expect(deployedTargets({ [TARGETS]: { membership: VOUCHERS } })).toEqual({ membership: VOUCHERS });
  });

  test('reach the synthesis unchanged if they are invalid, so that it names them', () => {
    for (const given of ['{', '[]']) expect(payonceWith({ [TARGETS]: given }).context[TARGETS]).toBe(given);
  });

  test('change no other setting, and nothing if there are none', () => {
    expect(payonceWith(contextOf({}))).toEqual(PAYONCE);
    expect({ ...payonceWith({ [TARGETS]: { vouchers: VOUCHERS } }).context, [TARGETS]: '' }).toEqual({
      ...PAYONCE.context,
      [TARGETS]: '',
    });
  });
});

test('settings without effect are those that the local stack sets to another value', () => {
  const given = { 'payonce:archive': true, 'payonce:approvalAbove': { EUR: 1 }, 'payonce:retention': 3, [TARGETS]: {} };
  expect(settingsWithoutEffect(given, 'dynamodb')).toEqual(['payonce:approvalAbove']);
  expect(settingsWithoutEffect({}, 'dynamodb')).toEqual([]);
});

describe('PostgreSQL in cdk.json', () => {
  const given = {
    'payonce:authority': 'postgres',
    'payonce:postgresSecretArn': 'arn:aws:secretsmanager:eu-west-1:111122223333:secret:production-AbCdEf',
    'payonce:postgresHost': 'db.example',
    'payonce:postgresDatabase': 'money',
    'payonce:postgresSubnets': ['subnet-0123456789abcdef0'],
    'payonce:postgresSecurityGroups': ['sg-0123456789abcdef0'],
  };

  test('is replaced by the database of the local stack', () => {
    const { context } = payonceWith(given);
    expect(context['payonce:postgresHost']).toBe('localhost');
    const replaced = Object.keys(given).filter((name) => name !== 'payonce:authority');
    expect(settingsWithoutEffect(given, 'postgres').toSorted()).toEqual(replaced.toSorted());
    expect(payonceWith(given, 'dynamodb').context).toEqual({ ...PAYONCE.context, 'payonce:authority': 'dynamodb' });
  });

  test('rejects payonce:postgresPort, because the local stack cannot override it', () => {
    expect(() => payonceWith({ ...given, 'payonce:postgresPort': 6432 })).toThrow('store the port in the secret');
  });
});
