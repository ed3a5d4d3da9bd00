import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { Command, InvalidArgumentError, Option } from 'commander';
import { documentClient } from '../lambdas/adapters/dynamodb/document-client.ts';
import { TenantAdministration } from '../lambdas/adapters/dynamodb/tenant-administration.ts';
import { ALL_SCOPES, type Scope, StackName, StackOutput } from '../lambdas/contract/api.ts';
import { type Mode, tenantId } from '../lambdas/core/ids.ts';

interface Target {
  readonly local?: boolean;
  readonly table?: string;
}

const program = new Command('npm run keys --')
  .description('Tenants and API keys of a deployed stack, with your own AWS credentials and region.')
  .option('--local', 'the stack that "npm start" brought up')
  .option('--table <name>', 'the Registry table; found by the stack when left out');

program
  .command('create-tenant <name>')
  .description('makes a tenant and prints its id')
  .action(async (name: string) => {
    console.log(await (await administration()).createTenant(name));
  });

program
  .command('create')
  .description('makes an API key and prints it, this once')
  .requiredOption('--tenant <id>', 'whose key it is')
  .addOption(new Option('--mode <mode>', 'test or live').choices(['test', 'live']).default('test'))
  .option('--scopes <list>', `comma-separated: ${ALL_SCOPES.join(', ')}`, readScopes, [
    'payments:read',
    'payments:write',
  ])
  .action(async (options: { tenant: string; mode: Mode; scopes: readonly Scope[] }) => {
    const { tenant, mode, scopes } = options;
    console.log(await (await administration()).createApiKey({ tenantId: tenantId(tenant), mode, scopes }));
  });

program
  .command('revoke <key>')
  .description('takes a key out of use, within ten seconds everywhere')
  .action(async (key: string) => {
    const revoked = await (await administration()).revokeApiKey(key);
    console.log(revoked ? 'Revoked.' : 'There is no such key in use.');
    if (!revoked) process.exitCode = 1;
  });

program
  .command('list')
  .description('lists the keys of a tenant, without the keys')
  .requiredOption('--tenant <id>', 'whose keys')
  .action(async ({ tenant }: { tenant: string }) => {
    for (const key of await (await administration()).listApiKeys(tenantId(tenant))) {
      const state = key.revokedAtMs === undefined ? 'in use' : `revoked ${new Date(key.revokedAtMs).toISOString()}`;
      console.log(
        `…${key.hint}  ${key.mode}  ${key.scopes.join(',')}  ${new Date(key.createdAtMs).toISOString()}  ${state}`,
      );
    }
  });

try {
  await program.parseAsync();
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}

async function administration(): Promise<TenantAdministration> {
  const { local = false, table } = program.opts<Target>();
  if (local) {
    const { config, registry } = localTarget();
    return new TenantAdministration(documentClient(new DynamoDBClient(config)), table ?? registry);
  }
  return new TenantAdministration(documentClient(new DynamoDBClient({})), table ?? (await deployedTable()));
}

function localTarget(): { readonly config: DynamoDBClientConfig; readonly registry: string } {
  const file = resolve(join(import.meta.dirname, '..', '.payonce', 'local.json'));
  if (!existsSync(file)) throw new Error('Nothing runs locally: start it with "npm start".');
  const { awsEndpoint, region, tables } = JSON.parse(readFileSync(file, 'utf8')) as {
    awsEndpoint: string;
    region: string;
    tables: { registry: string };
  };
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
  return { config: { endpoint: awsEndpoint, region, credentials }, registry: tables.registry };
}

async function deployedTable(): Promise<string> {
  const { Stacks = [] } = await new CloudFormationClient({}).send(
    new DescribeStacksCommand({ StackName: StackName.data }),
  );
  const output = Stacks[0]?.Outputs?.find(({ OutputKey }) => OutputKey === StackOutput.registryTable);
  if (output?.OutputValue === undefined) {
    throw new Error(
      `The stack ${StackName.data} has no output ${StackOutput.registryTable}: name the table with --table.`,
    );
  }
  return output.OutputValue;
}

function readScopes(text: string): readonly Scope[] {
  return text.split(',').map((name) => {
    const scope = ALL_SCOPES.find((known) => known === name.trim());
    if (scope === undefined) throw new InvalidArgumentError(`${name} is no scope; there are ${ALL_SCOPES.join(', ')}.`);
    return scope;
  });
}
