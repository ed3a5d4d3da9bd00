import { join } from 'node:path';
import {
  CloudFormationClient,
  DeleteStackCommand,
  DescribeStacksCommand,
  waitUntilStackDeleteComplete,
} from '@aws-sdk/client-cloudformation';
import {
  GetFunctionConfigurationCommand,
  LambdaClient,
  PutFunctionConcurrencyCommand,
  UpdateFunctionConfigurationCommand,
} from '@aws-sdk/client-lambda';
import { DeleteParameterCommand, PutParameterCommand, SSMClient } from '@aws-sdk/client-ssm';
import { StackName, StackOutput } from '../lambdas/kernel/contract/api.ts';
import { deploy, type StackOutputs } from '../local/cdk.ts';
import { accessTo } from '../local/emulator-environment.ts';
import { StartFailure } from '../local/failure.ts';
import { type LocalAws, openQueuesToPlainHttp, reachable } from '../local/local-aws.ts';
import {
  BUS_CONTEXT,
  DemoEnvironment,
  DemoOutput,
  DemoStackName,
  SHOP_AT_ONCE,
  SHOP_CALLBACK_PARAMETER,
  SHOP_CALLBACK_PATH,
} from './contract.ts';

const APP = `node '${join(import.meta.dirname, 'app.ts')}'`;

/** Addresses have no trailing slash. */
export type DeployedDemo = Readonly<Record<keyof typeof DemoOutput | 'shopProcessorUrl', string>>;

/**
 * Uses the CDK CLI, as on AWS.
 *
 * @throws StartFailure when the running stack is older than this code, or the CLI fails
 */
export async function deployDemo(
  aws: LocalAws,
  directory: string,
  report: (line: string) => void,
): Promise<DeployedDemo> {
  const eventBus = await eventBusOf(aws);
  const outputs = await deploy(
    { access: aws, directory, report },
    { command: APP, context: { [BUS_CONTEXT]: eventBus } },
  );
  await openQueuesToPlainHttp(aws);
  const own = Object.fromEntries(
    Object.entries(DemoOutput).map(([name, output]) => [name, outputOf(outputs, DemoStackName.demo, output)]),
  ) as Record<keyof typeof DemoOutput, string>;
  const demo = {
    ...own,
    shopUrl: reachable(aws.awsEndpoint, own.shopUrl),
    shopProcessorUrl: reachable(aws.awsEndpoint, outputOf(outputs, DemoStackName.processor, StackOutput.sandboxUrl)),
  };
  await introduce(aws, demo);
  return demo;
}

const REMOVED_WITHIN_SECONDS = 60;
const DELETION_POLL_SECONDS = 0.1;

export async function removeDemo(aws: LocalAws): Promise<void> {
  const config = accessTo(aws);
  const client = new CloudFormationClient(config);
  // Delete the processor's stack first, because it imports values from the demonstration's stack.
  for (const name of [DemoStackName.processor, DemoStackName.demo]) {
    await client.send(new DeleteStackCommand({ StackName: name }));
    const patience = {
      client,
      maxWaitTime: REMOVED_WITHIN_SECONDS,
      minDelay: DELETION_POLL_SECONDS,
      maxDelay: DELETION_POLL_SECONDS,
    };
    await waitUntilStackDeleteComplete(patience, { StackName: name });
  }
  await new SSMClient(config).send(new DeleteParameterCommand({ Name: SHOP_CALLBACK_PARAMETER }));
}

async function introduce(aws: LocalAws, { shopFunction, shopUrl, shopProcessorUrl }: DeployedDemo): Promise<void> {
  const config = accessTo(aws);
  const lambda = new LambdaClient(config);
  const ssm = new SSMClient(config);
  const { Environment: { Variables = {} } = {} } = await lambda.send(
    new GetFunctionConfigurationCommand({ FunctionName: shopFunction }),
  );
  await lambda.send(
    new UpdateFunctionConfigurationCommand({
      FunctionName: shopFunction,
      Environment: { Variables: { ...Variables, [DemoEnvironment.shopProcessorUrl]: shopProcessorUrl } },
    }),
  );
  // The template contains this limit, too, but the emulator's CloudFormation ignores it.
  await lambda.send(
    new PutFunctionConcurrencyCommand({ FunctionName: shopFunction, ReservedConcurrentExecutions: SHOP_AT_ONCE }),
  );
  await ssm.send(
    new PutParameterCommand({
      Name: SHOP_CALLBACK_PARAMETER,
      Value: `${shopUrl}${SHOP_CALLBACK_PATH}`,
      Type: 'String',
      Overwrite: true,
    }),
  );
}

export async function demoIsDeployed(aws: LocalAws): Promise<boolean> {
  const names = (await stacksOf(aws)).map(({ StackName: name }) => name);
  return Object.values(DemoStackName).every((name) => names.includes(name));
}

async function stacksOf(aws: LocalAws) {
  const client = new CloudFormationClient(accessTo(aws));
  const { Stacks = [] } = await client.send(new DescribeStacksCommand({}));
  return Stacks;
}

async function eventBusOf(aws: LocalAws): Promise<string> {
  const outputs = (await stacksOf(aws))
    .filter(({ StackName: name }) => name === StackName.data)
    .flatMap(({ Outputs = [] }) => Outputs);
  const bus = outputs.find(({ OutputKey }) => OutputKey === StackOutput.eventBus)?.OutputValue;
  if (bus === undefined) {
    throw new StartFailure(
      'The running stack is older than this code: it has no event bus. Run "npm stop", then "npm start -- --detach".',
    );
  }
  return bus;
}

function outputOf(outputs: StackOutputs, stack: string, output: string): string {
  const value = outputs[stack]?.[output];
  if (value === undefined) throw new StartFailure(`The stack ${stack} has no output ${output}`);
  return value;
}
