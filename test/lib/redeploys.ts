import type { Template } from 'aws-cdk-lib/assertions';
import type { StackName } from '../../lambdas/kernel/contract/api.ts';

interface Resource {
  readonly Type: string;
  readonly Properties?: Readonly<Record<string, unknown>>;
}

interface Output {
  readonly Export?: unknown;
}

type Stacks = Readonly<Record<keyof typeof StackName, Template | undefined>>;

/**
 * Properties that must not change: CloudFormation would replace the resource ("Update requires: Replacement" in the
 * template reference), or generate a new secret.
 */
const FINAL: Readonly<Record<string, readonly string[]>> = {
  'AWS::ApiGateway::RestApi': ['Mode', 'CloneFrom'],
  'AWS::ApiGateway::Stage': ['StageName', 'RestApiId'],
  'AWS::CloudWatch::Dashboard': ['DashboardName'],
  // `GlobalSecondaryIndexes` is included because one update may create or delete at most one global index.
  'AWS::DynamoDB::Table': [
    'TableName',
    'KeySchema',
    'AttributeDefinitions',
    'LocalSecondaryIndexes',
    'GlobalSecondaryIndexes',
  ],
  'AWS::Events::Archive': ['ArchiveName', 'SourceArn'],
  'AWS::Events::EventBus': ['Name'],
  'AWS::Events::Rule': ['Name', 'EventBusName'],
  'AWS::KMS::Key': ['KeySpec', 'KeyUsage', 'MultiRegion'],
  'AWS::Lambda::EventSourceMapping': ['EventSourceArn', 'StartingPosition', 'StartingPositionTimestamp'],
  'AWS::Logs::LogGroup': ['LogGroupName'],
  'AWS::SNS::Topic': ['TopicName', 'FifoTopic'],
  'AWS::SQS::Queue': ['QueueName', 'FifoQueue'],
  'AWS::SSM::Parameter': ['Name', 'Type'],
  'AWS::Scheduler::Schedule': ['Name', 'GroupName'],
  'AWS::SecretsManager::Secret': ['Name', 'GenerateSecretString'],
};

/** The CDK deploys a stack before the stacks that refer to it. */
export function faultsOf(before: Stacks, after: Stacks): readonly string[] {
  return (['data', 'sandbox', 'service'] as const).flatMap((stack) => {
    const [old, next] = [before[stack]?.toJSON(), after[stack]?.toJSON()];
    if (old === undefined || next === undefined) return [];
    return [
      ...replaced(old['Resources'] as Resources, next['Resources'] as Resources).map((what) => `${stack}: ${what}`),
      ...exportsRemoved(old, next, before).map((name) => `${stack}: the export ${name} is removed and still imported`),
      ...outputsRemoved(stack, before, next).map((name) => `${stack}: the output ${name} is removed and still read`),
    ];
  });
}

type Resources = Readonly<Record<string, Resource>>;

function replaced(old: Resources, next: Resources): readonly string[] {
  return Object.entries(old).flatMap(([id, { Type, Properties = {} }]) => {
    const other = next[id];
    if (other === undefined) return [];
    if (other.Type !== Type) return [`${id} was a ${Type} and is a ${other.Type}`];
    const changed = (FINAL[Type] ?? []).filter((name) => textOf(Properties[name]) !== textOf(other.Properties?.[name]));
    return changed.map((name) => `${name} of ${id} changes`);
  });
}

/** Lists the stateful resources, each as its stack and logical id. */
export function heldBy(stacks: Stacks): readonly string[] {
  return Object.entries(stacks).flatMap(([stack, template]) =>
    Object.entries((template?.toJSON()['Resources'] ?? {}) as Resources)
      .filter(([, { Type }]) => Type in FINAL)
      .map(([id]) => `${stack} ${id}`),
  );
}

/** Omits the warm throughput, whose change replaces nothing. */
function textOf(value: unknown): string | undefined {
  return JSON.stringify(value, (name, part: unknown) => (name === 'WarmThroughput' ? undefined : part));
}

const texts = new WeakMap<Stacks, string>();

/** Each deployment is compared with many others, but serialized once. */
function textOfAll(stacks: Stacks): string {
  const text = texts.get(stacks) ?? JSON.stringify(Object.values(stacks).map((template) => template?.toJSON()));
  texts.set(stacks, text);
  return text;
}

/** If a stack that reads a removed output were rolled back, it would not find the output. */
function outputsRemoved(
  stack: keyof typeof StackName,
  before: Stacks,
  next: Record<string, unknown>,
): readonly string[] {
  const all = textOfAll(before);
  const outputs = (template: Record<string, unknown> | undefined) => Object.keys(template?.['Outputs'] ?? {});
  const kept = new Set(outputs(next));
  return outputs(before[stack]?.toJSON()).filter((name) => !kept.has(name) && all.includes(`"OutputName":"${name}"`));
}

/** CloudFormation refuses to remove an export that is still imported. */
function exportsRemoved(
  old: Record<string, unknown>,
  next: Record<string, unknown>,
  before: Stacks,
): readonly string[] {
  const exported = (template: Record<string, unknown>) =>
    Object.values((template['Outputs'] ?? {}) as Readonly<Record<string, Output>>).flatMap(({ Export }) =>
      Export === undefined ? [] : [JSON.stringify((Export as { readonly Name: unknown }).Name)],
    );
  const kept = new Set(exported(next));
  const all = textOfAll(before);
  return exported(old).filter((name) => !kept.has(name) && all.includes(`{"Fn::ImportValue":${name}}`));
}
