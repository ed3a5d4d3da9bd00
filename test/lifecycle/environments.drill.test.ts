/** Tests the guarantee "safe deploys". */
import {
  CloudFormationClient,
  CreateStackCommand,
  DeleteStackCommand,
  paginateListStackResources,
  waitUntilStackCreateComplete,
  waitUntilStackDeleteComplete,
} from '@aws-sdk/client-cloudformation';
import { DescribeTableCommand } from '@aws-sdk/client-dynamodb';
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { GetQueueAttributesCommand, SQSClient } from '@aws-sdk/client-sqs';
import { describe, expect, test } from '@jest/globals';
import { PROBES } from '../../cli/probes.ts';
import { stackNameOf } from '../../lambdas/kernel/contract/api.ts';
import { ASSETS_BUCKET, PAYONCE } from '../../local/cdk.ts';
import { ApiClient } from '../support/api-client.ts';
import { payonce } from '../support/command-line.ts';
import { CREDENTIALS, dynamoDbClient, localAws } from '../support/local-aws.ts';
import { synthesize } from '../support/synth.ts';

const ENVIRONMENT = 'second';
/** In the order in which the CDK deploys them. */
const STACKS = ['archive', 'data', 'sandbox', 'service'] as const;
const aws = localAws();
const target = { endpoint: aws.awsEndpoint, region: aws.region, credentials: CREDENTIALS };
const stacks = new CloudFormationClient(target);
const s3 = new S3Client({ ...target, forcePathStyle: true });
const sqs = new SQSClient(target);
const patience = { client: stacks, maxWaitTime: 600, minDelay: 1, maxDelay: 1 };
/** Templates without function code, because the test checks only names. */
const templates = await synthesize({ ...PAYONCE.context, 'payonce:environment': ENVIRONMENT });

async function deployAll(): Promise<void> {
  for (const stack of STACKS) {
    const StackName = stackNameOf(stack, ENVIRONMENT);
    const Key = `${StackName}.json`;
    await s3.send(
      new PutObjectCommand({ Bucket: ASSETS_BUCKET, Key, Body: JSON.stringify(templates[stack]?.toJSON()) }),
    );
    const TemplateURL = `${aws.awsEndpoint}/${ASSETS_BUCKET}/${Key}`;
    await stacks.send(new CreateStackCommand({ StackName, TemplateURL, Capabilities: ['CAPABILITY_NAMED_IAM'] }));
    await waitUntilStackCreateComplete(patience, { StackName });
  }
}

async function destroyAll(): Promise<void> {
  for (const stack of STACKS.toReversed()) {
    const StackName = stackNameOf(stack, ENVIRONMENT);
    await stacks.send(new DeleteStackCommand({ StackName }));
    await waitUntilStackDeleteComplete(patience, { StackName });
  }
}

async function resourcesOf(stack: (typeof STACKS)[number], type: string): Promise<readonly string[]> {
  const StackName = stackNameOf(stack, ENVIRONMENT);
  const found: string[] = [];
  for await (const { StackResourceSummaries = [] } of paginateListStackResources({ client: stacks }, { StackName })) {
    for (const { ResourceType, PhysicalResourceId = '' } of StackResourceSummaries)
      if (ResourceType === type) found.push(PhysicalResourceId);
  }
  return found;
}

const everything = async () => ({
  tables: await resourcesOf('data', 'AWS::DynamoDB::Table'),
  buses: await resourcesOf('data', 'AWS::Events::EventBus'),
  queues: await resourcesOf('service', 'AWS::SQS::Queue'),
});

test('a second environment can be deployed, destroyed and deployed again while the first exists', async () => {
  await deployAll();
  const made = await everything();
  expect(made.tables).toHaveLength(4);
  expect(made.queues.length).toBeGreaterThan(10);
  expect(made.tables).not.toContain(aws.tables.ledger);

  await destroyAll();
  for (const TableName of made.tables) await dynamoDbClient().send(new DescribeTableCommand({ TableName }));
  for (const QueueUrl of made.queues) await sqs.send(new GetQueueAttributesCommand({ QueueUrl }));

  await deployAll();
  const again = await everything();
  // CloudFormation generates all names except the name of the bus. On AWS, the generated names contain random text; the
  // emulator always uses the same text.
  expect(made.buses).toHaveLength(1);
  expect(again.buses).not.toEqual(made.buses);
  await destroyAll();
  await new ApiClient(aws, aws.apiKey).payUntilSucceeded({ key: 'next-to-another-environment' });
});

describe('payonce doctor', () => {
  const doctor = async (...words: readonly string[]) => {
    const { code, said } = await payonce(aws, '--json', ...words);
    const end = said.lastIndexOf('\n}') + 2;
    return { code, output: JSON.parse(said.slice(0, end)) as DoctorOutput };
  };

  interface DoctorOutput {
    readonly deployed: boolean;
    readonly data: readonly { readonly check: string; readonly about: string }[];
    readonly probes?: readonly { readonly id: string; readonly result: string; readonly seen: string }[];
  }

  test('checks the account’s log role before the first deployment', async () => {
    const { code, output } = await doctor('--environment', 'nowhere', 'doctor');
    expect(output).toMatchObject({ deployed: false, data: [{ check: 'log_role' }] });
    expect(code).toBe(1);
  });

  test('reads the settings and the keys of a deployment', async () => {
    // The jobs function records the settings before it responds.
    const jobs = await fetch(`${aws.apiUrl}/v1/admin/jobs`, {
      headers: { Authorization: `Bearer ${aws.operatorKey}` },
    });
    expect(jobs.status).toBe(200);
    const { said } = await payonce(
      aws,
      '--json',
      'keys',
      'create',
      '--tenant',
      aws.tenantId,
      '--mode',
      'live',
      '--name',
      'x',
    );
    const { id } = JSON.parse(said) as { readonly id: string };
    const { output } = await doctor('doctor');
    expect(output.data).toContainEqual(expect.objectContaining({ check: 'sandbox_with_live_keys', about: id }));
    expect(output.data).toContainEqual(expect.objectContaining({ check: 'key_without_expiry', about: id }));
    await payonce(aws, 'keys', 'revoke', id);
    const { output: after } = await doctor('doctor');
    expect(after.data.filter(({ about }) => about === id)).toEqual([]);
  });

  test('probes a deployment, and reports each probe with an unexpected result as failed', async () => {
    const { output } = await doctor('doctor', '--probe', '--url', aws.apiUrl, '--key', aws.apiKey);
    expect(output.deployed).toBe(true);
    expect(output.probes?.map(({ id }) => id)).toEqual(PROBES.map(({ id }) => id));
    // The probes detect that the emulator's CloudFormation ignores two settings.
    expect(output.probes?.filter(({ result }) => result !== 'passed')).toEqual([
      { id: 'recursive-loops', result: 'failed', seen: 'Terminate,Terminate,Terminate' },
      { id: 'point-in-time-recovery', result: 'failed', seen: 'DISABLED,DISABLED,DISABLED,DISABLED' },
    ]);
  });
});
