import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CloudFormationClient } from '@aws-sdk/client-cloudformation';
import { describe, expect, test } from '@jest/globals';
import {
  type Account,
  ask,
  examineAccount,
  examineQuotas,
  hasResources,
  hasSubscription,
  pendingAddresses,
} from '../../cli/account.ts';
import { type Examined, examine, examineSettings } from '../../cli/doctor.ts';
import { examinePeakRates } from '../../cli/peak-rates.ts';
import { PROBES } from '../../cli/probes.ts';
import type { Authority } from '../../lambdas/jobs/contract/jobs.ts';
import { keyIdOf } from '../../lambdas/kernel/cause.ts';
import { RULES_OF_AN_EVENT, regionRows } from '../../lib/region-quotas.ts';
import { flagsOf, peakRatesOfClone, settingsOfClone } from '../../lib/synthesized.ts';
import { synthesize } from '../support/synth.ts';

const NOW_MS = Date.UTC(2026, 2, 1);
type Key = Examined['keys'][number];
const key = (name: string, changes: Partial<Key> = {}): Key => ({
  id: keyIdOf(Buffer.from(name.padEnd(32, 'x'))),
  mode: 'test',
  ...(name === 'endless' ? {} : { expiresAtMs: NOW_MS + 1 }),
  ...changes,
});

test('the doctor reports keys that never expire, empty secrets, and live keys in a deployment with the sandbox', () => {
  const live = key('live', { mode: 'live' });
  const endless = key('endless');
  const { mode: _mode, ...operators } = key('endless', { id: keyIdOf(Buffer.from('operators'.padEnd(32, 'x'))) });
  const keys = [
    key('good'),
    live,
    endless,
    operators,
    key('revoked', { mode: 'live', revokedAtMs: 1 }),
    key('old', { expiresAtMs: 1 }),
  ];
  const secrets = [
    { name: 'Good', text: '{"current":"a"}' },
    { name: 'Empty', text: '' },
    { name: 'NoValues', text: ' {} ' },
  ];

  const found = examine({ settings: { sandbox: 'true' }, keys, secrets, nowMs: NOW_MS });

  expect(found.map(({ check, about }) => [check, about])).toEqual([
    ['sandbox_with_live_keys', live.id],
    ['empty_secret', 'Empty'],
    ['empty_secret', 'NoValues'],
    ['key_without_expiry', endless.id],
    ['key_without_expiry', operators.id],
  ]);
  // The successor of a key would not expire, either.
  expect(found.slice(-2).map(({ detail }) => detail)).toEqual([
    'The key does not expire. Create a key with `payonce keys create --expires-in <days>`, then revoke this one.',
    'The key does not expire. Create a key with `payonce operators create --expires-in <days>`, then revoke this one.',
  ]);
  expect(examine({ settings: { sandbox: 'false' }, keys: [key('good'), live], secrets: [], nowMs: NOW_MS })).toEqual(
    [],
  );
});

const ROLE = 'arn:aws:iam::1:role/other';
const FRESH: Account = {
  region: 'eu-west-1',
  concurrency: 1000,
  unreserved: 1000,
  isBootstrapped: true,
  stacks: [],
  unconfirmed: [],
  withoutSubscription: [],
};
const DEPLOYED: Account = { ...FRESH, logRole: ROLE, stacks: [{ name: 'PayonceData', status: 'UPDATE_COMPLETE' }] };

test.each<[string, Account, readonly (readonly [string, string])[]]>([
  ['an account that is ready', FRESH, []],
  ['a healthy deployment', DEPLOYED, []],
  [
    'a new account',
    { ...FRESH, concurrency: 10, isBootstrapped: false },
    [
      ['not_bootstrapped', 'eu-west-1'],
      ['low_concurrency', '10'],
    ],
  ],
  ['a log role of another owner before the deployment', { ...FRESH, logRole: ROLE }, [['log_role', ROLE]]],
  [
    'a deployment without a log role, with a failed stack and an unconfirmed address',
    { ...FRESH, stacks: [{ name: 'PayonceData', status: 'ROLLBACK_COMPLETE' }], unconfirmed: ['a@b.example'] },
    [
      ['log_role', 'eu-west-1'],
      ['stack_failed', 'PayonceData'],
      ['unconfirmed_address', 'a@b.example'],
    ],
  ],
  [
    'a deployment with an update that failed without a rollback, and with alarms without subscribers',
    {
      ...DEPLOYED,
      stacks: [{ name: 'PayonceService', status: 'UPDATE_FAILED' }],
      withoutSubscription: ['arn:aws:sns:t'],
    },
    [
      ['stack_failed', 'PayonceService'],
      ['no_subscription', 'arn:aws:sns:t'],
    ],
  ],
])('the doctor reports exactly the problems of %s', (_name, account, findings) => {
  expect(examineAccount(account).map(({ check, about }) => [check, about])).toEqual(findings);
});

test.each<[string, Account, Readonly<Record<string, string>>, readonly string[]]>([
  ['settings that fit', FRESH, { throttlingRate: '200', reservedConcurrency: '900' }, []],
  ['a reservation that Lambda refuses', FRESH, { reservedConcurrency: '901' }, ['reserved_concurrency 901']],
  [
    'a reservation in a new account',
    { ...FRESH, concurrency: 10, unreserved: 10 },
    { reservedConcurrency: '1' },
    ['reserved_concurrency 1'],
  ],
  ['a deployed reservation', { ...DEPLOYED, unreserved: 100 }, { reservedConcurrency: '900' }, []],
  [
    'rates beyond the quotas of a region',
    { ...FRESH, region: 'eu-south-1' },
    { throttlingRate: '3000' },
    ['request_rate 3000', 'event_rate 3000'],
  ],
  ['rates beyond the event quota', { ...FRESH, region: 'sa-east-1' }, { throttlingRate: '551' }, ['event_rate 551']],
  ['a raised quota', { ...FRESH, requestRate: 20_000 }, { throttlingRate: '9000' }, []],
])('the doctor reports exactly the settings that exceed a quota: %s', (_name, account, settings, findings) => {
  expect(examineQuotas(account, settings).map(({ check, about }) => `${check} ${about}`)).toEqual(findings);
});

test.each<[Authority | undefined, string | undefined, readonly string[]]>([
  [undefined, 'postgres', []],
  ['dynamodb', undefined, []],
  ['postgres', 'postgres', []],
  ['postgres', 'dsql', []],
  [undefined, 'dsql', []],
  ['dynamodb', 'dsql', ['payonce:authority=dynamodb']],
  ['dynamodb', 'postgres', ['payonce:authority=dynamodb']],
  ['postgres', undefined, ['payonce:authority=postgres']],
])(
  'if the recorded authority is %s and the selected one is %s, the doctor names these settings to deploy: %j',
  (has, selected, named) => {
    const settings: Examined['settings'] = selected === undefined ? {} : { authority: selected };
    const authority = has && { authority: has, isImporting: false };
    const found = examine({ settings, authority, keys: [], secrets: [], nowMs: NOW_MS });
    expect(found.map(({ detail }) => /payonce:authority=\w+/.exec(detail)?.[0])).toEqual(named);
  },
);

test('the doctor reports each database that has imported payments but is not in the settings', () => {
  const authority = { authority: 'postgres', isImporting: false, imported: { first: 'pay_1', b: '' } } as const;
  const findings = (postgresShards: string) =>
    examine({ settings: { authority: 'postgres', postgresShards }, authority, keys: [], secrets: [], nowMs: NOW_MS });
  expect(findings('[{"name":"c","database":"c"}]')).toMatchObject([
    { check: 'authority', about: 'b', detail: expect.stringContaining('payonce:postgresShards') },
  ]);
  expect(findings('[{"name":"b","database":"b"}]')).toEqual([]);
});

test('the doctor reports an import that has stopped all writes', () => {
  const authority = { authority: 'dynamodb', isImporting: true } as const;
  const found = examine({ settings: {}, authority, keys: [], secrets: [], nowMs: NOW_MS });
  expect(found).toMatchObject([{ check: 'authority', detail: expect.stringContaining('finish or cancel') }]);
});

test('the doctor reports live mode without an archive, even before the first deployment', () => {
  const checks = (context: Record<string, string>) =>
    examineSettings(settingsOfClone(context, flagsOf())).map(({ check }) => check);
  expect(checks({ 'payonce:stripeAccount': 'acct_1' })).toEqual(['live_without_archive']);
  expect(checks({ 'payonce:stripeAccount': 'acct_1', 'payonce:archive': 'true' })).toEqual([]);
  const trial = { 'payonce:stripeAccount': 'acct_1', 'payonce:archive': 'true', 'payonce:archiveYears': '0' };
  expect(checks(trial)).toEqual(['live_without_archive']);
  expect(checks({ 'payonce:testStripeAccount': 'acct_1' })).toEqual([]);
});

describe('the peakRates setting', () => {
  const raised = [
    { from: '2026-03-02', payments: 20_000, tenantPayments: 5_000 },
    { from: '2026-06-01', payments: 40_000, tenantPayments: 6_400 },
    { from: '2026-09-01', payments: 2_000, tenantPayments: 2_000 },
    { from: '2026-12-01', payments: 8_000, tenantPayments: 4_000 },
  ];
  const textOf = (...given: readonly object[]) =>
    settingsOfClone({ 'payonce:peakRates': JSON.stringify(given) }, flagsOf())['peakRates'];
  const [first, ...others] = raised.map((entry) => textOf(entry) ?? '');
  const none = { atMs: NOW_MS };
  const all = { atMs: NOW_MS, peakRates: textOf(...raised) };
  const restAt = (atMs: number) => ({ atMs, peakRates: textOf(...raised.slice(1)) });
  const JUNE_MS = Date.UTC(2026, 5, 1);
  const about = (...given: Parameters<typeof examinePeakRates>) =>
    examinePeakRates(...given).map((found) => found.about);

  test('is recorded completely by a deployment, however long the setting is', () => {
    const context = { 'payonce:peakRates': JSON.stringify(raised) };
    expect(peakRatesOfClone(context, flagsOf())).toBe(all.peakRates);
    expect(all.peakRates?.split(', ')).toEqual([first, ...others]);
    expect(peakRatesOfClone({}, flagsOf())).toBeUndefined();
  });

  test('may be set or extended, and entries may be changed before they take effect', () => {
    expect(about([], JUNE_MS)).toEqual([]);
    expect(about([all], JUNE_MS, all.peakRates)).toEqual([]);
    expect(about([all, none], JUNE_MS)).toEqual([]);
    expect(about([restAt(NOW_MS + 1), all], JUNE_MS)).toEqual([]);
    expect(about([none], NOW_MS, all.peakRates)).toEqual([]);
  });

  test('is reported if an entry in effect was removed or changed, until the entry is restored', () => {
    const changed = { atMs: JUNE_MS - 1, peakRates: textOf({ ...raised[0], payments: 30_000 }, ...raised.slice(1)) };
    expect(about([restAt(JUNE_MS - 1), all], JUNE_MS)).toEqual([first]);
    expect(about([{ atMs: JUNE_MS - 1 }, all], JUNE_MS)).toEqual([first]);
    expect(about([changed, all], JUNE_MS)).toEqual([first]);
    expect(about([all, restAt(JUNE_MS - 1), all], JUNE_MS)).toEqual([]);
  });

  test('must, in the next deployment, keep the entries in effect, and must not add an entry whose start time has passed', () => {
    expect(about([all], JUNE_MS + 1, restAt(0).peakRates)).toEqual([first]);
    expect(about([{ ...none, peakRates: first }], JUNE_MS, all.peakRates)).toEqual(others.slice(0, 1));
  });
});

test('every payment event matches as many EventBridge rules as the regional rate table assumes', async () => {
  const { service } = await synthesize({ 'payonce:sandbox': 'false' });
  const rules = Object.values(service?.findResources('AWS::Events::Rule') ?? {}) as {
    Properties: { EventPattern: { detail?: object; 'detail-type'?: readonly unknown[] } };
  }[];
  const all = rules.filter(({ Properties: { EventPattern } }) => EventPattern.detail === undefined);
  expect(all.length).toBe(RULES_OF_AN_EVENT);
  const page = readFileSync('docs/proof/benchmarks.md', 'utf8');
  expect(page).toContain(regionRows().join('\n'));
});

test('the doctor finds unconfirmed alarm addresses, and topics without a subscription', () => {
  const member = (arn: string, endpoint: string) =>
    `<member>\n<TopicArn>t</TopicArn><SubscriptionArn>${arn}</SubscriptionArn><Endpoint>${endpoint}</Endpoint></member>`;
  const xml = `<Subscriptions>${member('arn:aws:sns:x', 'a@b.example')}${member('PendingConfirmation', 'c@d.example')}</Subscriptions>`;
  expect(pendingAddresses(xml)).toEqual(['c@d.example']);
  expect(hasSubscription(xml)).toBe(true);
  expect(hasSubscription('<ListSubscriptionsByTopicResult><Subscriptions/></ListSubscriptionsByTopicResult>')).toBe(
    false,
  );
});

test('the doctor requests XML from SNS, which would otherwise return JSON, and JSON from API Gateway', async () => {
  const server = createServer(({ headers }, response) => response.end(headers.accept)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const target = {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    region: 'eu-west-1',
    credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
  };
  const client = new CloudFormationClient(target);
  const accepted = [
    await ask(target, client, 'sns', '/?Action=a'),
    await ask(target, client, 'apigateway', '/account'),
  ];
  server.close();
  expect(accepted).toEqual(['text/xml', 'application/json']);
});

test.each([
  ['CREATE_COMPLETE', true],
  ['UPDATE_IN_PROGRESS', true],
  ['UPDATE_ROLLBACK_COMPLETE', true],
  ['UPDATE_FAILED', true],
  ['REVIEW_IN_PROGRESS', false],
  ['CREATE_FAILED', false],
  ['ROLLBACK_COMPLETE', false],
  ['DELETE_FAILED', false],
])('a stack in status %s has its declared resources: %s', (status, isSo) => {
  expect(hasResources(status)).toBe(isSo);
});

test('docs/operate/first-deploy.md lists every probe with its expected result and its source', () => {
  const page = readFileSync('docs/operate/first-deploy.md', 'utf8');
  for (const { id, mustShow, source } of PROBES)
    expect(page).toContain(`\n| \`${id}\` | ${mustShow} | [AWS](${source}) |\n`);
});
