import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';

/** Where an operator's command goes: nothing stands for his own AWS credentials and region. */
export interface AwsAccess {
  readonly endpoint?: string;
  readonly region?: string;
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
}

interface LocalState {
  readonly awsEndpoint: string;
  readonly region: string;
  readonly apiUrl: string;
  readonly adminApiKey: string;
  readonly tables: { readonly registry: string };
}

/** What `npm start` brought up. @throws Error when nothing runs */
export function localState(): LocalState {
  const file = resolve(join(import.meta.dirname, '..', '.payonce', 'local.json'));
  if (!existsSync(file)) throw new Error('Nothing runs locally: start it with "npm start".');
  return JSON.parse(readFileSync(file, 'utf8')) as LocalState;
}

export function localAccess(): Required<AwsAccess> {
  const { awsEndpoint: endpoint, region } = localState();
  return { endpoint, region, credentials: { accessKeyId: 'test', secretAccessKey: 'test' } };
}

/** An output of a deployed stack. @throws Error saying how else to name it */
export async function deployedOutput(
  stack: string,
  output: string,
  { access = {}, otherwise }: { readonly access?: AwsAccess; readonly otherwise: string },
): Promise<string> {
  const { Stacks = [] } = await new CloudFormationClient(access).send(new DescribeStacksCommand({ StackName: stack }));
  const value = Stacks[0]?.Outputs?.find(({ OutputKey }) => OutputKey === output)?.OutputValue;
  if (value === undefined) throw new Error(`The stack ${stack} has no output ${output}: ${otherwise}`);
  return value;
}
