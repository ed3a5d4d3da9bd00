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

/** A placeholder stands for each value that is known only after deployment. */
function callbackSources(template: typeof service): string {
  const found = Object.entries(template.findResources('AWS::Lambda::Function')).find(([id]) =>
    id.startsWith('CallbacksFunction'),
  )?.[1] as { Properties: { Environment: { Variables: { CALLBACK_SOURCES: { 'Fn::Join': [string, unknown[]] } } } } };
  const [separator, parts] = found.Properties.Environment.Variables.CALLBACK_SOURCES['Fn::Join'];
  return parts.map((part) => (typeof part === 'string' ? part : `<${JSON.stringify(part)}>`)).join(separator);
}

describe('the callbacks function', () => {
  test('has a timeout of 20 seconds', () => {
    service.hasResourceProperties('AWS::Lambda::Function', {
      Timeout: 20,
      Environment: { Variables: Match.objectLike({ CALLBACK_SOURCES: Match.anyValue() }) },
    });
  });

  test('accepts callbacks of the sandbox and verifies them with the secret of the data stack', () => {
    expect(callbackSources(service)).toMatch(
      /^\[\{"name":"sandbox","mode":"test","scheme":"sandbox","secretId":"<.*PayonceData.*CallbackSecret.*>"\}\]$/,
    );
  });

  test.each(schemeNames(PROCESSORS))(
    'verifies callbacks with the scheme %s when the setting names that scheme',
    async (scheme) => {
      const template = present((await elsewhere({ 'payonce:callbackScheme': scheme })).service);
      expect(callbackSources(template)).toContain(`"scheme":"${scheme}"`);
    },
  );
});

describe('the callback signing secret', () => {
  test('is generated, is too long to guess, and is not in any template', () => {
    data.hasResourceProperties('AWS::SecretsManager::Secret', {
      GenerateSecretString: { GenerateStringKey: 'current', SecretStringTemplate: '{}', PasswordLength: 32 },
      SecretString: Match.absent(),
    });
  });

  test('is retained or deleted together with the data', async () => {
    data.allResources('AWS::SecretsManager::Secret', {
      DeletionPolicy: 'RetainExceptOnCreate',
      UpdateReplacePolicy: 'Retain',
    });
    const thrownAway = present((await synthesize({ 'payonce:retainData': 'false', 'payonce:archive': 'true' })).data);
    thrownAway.allResources('AWS::SecretsManager::Secret', { DeletionPolicy: 'Delete' });
  });
});

describe('an alarm on a metric that must stay at zero', () => {
  test.each(Object.keys(ALARMS) as AlarmMetric[])('is raised at the first %s, but not if data is missing', (metric) => {
    service.hasResourceProperties('AWS::CloudWatch::Alarm', {
      Namespace: 'Payonce',
      MetricName: metric,
      Dimensions: [{ Name: 'service', Value: 'alarms' }],
      Statistic: 'Sum',
      Period: 60,
      EvaluationPeriods: 1,
      Threshold: 1,
      ComparisonOperator: 'GreaterThanOrEqualToThreshold',
      TreatMissingData: 'notBreaching',
    });
  });
});

describe('the callback address', () => {
  test('is an SSM parameter for the sandbox, and does not exist without the sandbox', async () => {
    service.hasResourceProperties('AWS::SSM::Parameter', {
      Name: '/payonce/sandbox/callback-address',
      Value: { 'Fn::Join': ['', Match.arrayWith(['https://', '/callbacks/sandbox/test'])] },
    });
    present((await elsewhere()).service).resourceCountIs('AWS::SSM::Parameter', 0);
  });
});
