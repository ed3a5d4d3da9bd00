import { describe, expect, test } from '@jest/globals';
import { type StackName, stackNameOf } from '../../lambdas/kernel/contract/api.ts';
import { synthesize } from '../support/synth.ts';
import { present } from './templates.ts';

const WITH_NAMES = {
  'payonce:alarmEmail': 'on-call@shop.example',
  'payonce:firewall': 'true',
  'payonce:archive': 'true',
};
const alone = await synthesize(WITH_NAMES);
const staging = await synthesize({ ...WITH_NAMES, 'payonce:environment': 'staging' });
const STACKS = ['archive', 'data', 'service', 'sandbox'] as const satisfies (keyof typeof StackName)[];

interface Resource {
  readonly Type: string;
  readonly Properties?: Readonly<Record<string, unknown>>;
}

type Resources = Readonly<Record<string, Resource>>;

/** Property that sets a fixed physical name, keyed by resource type. CloudFormation generates all other names. */
const FIXED: Readonly<Record<string, string>> = {
  'AWS::ApiGateway::RestApi': 'Name',
  'AWS::CloudWatch::Dashboard': 'DashboardName',
  'AWS::Events::EventBus': 'Name',
  'AWS::Logs::LogGroup': 'LogGroupName',
  'AWS::SSM::Parameter': 'Name',
};

function resourcesOf(stacks: typeof alone, stack: keyof typeof StackName): Resources {
  return present(stacks[stack]).toJSON()['Resources'] as Resources;
}

/** Omits the gateway's deployment, which every change of the API replaces. */
function logicalIds(stacks: typeof alone, stack: keyof typeof StackName): readonly string[] {
  const resources = Object.entries(resourcesOf(stacks, stack));
  return resources.filter(([, { Type }]) => Type !== 'AWS::ApiGateway::Deployment').map(([id]) => id);
}

describe('two environments in one account and region', () => {
  test('have the same resources, in stacks with different names', () => {
    expect(stackNameOf('data')).toBe('PayonceData');
    expect(stackNameOf('data', 'staging')).toBe('staging-PayonceData');
    for (const stack of STACKS) expect(logicalIds(staging, stack)).toEqual(logicalIds(alone, stack));
  });

  test('share no fixed name', () => {
    const names = (stacks: typeof alone) =>
      STACKS.flatMap((stack) => Object.values(resourcesOf(stacks, stack))).flatMap(({ Type, Properties = {} }) => {
        const name = Properties[FIXED[Type] ?? ''];
        return name === undefined ? [] : [`${Type} ${JSON.stringify(name)}`];
      });
    const others = names(staging);
    expect(others).toHaveLength(7);
    expect(others.filter((name) => !name.includes('staging'))).toEqual([]);
    expect(names(alone).filter((name) => name.includes('staging'))).toEqual([]);
  });

  test('have separate metrics, alarms and dashboards', () => {
    const functions = STACKS.flatMap((stack) =>
      Object.values(present(staging[stack]).findResources('AWS::Lambda::Function')),
    ) as { readonly Properties: { readonly Environment: { readonly Variables: Record<string, unknown> } } }[];
    expect(functions.length).toBeGreaterThan(15);
    for (const { Properties } of functions)
      expect(Properties.Environment.Variables['POWERTOOLS_METRICS_NAMESPACE']).toBe('Payonce/staging');
    const watching = JSON.stringify([
      present(staging.service).findResources('AWS::CloudWatch::Alarm'),
      present(staging.service).findResources('AWS::CloudWatch::Dashboard'),
    ]);
    expect(watching).toContain('"Namespace":"Payonce/staging"');
    expect(watching).not.toMatch(/"Payonce"|\\"Payonce\\"/);
    expect(JSON.stringify(present(alone.service).toJSON())).toContain('"Namespace":"Payonce"');
  });
});
