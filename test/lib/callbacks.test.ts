import { describe, expect, test } from '@jest/globals';
import { Match } from 'aws-cdk-lib/assertions';
import { ALARMS, type AlarmMetric } from '../../lambdas/kernel/contract/metrics.ts';
import { schemeNames } from '../../lambdas/processors/contract.ts';
import { PROCESSORS } from '../../lambdas/processors/registry.ts';
import { synthesize } from '../support/synth.ts';
import { present } from './templates.ts';

const stacks = await synthesize();
const data = present(stacks.data);
const service = present(stacks.service);

const elsewhere = (context: Record<string, unknown> = {}) =>
  synthesize({ 'payonce:sandbox': 'false', 'payonce:processorUrl': 'https://processor.example', ...context });

/** The text of CALLBACK_SOURCES, with a word in the place of what only a deployment knows. */
function callbackSources(template: typeof service): string {
  const found = Object.entries(template.findResources('AWS::Lambda::Function')).find(([id]) =>
    id.startsWith('CallbacksFunction'),
  )?.[1] as { Properties: { Environment: { Variables: { CALLBACK_SOURCES: { 'Fn::Join': [string, unknown[]] } } } } };
  const [separator, parts] = found.Properties.Environment.Variables.CALLBACK_SOURCES['Fn::Join'];
  return parts.map((part) => (typeof part === 'string' ? part : `<${JSON.stringify(part)}>`)).join(separator);
}

describe('the callbacks function', () => {
  test('ends before the processors that wait longest give up', () => {
    service.hasResourceProperties('AWS::Lambda::Function', {
      Timeout: 20,
      Environment: { Variables: Match.objectLike({ CALLBACK_SOURCES: Match.anyValue() }) },
    });
  });

  test('takes callbacks of the sandbox, verified with the secret of the data stack', () => {
    expect(callbackSources(service)).toMatch(
      /^\[\{"name":"sandbox","scheme":"sandbox","secretId":"<.*PayonceData:.*CallbackSecret.*>"\}\]$/,
    );
  });

  test.each(schemeNames(PROCESSORS))('verifies as %s when the setting says so', async (scheme) => {
    const template = present((await elsewhere({ 'payonce:callbackScheme': scheme })).service);
    expect(callbackSources(template)).toContain(`"scheme":"${scheme}"`);
  });
});

describe('the secret of callbacks', () => {
  test('is made at random, long enough not to be guessed, and is in no template', () => {
    data.hasResourceProperties('AWS::SecretsManager::Secret', {
      GenerateSecretString: { GenerateStringKey: 'current', SecretStringTemplate: '{}', PasswordLength: 32 },
      SecretString: Match.absent(),
    });
  });

  test('is kept when data is kept, and goes when it may be thrown away', async () => {
    data.allResources('AWS::SecretsManager::Secret', { DeletionPolicy: 'Retain', UpdateReplacePolicy: 'Retain' });
    const thrownAway = present((await synthesize({ 'payonce:retainData': 'false' })).data);
    thrownAway.allResources('AWS::SecretsManager::Secret', { DeletionPolicy: 'Delete' });
  });
});

describe('what needs a person', () => {
  const alarms = Object.values(service.findResources('AWS::CloudWatch::Alarm')) as {
    Properties: { MetricName: string; Dimensions: { Name: string; Value: string }[] };
  }[];
  const watched = alarms.map(({ Properties }) => `${Properties.MetricName} of ${Properties.Dimensions[0]?.Value}`);

  const TOLD_BY = {
    late_success: 'callbacks',
    contradiction: 'callbacks',
    undecidable: 'payment-jobs',
    order_needs_review: 'payment-jobs',
  } as const;

  test.each(Object.keys(ALARMS) as AlarmMetric[])(
    'raises an alarm at its first %s, and none while nothing is told',
    (metric) => {
      service.hasResourceProperties('AWS::CloudWatch::Alarm', {
        Namespace: 'Payonce',
        MetricName: metric,
        Dimensions: [{ Name: 'service', Value: TOLD_BY[metric] }],
        Statistic: 'Sum',
        Period: 60,
        EvaluationPeriods: 1,
        Threshold: 1,
        ComparisonOperator: 'GreaterThanOrEqualToThreshold',
        TreatMissingData: 'notBreaching',
      });
    },
  );

  test('is watched in every function that can find money where none may be', () => {
    expect(watched).toEqual(expect.arrayContaining(['late_success of callbacks', 'late_success of payment-jobs']));
  });
});

describe('the address of callbacks', () => {
  test('is told to the sandbox, and to nobody where there is none', async () => {
    service.hasResourceProperties('AWS::SSM::Parameter', {
      Name: '/payonce/sandbox/callback-address',
      Value: { 'Fn::Join': ['', Match.arrayWith(['https://', '/callbacks/sandbox'])] },
    });
    present((await elsewhere()).service).resourceCountIs('AWS::SSM::Parameter', 0);
  });
});
