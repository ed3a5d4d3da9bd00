import { CloudFormationClient, paginateListStackResources } from '@aws-sdk/client-cloudformation';
import { GetFunctionConfigurationCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { POSTGRES_AUTHORITY, type PostgresSettings } from '../lambdas/authority/contract.ts';
import { stackNameOf } from '../lambdas/kernel/contract/api.ts';
import { systemClock } from '../lambdas/kernel/platform/platform.ts';
import { DSQL_ADMIN, dsqlServer } from '../lambdas/postgres/dsql.ts';
import type { Server } from '../lambdas/postgres/server.ts';
import type { AwsTarget } from './deployment.ts';
import { CliFailure, ExitCode } from './failure.ts';

interface DeployedCluster {
  readonly endpoint: string;
  /** Empty while the functions use another database, for example before an import into the cluster. */
  readonly iamRoles: readonly string[];
}

/** @throws CliFailure if there is no cluster */
export async function deployedCluster(target: AwsTarget): Promise<DeployedCluster> {
  const lambda = new LambdaClient(target);
  const [id] = await resourcesOf(target, 'data', 'AWS::DSQL::Cluster');
  if (id === undefined)
    throw new CliFailure(ExitCode.notFound, 'The deployment has no cluster: deploy with payonce:authority=dsql.');
  const iamRoles: string[] = [];
  for (const FunctionName of await resourcesOf(target, 'service', 'AWS::Lambda::Function')) {
    const { Role, Environment } = await lambda.send(new GetFunctionConfigurationCommand({ FunctionName }));
    const { [POSTGRES_AUTHORITY]: settings = '{}' } = Environment?.Variables ?? {};
    const { host, secretId } = JSON.parse(settings) as Partial<PostgresSettings>;
    if (host !== undefined && secretId === undefined && Role !== undefined) iamRoles.push(Role);
  }
  return { endpoint: `${id}.dsql.${await lambda.config.region()}.on.aws`, iamRoles };
}

async function resourcesOf(target: AwsTarget, stack: 'data' | 'service', type: string): Promise<readonly string[]> {
  const found: string[] = [];
  const pages = paginateListStackResources(
    { client: new CloudFormationClient(target) },
    { StackName: stackNameOf(stack, target.environment) },
  );
  for await (const { StackResourceSummaries = [] } of pages)
    for (const { ResourceType, PhysicalResourceId } of StackResourceSummaries)
      if (ResourceType === type && PhysicalResourceId !== undefined) found.push(PhysicalResourceId);
  return found;
}

/** Uses the credentials of the cluster's administrator. @throws CliFailure as {@link deployedCluster} */
export async function serverOfCluster(target: AwsTarget): Promise<Server> {
  const { endpoint } = await deployedCluster(target);
  const { credentials } = new LambdaClient(target).config;
  return dsqlServer({ endpoint, user: DSQL_ADMIN, keys: () => credentials(), clock: systemClock });
}
