/** Tests the guarantee "safe deploys". */
import { describe, expect, test } from '@jest/globals';
import { Template } from 'aws-cdk-lib/assertions';
import { pairwise } from '../support/pairwise.ts';
import { sliceOf } from '../support/slice.ts';
import { synthesize } from '../support/synth.ts';
import { faultsOf, heldBy } from './redeploys.ts';
import { EVERYTHING, present } from './templates.ts';

const CERTIFICATE = 'arn:aws:acm:eu-central-1:123456789012:certificate/0a1b';
const DOMAIN = { domainName: 'pay.shop.example', certificateArn: CERTIFICATE };
const SHOP = { shopUrl: 'https://shop.example', emailSender: 'shop@shop.example' };
const BOTH = { stripeAccount: 'acct_1', processorUrl: 'https://processor.example' };

const VALUES: Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, string>>>>>> = {
  parties: { none: { sandbox: 'false' }, sandbox: { sandbox: 'true' }, shop: { sandbox: 'false', ...SHOP } },
  processors: {
    none: {},
    stripe: { stripeAccount: 'acct_1' },
    both: { ...BOTH, routes: '[{"currency":"USD","processor":"external"},{"processor":"stripe"}]' },
  },
  domain: { none: {}, root: DOMAIN, path: { ...DOMAIN, basePath: 'money' } },
  alarms: {
    none: {},
    email: { alarmEmail: 'on-call@shop.example' },
    topic: { alarmTopicArn: 'arn:aws:sns:eu-central-1:123456789012:alarms' },
  },
  operators: {
    keys: {},
    provider: {
      operatorIssuer: 'https://id.example',
      operatorAudience: 'payonce',
      operatorClientId: 'console',
      approvalAbove: '{"*":5}',
    },
  },
  retainData: { true: {}, false: { retainData: 'false' } },
  eventArchive: { true: {}, false: { eventArchive: 'false' } },
  firewall: { false: {}, true: { firewall: 'true' } },
  accountLogRole: { true: {}, false: { accountLogRole: 'false' } },
  capacity: {
    default: {},
    more: {
      memoryMb: '1024',
      reservedConcurrency: '50',
      warmWriteUnits: '8000',
      throttlingRate: '900',
      tenantRate: '300',
      logRetentionDays: '30',
    },
  },
  requests: { none: {}, all: { paymentRequests: EVERYTHING['payonce:paymentRequests'] } },
  targets: { none: {}, some: { jobTargets: EVERYTHING['payonce:jobTargets'] } },
  dataKey: { none: {}, own: { dataKeyArn: 'arn:aws:kms:eu-central-1:123456789012:key/0a1b' } },
  natsBridge: { false: {}, true: { natsBridge: 'true' } },
  tracing: { false: {}, true: { tracing: 'true' } },
  archive: {
    none: {},
    here: { archive: 'true', archiveColdAfterDays: '90' },
    elsewhere: { archive: 'true', archiveBucket: 'payonce-archive-of-shop' },
  },
  events: { default: {}, late: { eventsLostAfterSeconds: '600', allowLoopbackWebhooks: 'true' } },
};

const rows = pairwise(Object.fromEntries(Object.entries(VALUES).map(([name, values]) => [name, Object.keys(values)])));
const deployed = await Promise.all(
  sliceOf(rows, 5).map((row) => {
    const settings = Object.entries(row).map(([name, value]) => VALUES[name]?.[value] ?? {});
    return synthesize(contextOf(Object.assign({}, ...settings) as Record<string, string>));
  }),
);

const ROUTE_TEST = (processor: string) => ({ routes: JSON.stringify([{ mode: 'test', processor }]) });
const RESTORED = {
  idempotency: 'PayonceData-Idempotency-1',
  ledger: 'PayonceData-Ledger-1',
  registry: 'PayonceData-Registry-1',
  views: 'PayonceData-Views-1',
  ledgerStream: 'arn:aws:dynamodb:eu-central-1:123456789012:table/PayonceData-Ledger-1/stream/2026-01-01T00:00:00.000',
};
/** Deployments with a setting that excludes some of the other settings. */
const alone = await Promise.all(
  sliceOf<Readonly<Record<string, string>>>(
    [
      { testStripeAccount: 'acct_1', ...ROUTE_TEST('stripe') },
      { testProcessorUrl: 'https://test.processor.example', ...ROUTE_TEST('external') },
      { shop: 'bigcommerce', bigcommerceStore: 'abc123', emailSender: 'shop@shop.example' },
      { restoredTables: JSON.stringify(RESTORED) },
    ],
    2,
  ).map((settings) => synthesize(contextOf({ sandbox: 'false', ...settings }))),
);

function contextOf(settings: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(settings).map(([name, value]) => [`payonce:${name}`, value]));
}

describe('a deploy that changes any settings', () => {
  test('replaces no stateful resource, regenerates no secret, and removes no output that another stack reads', () => {
    expect(rows.length).toBeGreaterThan(8);
    const all = [...deployed, ...alone];
    const faults = all.flatMap((before) => all.flatMap((after) => faultsOf(before, after)));
    // Job targets have arbitrary names, so outputs for them cannot exist in advance (docs/operate/runbook/README.md).
    const known = /the output \w+JobTarget\w+ is removed/;
    expect([...new Set(faults)].filter((fault) => !known.test(fault))).toEqual([]);
  });

  test('keeps the same logical id for every stateful resource', async () => {
    // test/lib/logical-ids.test.ts fixes the ids of these two deployments.
    const frozen = await Promise.all([synthesize(), synthesize(EVERYTHING)]);
    const known = new Set(frozen.flatMap(heldBy));
    expect(known.size).toBeGreaterThan(60);
    expect(deployed.flatMap(heldBy).filter((id) => !known.has(id))).toEqual([]);
  });

  type Json = Record<string, Record<string, Record<string, unknown>>>;
  const planted = (change: (data: Json) => void) => {
    const [before] = deployed;
    const json = structuredClone(present(before?.data).toJSON()) as Json;
    change(json);
    return { ...deployment(before), data: Template.fromJSON(json) };
  };
  function deployment<Value>(value: Value | undefined): Value {
    if (value === undefined) throw new Error('there is no deployment');
    return value;
  }

  test('is reported if it changes a key schema or a secret, or removes an output or export that is still read', () => {
    const before = deployment(deployed[0]);
    const rekeyed = planted(({ Resources }) => {
      const properties = Resources?.['LedgerTable9343E4AA']?.['Properties'] as Record<string, unknown>;
      properties['KeySchema'] = [];
    });
    expect(faultsOf(before, rekeyed)).toEqual(['data: KeySchema of LedgerTable9343E4AA changes']);
    const anew = planted(({ Resources }) => {
      const properties = Resources?.['EmailKeysE9920BCA']?.['Properties'] as Record<string, unknown>;
      properties['GenerateSecretString'] = { passwordLength: 40 };
    });
    expect(faultsOf(before, anew)).toEqual(['data: GenerateSecretString of EmailKeysE9920BCA changes']);
    const reading = planted((data) => {
      data['Outputs'] = { ...data['Outputs'], Kept: { Value: 'x' } };
      data['Mappings'] = { elsewhere: { 'Fn::GetStackOutput': { StackName: 'PayonceData', OutputName: 'Kept' } } };
    });
    expect(faultsOf(reading, before)).toEqual(['data: the output Kept is removed and still read']);
    const exporting = planted((data) => {
      data['Outputs'] = { ...data['Outputs'], Exported: { Value: 'x', Export: { Name: 'PayonceData:Exported' } } };
      data['Mappings'] = { importedElsewhere: { 'Fn::ImportValue': 'PayonceData:Exported' } };
    });
    expect(faultsOf(exporting, before)).toEqual([
      'data: the export "PayonceData:Exported" is removed and still imported',
    ]);
  });
});
