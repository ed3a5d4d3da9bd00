import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { Command, InvalidArgumentError, Option } from 'commander';
import { ALL_SCOPES, type Scope, StackName, StackOutput } from '../lambdas/kernel/contract/api.ts';
import { type Mode, tenantId } from '../lambdas/kernel/ids.ts';
import { documentClient } from '../lambdas/kernel/platform/document-client.ts';
import { TenantAdministration } from '../lambdas/tenants/store/tenant-administration.ts';
import { deployedOutput, localAccess, localState } from './deployed.ts';

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
    const client = new DynamoDBClient(localAccess());
    return new TenantAdministration(documentClient(client), table ?? localState().tables.registry);
  }
  const otherwise = 'name the table with --table.';
  const registry = table ?? (await deployedOutput(StackName.data, StackOutput.registryTable, { otherwise }));
  return new TenantAdministration(documentClient(new DynamoDBClient({})), registry);
}

function readScopes(text: string): readonly Scope[] {
  return text.split(',').map((name) => {
    const scope = ALL_SCOPES.find((known) => known === name.trim());
    if (scope === undefined) throw new InvalidArgumentError(`${name} is no scope; there are ${ALL_SCOPES.join(', ')}.`);
    return scope;
  });
}
