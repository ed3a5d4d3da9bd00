import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import {
  CloudFormationClient,
  DescribeStacksCommand,
  paginateListStackResources,
} from '@aws-sdk/client-cloudformation';
import { StackName, StackOutput } from '../lambdas/kernel/contract/api.ts';

/** Where AWS is and who asks: your own credentials and region, or the local stack. */
export interface AwsTarget {
  readonly endpoint?: string;
  readonly region?: string;
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
}

/** @throws Error when nothing runs locally */
export function awsTarget(local: boolean): AwsTarget {
  if (!local) return {};
  const file = resolve(join(import.meta.dirname, '..', '.payonce', 'local.json'));
  if (!existsSync(file)) throw new Error('Nothing runs locally: start it with "npm start".');
  const { awsEndpoint, region } = JSON.parse(readFileSync(file, 'utf8')) as { awsEndpoint: string; region: string };
  return { endpoint: awsEndpoint, region, credentials: { accessKeyId: 'test', secretAccessKey: 'test' } };
}

/** @throws Error naming the output that is not there */
export async function serviceOutput(target: AwsTarget, output: keyof typeof StackOutput): Promise<string> {
  const client = new CloudFormationClient(target);
  const { Stacks = [] } = await client.send(new DescribeStacksCommand({ StackName: StackName.service }));
  const found = Stacks[0]?.Outputs?.find(({ OutputKey }) => OutputKey === StackOutput[output])?.OutputValue;
  if (found === undefined) throw new Error(`The stack ${StackName.service} has no output ${StackOutput[output]}.`);
  return found;
}

/** The addresses of the service's queues for what could not be consumed. */
export async function deadLetterQueues(target: AwsTarget): Promise<readonly string[]> {
  const found: string[] = [];
  const pages = paginateListStackResources(
    { client: new CloudFormationClient(target) },
    { StackName: StackName.service },
  );
  for await (const { StackResourceSummaries = [] } of pages) {
    for (const { ResourceType, LogicalResourceId = '', PhysicalResourceId } of StackResourceSummaries) {
      const isDeadLetters = ResourceType === 'AWS::SQS::Queue' && LogicalResourceId.includes('DeadLetters');
      if (isDeadLetters && PhysicalResourceId !== undefined) found.push(PhysicalResourceId);
    }
  }
  return found;
}
