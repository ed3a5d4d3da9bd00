import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import type { App } from 'aws-cdk-lib';
import { Match, Template } from 'aws-cdk-lib/assertions';
import { ArtifactMetadataEntryType } from 'aws-cdk-lib/cloud-assembly-schema';
import { StackName } from '../../lambdas/kernel/contract/api.ts';
import { PROCESSORS } from '../../lambdas/processors/registry.ts';
import { processorSettings } from '../../lib/settings/processors.ts';
import { buildStacks } from '../../lib/stacks.ts';
import { PROJECT } from '../../local/directories.ts';
import { tillhouse } from '../processors/tillhouse/descriptor.ts';
import { synthesize } from '../support/synth.ts';
import { present, type Statement, statementsByOwner } from './templates.ts';
import { testApp } from './test-app.ts';

const REGISTRY = [...PROCESSORS, tillhouse];
const CHOSEN = { 'payonce:tillhouseUrl': 'https://tillhouse.example', 'payonce:tillhouseShop': 'shop-7' };
const ROUTES = [{ currency: 'CHF', processor: 'tillhouse' }];

function synthesized(context: Record<string, unknown>) {
  const app = testApp(context);
  buildStacks(app, { processors: REGISTRY });
  const assembly = app.synth();
  const templateOf = (name: string) =>
    Template.fromJSON(assembly.getStackByName(name).template as Record<string, unknown>);
  return { data: templateOf(StackName.data), service: templateOf(StackName.service), warnings: warningsIn(app) };
}

const WARNING: string = ArtifactMetadataEntryType.WARN;

function warningsIn(app: App): string {
  const entries = app.node.findAll().flatMap(({ node }) => node.metadata);
  return JSON.stringify(entries.filter(({ type }) => type === WARNING));
}

const deployed = synthesized({
  ...CHOSEN,
  'payonce:routes': JSON.stringify(ROUTES),
  'payonce:claimsLost': 'true',
});

test('synthesis warns that a processor without a look-up is sent nothing after claims were lost', () => {
  const blind = { ...tillhouse, abilities: { ...tillhouse.abilities, lookup: { kind: 'none' } } } as const;
  const warningsWith = (claimsLost: string) => {
    const context = { ...CHOSEN, 'payonce:routes': JSON.stringify(ROUTES), 'payonce:claimsLost': claimsLost };
    const app = testApp(context);
    buildStacks(app, { processors: [...PROCESSORS, blind] });
    return warningsIn(app);
  };
  expect(warningsWith('true')).toContain('tillhouse has no look-up');
  expect(warningsWith('false')).not.toContain('look-up');
  expect(deployed.warnings).not.toContain('look-up');
});

describe('a processor that a deployment selects from the registry', () => {
  const { data, service } = deployed;
  const roles = statementsByOwner(service);
  const secretsReadBy = (owner: string): string =>
    JSON.stringify(
      (roles.get(owner) ?? [])
        .filter(({ Action }: Statement) => [Action].flat().includes('secretsmanager:GetSecretValue'))
        .map(({ Resource }) => Resource),
    );
  const variablesOf = (owner: string): Readonly<Record<string, unknown>> => {
    const functions = Object.entries(service.findResources('AWS::Lambda::Function'));
    const [, found] = functions.find(([id]) => id.startsWith(`${owner}Function`)) ?? [];
    return (found as { Properties: { Environment: { Variables: Record<string, unknown> } } }).Properties.Environment
      .Variables;
  };

  test('gets secrets in the data stack, and the operator sets their values', () => {
    const callbacks = {
      construct: tillhouse.callbacks.secret,
      description: 'Signing key for the callbacks of tillhouse.',
    };
    for (const { construct, description } of [tillhouse.secrets['key'], callbacks].flatMap((each) => each ?? [])) {
      const found = data.findResources('AWS::SecretsManager::Secret', {
        Properties: { Description: Match.stringLikeRegexp(`${description} .*For live mode[.]$`) },
      });
      expect(Object.keys(found)).toEqual([expect.stringContaining(construct)]);
    }
  });

  test.each(['Payments', 'Callbacks', 'Orders', 'JobsPayments', 'JobsUpkeep'])(
    'has its settings and the id of its key secret in the environment of %s, which may read this secret',
    (owner) => {
      expect(variablesOf(owner)).toMatchObject({
        TILLHOUSE_URL: 'https://tillhouse.example',
        TILLHOUSE_SHOP: 'shop-7',
        TILLHOUSE_KEY_SECRET_ID: expect.anything(),
        PROCESSOR_ROUTES: JSON.stringify([
          { currency: 'CHF', processor: 'tillhouse', mode: 'live' },
          { mode: 'test', processor: 'sandbox' },
        ]),
      });
      expect(variablesOf(owner)).not.toHaveProperty('TILLHOUSE_LABEL');
      expect(secretsReadBy(owner)).toContain('TillhouseKey');
    },
  );

  test('is a source of callbacks, and only the callbacks function may read its signing secret', () => {
    const sources = JSON.stringify(variablesOf('Callbacks')['CALLBACK_SOURCES']).replaceAll('\\"', '"');
    expect(sources).toContain('{"name":"tillhouse","mode":"live","scheme":"tillhouse-seal","secretId":"');
    expect(sources).toContain('TillhouseSeal');
    const readers = [...roles.keys()].filter((owner) => secretsReadBy(owner).includes('TillhouseSeal'));
    expect(readers).toEqual(['Callbacks']);
  });

  test('has an alarm that is raised when it is unavailable', () => {
    service.hasResourceProperties('AWS::CloudWatch::Alarm', {
      MetricName: 'outbound_breaker_opened',
      Dimensions: Match.arrayWith([{ Name: 'vendor', Value: 'tillhouse' }]),
    });
  });
});

describe('the settings of a processor', () => {
  test.each<[Record<string, unknown>, string]>([
    [
      { 'payonce:tillhouseUrl': 'https://tillhouse.example' },
      'payonce:tillhouseUrl is https://tillhouse.example, so payonce:tillhouseShop must be the number of a shop, shop-…',
    ],
    [{ ...CHOSEN, 'payonce:tillhouseShop': '7' }, 'payonce:tillhouseShop is "7", but must be the number of a shop'],
    [
      { 'payonce:routes': JSON.stringify(ROUTES) },
      'payonce:routes sends payments to tillhouse, but payonce:testTillhouseUrl is missing',
    ],
    [
      { 'payonce:stripeReturnUrl': 'https://shop.example' },
      'so payonce:stripeAccount must be the id of a Stripe account',
    ],
  ])('stop the synth if they are incomplete or invalid: %j', (context, message) => {
    expect(() => buildStacks(testApp(context), { processors: REGISTRY })).toThrow(message);
  });

  test('are exactly the properties of ProcessorProps, from which the settings page is generated', () => {
    const text = readFileSync(join(PROJECT, 'lib', 'settings', 'processors.ts'), 'utf8');
    const [, props = ''] = /export interface ProcessorProps \{(.*?)\n\}/s.exec(text) ?? [];
    const named = [...props.matchAll(/readonly (\w+)\?:/g)].map(([, name = '']) => name);
    expect(named.toSorted()).toEqual(processorSettings(PROCESSORS).toSorted());
  });

  test('are refused if the processor is not in the registry', () => {
    expect(() => buildStacks(testApp(CHOSEN))).toThrow('there is no setting payonce:tillhouseUrl');
  });
});

const FROZEN = {
  SecretStringTemplate: '{}',
  GenerateStringKey: 'current',
  ExcludePunctuation: true,
  PasswordLength: 32,
};

test('secrets that a processor issues are empty until the operator sets them; all other secrets are generated', async () => {
  const { data } = await synthesize({
    'payonce:sandbox': 'false',
    'payonce:stripeAccount': 'acct_1',
    'payonce:testProcessorUrl': 'https://processor.example',
    'payonce:shopUrl': 'https://shop.example',
    'payonce:emailSender': 'shop@shop.example',
  });
  const secrets = Object.entries(present(data).findResources('AWS::SecretsManager::Secret')) as [
    string,
    { readonly Properties: Readonly<Record<string, unknown>> },
  ][];
  const empty = secrets.filter(([, { Properties }]) => Properties['GenerateSecretString'] === undefined);
  expect(empty.map(([id]) => id.slice(0, -8)).sort()).toEqual(['PostmarkToken', 'StripeCallbackSecret', 'StripeKey']);
  expect(secrets.length).toBeGreaterThan(empty.length);
  // A different generation rule would make the next deployment generate new values.
  for (const [, { Properties }] of secrets)
    expect([undefined, FROZEN]).toContainEqual(Properties['GenerateSecretString']);
});
