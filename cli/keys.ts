import { type Command, InvalidArgumentError, Option } from 'commander';
import { keyIdOf } from '../lambdas/kernel/cause.ts';
import { ALL_SCOPES, PAYMENT_SCOPES, type Scope } from '../lambdas/kernel/contract/api.ts';
import { type Mode, type TenantId, tenantId } from '../lambdas/kernel/ids.ts';
import { TenantAdministration, UnknownTenantError } from '../lambdas/tenants/store/tenant-administration.ts';
import { openTables } from './deployment.ts';
import { CliFailure, ExitCode } from './failure.ts';
import { isoTime, type Session, table } from './session.ts';

/** `payonce tenants`. */
export function addTenants(program: Command, session: Session): void {
  const tenants = program.command('tenants').description('lists and creates tenants');
  const open = async (): Promise<TenantAdministration> => administration(session);

  tenants
    .command('list')
    .description('lists the tenants')
    .action(async () => {
      const found = await (await open()).listTenants();
      const rows = found.map(({ id, name, createdAtMs }) => [id, isoTime(createdAtMs), name]);
      session.show(
        { data: found.map(({ id, name, createdAtMs }) => ({ id, name, created: seconds(createdAtMs) })) },
        found.length === 0 ? ['No tenants.'] : table(['TENANT', 'CREATED', 'NAME'], rows),
      );
    });

  tenants
    .command('create <name>')
    .description('creates a tenant and shows its id')
    .action(async (name: string) => {
      const id = await (await open()).createTenant(name);
      session.show({ id, name }, [id]);
    });
}

/** `payonce keys`. */
export function addKeys(program: Command, session: Session): void {
  const keys = program.command('keys').description('lists, creates and revokes the API keys of a tenant');
  const open = async (): Promise<TenantAdministration> => administration(session);

  keys
    .command('create')
    .description('creates an API key and shows it once')
    .requiredOption('--tenant <id>', 'the tenant that owns the key', readTenant)
    .addOption(new Option('--mode <mode>', 'of the key').choices(['test', 'live']).default('test'))
    .option('--scopes <list>', `comma-separated: ${ALL_SCOPES.join(', ')}`, readScopes, PAYMENT_SCOPES)
    .action(async (options: { tenant: TenantId; mode: Mode; scopes: readonly Scope[] }) => {
      const { tenant, mode, scopes } = options;
      const key = await (await open()).createApiKey({ tenantId: tenant, mode, scopes }).catch((error: unknown) => {
        if (!(error instanceof UnknownTenantError)) throw error;
        throw new CliFailure(ExitCode.notFound, error.message, { cause: error });
      });
      session.show({ key, tenant, mode, scopes }, [key]);
    });

  keys
    .command('revoke <key>')
    .description('revokes a key; it is refused everywhere within ten seconds')
    .action(async (key: string) => {
      const revoked = await (await open()).revokeApiKey(key);
      if (!revoked) throw new CliFailure(ExitCode.notFound, 'There is no such active key.');
      session.show({ revoked }, ['Revoked.']);
    });

  keys
    .command('list')
    .description('lists the keys of a tenant, without the keys themselves')
    .requiredOption('--tenant <id>', 'the tenant that owns the keys', readTenant)
    .action(async ({ tenant }: { tenant: TenantId }) => {
      const found = await (await open()).listApiKeys(tenant);
      const rows = found.map(({ keyHash, hint, mode, scopes, createdAtMs, revokedAtMs }) => [
        keyIdOf(Buffer.from(keyHash, 'hex')),
        `…${hint}`,
        mode,
        isoTime(createdAtMs),
        revokedAtMs === undefined ? 'in use' : `revoked ${isoTime(revokedAtMs)}`,
        scopes.join(','),
      ]);
      session.show(
        {
          data: found.map(({ keyHash, hint, mode, scopes, createdAtMs, revokedAtMs }) => ({
            id: keyIdOf(Buffer.from(keyHash, 'hex')),
            hint,
            mode,
            scopes,
            created: seconds(createdAtMs),
            revoked: revokedAtMs === undefined ? null : seconds(revokedAtMs),
          })),
        },
        found.length === 0 ? ['No keys.'] : table(['ID', 'KEY', 'MODE', 'CREATED', 'STATE', 'SCOPES'], rows),
      );
    });
}

async function administration(session: Session): Promise<TenantAdministration> {
  const { client, tables } = await openTables(await session.aws());
  return new TenantAdministration(client, tables, session.operator);
}

export function readTenant(text: string): TenantId {
  if (!/^ten_\w+$/.test(text)) throw new InvalidArgumentError(`${text} is not a tenant id, for example ten_….`);
  return tenantId(text);
}

function readScopes(text: string): readonly Scope[] {
  return text.split(',').map((name) => {
    const scope = ALL_SCOPES.find((known) => known === name.trim());
    if (scope === undefined)
      throw new InvalidArgumentError(`${name} is not a scope; the scopes are ${ALL_SCOPES.join(', ')}.`);
    return scope;
  });
}

function seconds(timeMs: number): number {
  return Math.floor(timeMs / 1000);
}
