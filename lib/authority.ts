import type { Stack } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { CfnFunction } from 'aws-cdk-lib/aws-lambda';
import { AUTHORITY_FUNCTIONS, POSTGRES_AUTHORITY, type PostgresSettings } from '../lambdas/authority/contract.ts';
import { defined } from '../lambdas/kernel/defined.ts';
import { PayonceFunction } from './constructs/payonce-function.ts';
import type { AuthoritySettings } from './settings/authority.ts';

/**
 * The permissions with which Lambda attaches a function to a VPC. They do not support resource-level permissions (AWS
 * Lambda developer guide, "Giving Lambda functions access to resources in an Amazon VPC").
 */
const ATTACH = [
  'ec2:AssignPrivateIpAddresses',
  'ec2:CreateNetworkInterface',
  'ec2:DeleteNetworkInterface',
  'ec2:DescribeNetworkInterfaces',
  'ec2:DescribeSubnets',
  'ec2:UnassignPrivateIpAddresses',
];

/** Lets the functions of a stack use the PostgreSQL database of the settings. Without such settings, changes nothing. */
export function usePostgres(stack: Stack, settings: AuthoritySettings): void {
  const { authority, postgresSecretArn: secretId } = settings;
  if (authority !== 'postgres' || secretId === undefined) return;
  const { postgresHost: host, postgresPort: port, postgresDatabase: database } = settings;
  const named: PostgresSettings = { secretId, ...defined({ host, port, database }) };
  for (const each of stack.node.findAll()) {
    if (!(each instanceof PayonceFunction && AUTHORITY_FUNCTIONS.includes(each.folder))) continue;
    each.setEnvironment({ [POSTGRES_AUTHORITY]: JSON.stringify(named) });
    each.allow('ReadDatabaseSecret', 'secretsmanager:GetSecretValue', secretId);
    attach(each, settings);
  }
}

function attach(to: PayonceFunction, { postgresSubnets, postgresSecurityGroups }: AuthoritySettings): void {
  if (postgresSubnets === undefined || postgresSecurityGroups === undefined) return;
  const { defaultChild } = to.function.node;
  if (!(defaultChild instanceof CfnFunction)) throw new Error(`${to.node.path} has no resource`);
  defaultChild.vpcConfig = { subnetIds: [...postgresSubnets], securityGroupIds: [...postgresSecurityGroups] };
  to.role.addToPrincipalPolicy(new PolicyStatement({ sid: 'AttachToVpc', actions: ATTACH, resources: ['*'] }));
}
