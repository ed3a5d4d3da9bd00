import {
  CloudFormationClient,
  DescribeStacksCommand,
  paginateListStackResources,
  type Output as StackOutputShape,
} from '@aws-sdk/client-cloudformation';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { type StackName, StackOutput, stackNameOf } from '../lambdas/kernel/contract/api.ts';
import { Environment } from '../lambdas/kernel/contract/environment.ts';
import { documentClient } from '../lambdas/kernel/platform/document-client.ts';
import { systemClock, systemEntropy } from '../lambdas/kernel/platform/platform.ts';
import { CliFailure, ExitCode } from './failure.ts';

/** Absent values are taken from the environment of the process. */
export interface AwsTarget {
  /**
   * The deployment's setting `payonce:environment`.
   * @default the deployment without this setting
   */
  readonly environment?: string;
  readonly endpoint?: string;
  readonly region?: string;
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
}

type Stack = keyof typeof StackName;
type Output = keyof typeof StackOutput;

/**
 * @throws CliFailure with a message that names the missing stack, or that names the missing output and ends with
 * `otherwise`
 */
export async function stackOutputs<const Names extends readonly Output[]>(
  target: AwsTarget,
  stack: Stack,
  names: Names,
  otherwise = 'deploy this version of Payonce.',
): Promise<{ readonly [Index in keyof Names]: string }> {
  const outputs = await outputsOf(target, stack);
  const found = names.map((output) => {
    const value = outputs.find(({ OutputKey }) => OutputKey === StackOutput[output])?.OutputValue;
    if (value !== undefined) return value;
    const name = stackNameOf(stack, target.environment);
    throw new CliFailure(ExitCode.notFound, `The stack ${name} has no output ${StackOutput[output]}: ${otherwise}`);
  });
  return found as { readonly [Index in keyof Names]: string };
}

/**
 * @returns undefined for a deployment without this output
 * @throws CliFailure when the stack does not exist
 */
export async function stackOutput(target: AwsTarget, stack: Stack, name: Output): Promise<string | undefined> {
  return (await outputsOf(target, stack)).find(({ OutputKey }) => OutputKey === StackOutput[name])?.OutputValue;
}

async function outputsOf(target: AwsTarget, stack: Stack): Promise<readonly StackOutputShape[]> {
  const client = new CloudFormationClient(target);
  const name = stackNameOf(stack, target.environment);
  const { Stacks = [] } = await client.send(new DescribeStacksCommand({ StackName: name })).catch(async (error) => {
    throw await withoutStack(client, name, error);
  });
  return Stacks[0]?.Outputs ?? [];
}

async function withoutStack(client: CloudFormationClient, name: string, error: unknown): Promise<unknown> {
  if (!(error instanceof Error) || !error.message.includes('does not exist')) return error;
  const region = await client.config.region();
  return new CliFailure(
    ExitCode.notFound,
    `There is no stack ${name} in ${region}: deploy it with "npx cdk deploy --all", or set AWS_REGION or AWS_PROFILE to its region.`,
    { cause: error },
  );
}

/** Also sets the peak rates of the deployment in this process, so that its stores use the same partitions. */
export async function openTables(target: AwsTarget) {
  const [idempotency, ledger, registry, views] = await stackOutputs(target, 'data', [
    'idempotencyTable',
    'ledgerTable',
    'registryTable',
    'viewsTable',
  ]);
  const peakRates = await stackOutput(target, 'data', 'peakRates');
  if (peakRates === undefined) delete process.env[Environment.peakRates];
  else process.env[Environment.peakRates] = peakRates;
  return {
    client: documentClient(new DynamoDBClient({ ...target, maxAttempts: 1 })),
    tables: { idempotency, ledger, registry, views },
    pacing: { clock: systemClock, entropy: systemEntropy },
  };
}

export async function serviceQueues(target: AwsTarget): Promise<readonly string[]> {
  const found: string[] = [];
  const pages = paginateListStackResources(
    { client: new CloudFormationClient(target) },
    { StackName: stackNameOf('service', target.environment) },
  );
  for await (const { StackResourceSummaries = [] } of pages) {
    for (const { ResourceType, PhysicalResourceId } of StackResourceSummaries) {
      if (ResourceType === 'AWS::SQS::Queue' && PhysicalResourceId !== undefined) found.push(PhysicalResourceId);
    }
  }
  return found;
}
