import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  bootstrapParameters,
  cdkFailure,
  localDatabases,
  PAYONCE,
  payonceWith,
  projectContext,
  settingsWithoutEffect,
} from '../../local/cdk.ts';
import { RefusedSetting } from '../../local/failure.ts';

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

  test('reach the synthesis unchanged if they are invalid, so that the synthesis can report them', () => {
    for (const given of ['{', '[]']) expect(payonceWith({ [TARGETS]: given }).context[TARGETS]).toBe(given);
  });

  test('change no other setting; without job targets, all settings stay unchanged', () => {
    expect(payonceWith(contextOf({}))).toEqual(PAYONCE);
    expect({ ...payonceWith({ [TARGETS]: { vouchers: VOUCHERS } }).context, [TARGETS]: '' }).toEqual({
      ...PAYONCE.context,
      [TARGETS]: '',
    });
  });
});

test('a setting is reported as without effect if the local stack sets it to another value', () => {
  const given = { 'payonce:archive': true, 'payonce:approvalAbove': { EUR: 1 }, 'payonce:retention': 3, [TARGETS]: {} };
  expect(settingsWithoutEffect(given, 'dynamodb')).toEqual(['payonce:approvalAbove']);
  expect(settingsWithoutEffect({}, 'dynamodb')).toEqual([]);
});

test('the bootstrap runs the app with the settings of the deployment', () => {
  const parameters = bootstrapParameters(PAYONCE, '/run').join(' ');
  expect(parameters).toContain('--context payonce:allowLoopbackWebhooks=true');
  expect(bootstrapParameters({ command: '/assembly', context: {} }, '/run').join(' ')).toContain('--app /assembly');
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

  test('is refused if it sets payonce:postgresPort, which the local stack cannot override', () => {
    expect(() => payonceWith({ ...given, 'payonce:postgresPort': 6432 })).toThrow('store the port in the secret');
  });
});

describe('several databases in cdk.json', () => {
  const SHARDS = 'payonce:postgresShards';
  const shards = [
    { name: 'b', secretId: 'arn:aws:secretsmanager:eu-west-1:111122223333:secret:b-AbCdEf', host: 'b.example' },
    { name: 'c', count: 2, port: 6432, database: 'money_#' },
  ];

  test.each([[shards], [JSON.stringify(shards)]])(
    'are databases of the local server, with the same names: %j',
    (value) => {
      const given = { 'payonce:authority': 'postgres', [SHARDS]: value };
      const local = [
        { name: 'b', database: 'payonce_b' },
        { name: 'c', count: 2, database: 'payonce_c#' },
      ];
      expect(JSON.parse(payonceWith(given).context[SHARDS] ?? '')).toEqual(local);
      expect(localDatabases(given)).toEqual(['payonce', 'payonce_b', 'payonce_c1', 'payonce_c2']);
      expect(settingsWithoutEffect(given, 'postgres')).toEqual([]);
    },
  );

  test('reach the synthesis unchanged if they are invalid, so that the synthesis can report them', () => {
    for (const value of ['{', '{}', '[{}]']) {
      expect(payonceWith({ [SHARDS]: value }, 'postgres').context[SHARDS]).toBe(value);
      expect(localDatabases({ [SHARDS]: value })).toEqual(['payonce']);
    }
    const unknown = { name: 'b', schema: 'money' };
    expect(payonceWith({ [SHARDS]: [unknown] }, 'postgres').context[SHARDS]).toBe(
      JSON.stringify([{ ...unknown, database: 'payonce_b' }]),
    );
  });
});

test('Aurora DSQL in cdk.json is replaced by PostgreSQL, which has the same stores', () => {
  const given = { 'payonce:authority': 'dsql' };
  expect(payonceWith(given).context).toEqual(payonceWith({}, 'postgres').context);
  expect(settingsWithoutEffect(given, 'postgres')).toEqual(['payonce:authority']);
});

describe('a failed deployment', () => {
  const ENDED = 'node local/launch.mjs bin/app.ts: Subprocess exited with error 1';

  test('names the setting that the synthesis refused', () => {
    const sentence =
      'sandbox and external are called in test mode, so payonce:routes must define which payments are sent to each of them';
    const failure = cdkFailure('deploy', ['Synthesizing', sentence, ENDED], '/run/cdk.log');
    expect(failure).toBeInstanceOf(RefusedSetting);
    expect(failure.message).toBe(`${sentence} (full output: /run/cdk.log)`);
  });

  test('names the last error of the CLI if the synthesis refused no setting', () => {
    const failures = [
      cdkFailure('deploy', ['payonce:x is unused', ' ❌  PayonceApi failed: no bucket ', 'bye'], '/run/cdk.log'),
      cdkFailure('deploy', ['SyntaxError: x', ENDED], '/run/cdk.log'),
      cdkFailure('synth', [], '/run/cdk.log'),
    ];
    expect(failures.map(({ message }) => message)).toEqual([
      'cdk deploy failed: ❌  PayonceApi failed: no bucket (full output: /run/cdk.log)',
      `cdk deploy failed: ${ENDED} (full output: /run/cdk.log)`,
      'cdk synth failed: it printed nothing (full output: /run/cdk.log)',
    ]);
    expect(failures.some((failure) => failure instanceof RefusedSetting)).toBe(false);
  });
});
