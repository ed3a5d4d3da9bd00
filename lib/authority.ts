import type { Stack } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { CfnFunction } from 'aws-cdk-lib/aws-lambda';
import {
  AUTHORITY_FUNCTIONS,
  databasesOf,
  POSTGRES_AUTHORITY,
  type PostgresSettings,
  REPLAY_CACHE_FUNCTIONS,
  storesOf,
} from '../lambdas/authority/contract.ts';
import { RegistryRow } from '../lambdas/kernel/contract/rows.ts';
import { Carrying, type CarryingProps } from './carrying.ts';
import { EngineFunction } from './constructs/engine-function.ts';
import { PayonceFunction } from './constructs/payonce-function.ts';
import type { DataStack } from './data-stack.ts';
import { ReplayCache } from './replay-cache.ts';
import { type AuthoritySettings, postgresSettings } from './settings/authority.ts';

/**
 * The actions that a function's role must allow, so that Lambda can attach the function to a VPC. They do not support
 * resource-level permissions (AWS Lambda developer guide, "Giving Lambda functions access to resources in an Amazon
 * VPC").
 */
const ATTACH = [
  'ec2:AssignPrivateIpAddresses',
  'ec2:CreateNetworkInterface',
  'ec2:DeleteNetworkInterface',
  'ec2:DescribeNetworkInterfaces',
  'ec2:DescribeSubnets',
  'ec2:UnassignPrivateIpAddresses',
];

export interface AuthorityProps {
  readonly data: CarryingProps['data'] & Pick<DataStack, 'cluster'>;
  readonly settings: AuthoritySettings;
  /** Worker of the job that copies the remaining rows: those that the writing functions have not copied. */
  readonly poller: PayonceFunction;
}

/**
 * Configures the functions of a stack to use the system of record that the settings name. Allows the functions to check
 * that the deployment's payments are in this system.
 */
export function configureAuthority(stack: Stack, props: AuthorityProps): void {
  const using = stack.node
    .findAll()
    .filter((each) => each instanceof PayonceFunction)
    .filter(({ folder }) => AUTHORITY_FUNCTIONS.includes(folder));
  for (const each of using) props.data.ledger.grantReadAuthority(each);
  if (storesOf(props.settings.authority) === 'postgres') usePostgres(stack, using, props);
}

function usePostgres(
  stack: Stack,
  using: readonly PayonceFunction[],
  { data, settings, poller }: AuthorityProps,
): void {
  const { postgresSecretKeyArn: key } = settings;
  const { cluster } = data;
  const named: PostgresSettings = cluster === undefined ? postgresSettings(settings) : { host: cluster.endpoint };
  const secrets = [...new Set(databasesOf(named).flatMap((each) => each.settings.secretId ?? []))];
  const carrying = new Carrying(stack, 'Carrying', { data });
  const cache = new ReplayCache(stack, 'ReplayCache');
  for (const each of using) {
    each.setEnvironment({ [POSTGRES_AUTHORITY]: JSON.stringify(named) });
    if (cluster === undefined) each.allow('ReadDatabaseSecret', 'secretsmanager:GetSecretValue', ...secrets);
    else each.allow('ConnectToDatabase', 'dsql:DbConnect', cluster.arn);
    if (key !== undefined) each.role.addToPrincipalPolicy(decryptSecrets(secrets, key));
    const read = [RegistryRow.databases, ...(named.shards === undefined ? [] : [RegistryRow.tenants])];
    data.registry.grantRows(each, 'FindDatabase', ['dynamodb:GetItem'], read);
    attach(each, settings);
    if (REPLAY_CACHE_FUNCTIONS.includes(each.folder)) cache.grantUse(each);
    // Functions that append no rows have none to copy.
    if (each !== poller && each instanceof EngineFunction) carrying.grantCarry(each);
  }
  carrying.grantPoll(poller);
}

/**
 * Secrets Manager decrypts secrets for the reader, with the ARN of the secret in the encryption context (AWS Secrets
 * Manager user guide, "Secret encryption and decryption").
 */
function decryptSecrets([first, ...others]: readonly string[], key: string): PolicyStatement {
  const secretId = others.length === 0 ? first : [first, ...others];
  return new PolicyStatement({
    sid: 'DecryptDatabaseSecret',
    actions: ['kms:Decrypt'],
    resources: [key],
    conditions: { StringEquals: { 'kms:EncryptionContext:SecretARN': secretId } },
  });
}

function attach(to: PayonceFunction, { postgresSubnets, postgresSecurityGroups }: AuthoritySettings): void {
  if (postgresSubnets === undefined || postgresSecurityGroups === undefined) return;
  const { defaultChild } = to.function.node;
  if (!(defaultChild instanceof CfnFunction)) throw new Error(`${to.node.path} has no resource`);
  defaultChild.vpcConfig = { subnetIds: [...postgresSubnets], securityGroupIds: [...postgresSecurityGroups] };
  to.role.addToPrincipalPolicy(new PolicyStatement({ sid: 'AttachToVpc', actions: ATTACH, resources: ['*'] }));
}
