import { type Command, InvalidArgumentError, Option } from 'commander';
import type { KeyId } from '../lambdas/kernel/cause.ts';
import { ALL_SCOPES, ROLES, type Role, type Scope } from '../lambdas/kernel/contract/api.ts';
import { type Mode, type TenantId, tenantId } from '../lambdas/kernel/ids.ts';
import { ONE_LINE_NOT_BLANK } from '../lambdas/kernel/one-line.ts';
import { systemClock } from '../lambdas/kernel/platform/platform.ts';
import type { ApiKeySummary, OperatorKeySummary } from '../lambdas/tenants/keys.ts';
import {
  idOfApiKey,
  keyIdIn,
  TenantAdministration,
  UnknownTenantError,
} from '../lambdas/tenants/store/tenant-administration.ts';
import { newestSettings } from './authority.ts';
import { databasesOfSettings } from './database.ts';
import { openTables } from './deployment.ts';
import { CliFailure, ExitCode } from './failure.ts';
import { isoTime, readCountOf, type Session, table } from './session.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const readDays = readCountOf(3650);
/** The hours of a month. */
const MAX_HOURS = 744;

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
    .command('create')
    .argument('<name>', 'the name of the tenant', readName)
    .description('creates a tenant and shows its id')
    .action(async (name: string) => {
      const opened = await openTables(await session.aws());
      const databases = databasesOfSettings(await newestSettings(opened)).map((each) => each.name);
      const { client, tables } = opened;
      const id = await new TenantAdministration(client, tables, session.operator).createTenant(name, { databases });
      session.show({ id, name }, [id]);
    });
}

export function addKeys(program: Command, session: Session): void {
  const keys = program.command('keys').description('lists, creates, rolls and revokes the API keys of a tenant');
  const open = async (): Promise<TenantAdministration> => administration(session);

  keys
    .command('create')
    .description('creates an API key and shows it once')
    .requiredOption('--tenant <id>', 'the tenant that owns the key', readTenant)
    .requiredOption('--name <text>', 'the purpose of the key, for example "web shop"', readName)
    .addOption(new Option('--mode <mode>', 'the mode of the key').choices(['test', 'live']).default('test'))
    .option('--scopes <list>', `comma-separated: ${ALL_SCOPES.join(', ')}`, readScopes, ALL_SCOPES)
    .option(
      '--expires-in <days>',
      'number of days after which the key is refused; by default, it does not expire',
      readDays,
    )
    .action(async (options: NewKeyOptions) => {
      const { tenant, mode, scopes, name, expiresIn } = options;
      const expiry = expiresIn === undefined ? {} : { expiresAtMs: systemClock.nowMs() + expiresIn * DAY_MS };
      const wanted = { tenantId: tenant, mode, scopes, name, ...expiry };
      const key = await (await open()).createApiKey(wanted).catch(throwUnknownTenant);
      session.show({ id: idOfApiKey(key), key, tenant, mode, scopes, name }, [key]);
    });

  keys
    .command('roll <key>')
    .description(
      'replaces a key, given as the key or its id, with a new key, which is shown once; the old key expires after the overlap',
    )
    .option(
      '--overlap <hours>',
      `how long the old key stays valid, 0 to ${MAX_HOURS}`,
      (text) => (text === '0' ? 0 : readCountOf(MAX_HOURS)(text)),
      24,
    )
    .action(async (text: string, { overlap }: { overlap: number }) => {
      const key = await (await open()).rollKey(readKey(text), overlap * 60 * 60);
      if (key === undefined) throw noSuchKey();
      session.show({ id: idOfApiKey(key), key, replaces: readKey(text) }, [key]);
    });

  keys
    .command('revoke <key>')
    .description('revokes a key, given as the key or its id; all functions refuse it within ten seconds')
    .action(async (text: string) => {
      const revoked = await (await open()).revokeKey(readKey(text));
      if (!revoked) throw noSuchKey();
      session.show({ revoked }, ['Revoked.']);
    });

  keys
    .command('list')
    .description('lists the keys of a tenant; of each key, only the last characters are shown')
    .requiredOption('--tenant <id>', 'the tenant that owns the keys', readTenant)
    .action(async ({ tenant }: { tenant: TenantId }) => {
      const found = await (await open()).listApiKeys(tenant);
      const nowMs = systemClock.nowMs();
      const rows = found.map((key) => [
        key.id,
        `…${key.hint}`,
        key.name,
        key.mode,
        isoTime(key.createdAtMs),
        key.lastUsedOn ?? 'never',
        stateOf(key, nowMs),
        key.scopes.join(','),
      ]);
      const headings = ['ID', 'KEY', 'NAME', 'MODE', 'CREATED', 'LAST USED', 'STATE', 'SCOPES'];
      session.show({ data: found.map(document) }, found.length === 0 ? ['No keys.'] : table(headings, rows));
    });
}

export function addOperators(program: Command, session: Session): void {
  const operators = program.command('operators').description('lists and creates the keys of operators');
  const open = async (): Promise<TenantAdministration> => administration(session);

  operators
    .command('create')
    .argument('<name>', 'the name of the person', readName)
    .description('creates a key for a person and shows it once; "payonce keys" rolls and revokes it')
    .addOption(
      new Option('--role <role>', 'the role of the person; each role includes the roles listed before it')
        .choices(ROLES)
        .default('operator'),
    )
    .option(
      '--expires-in <days>',
      'number of days after which the key is refused; by default, it does not expire',
      readDays,
    )
    .action(async (operator: string, { role, expiresIn }: { role: Role; expiresIn?: number }) => {
      const expiry = expiresIn === undefined ? {} : { expiresAtMs: systemClock.nowMs() + expiresIn * DAY_MS };
      const key = await (await open()).createOperatorKey({ operator, role, ...expiry });
      session.show({ id: idOfApiKey(key), key, operator, role }, [key]);
    });

  operators
    .command('list')
    .description('lists the keys of operators; of each key, only the last characters are shown')
    .action(async () => {
      const found = await (await open()).listOperatorKeys();
      const nowMs = systemClock.nowMs();
      const rows = found.map((key) => [
        key.id,
        `…${key.hint}`,
        key.operator,
        key.role,
        isoTime(key.createdAtMs),
        key.lastUsedOn ?? 'never',
        stateOf(key, nowMs),
      ]);
      const headings = ['ID', 'KEY', 'OPERATOR', 'ROLE', 'CREATED', 'LAST USED', 'STATE'];
      const data = found.map((key) => ({ id: key.id, operator: key.operator, role: key.role, ...commonTo(key) }));
      session.show({ data }, found.length === 0 ? ['No keys.'] : table(headings, rows));
    });
}

/** @throws CliFailure for an unknown tenant; rethrows every other error */
export function throwUnknownTenant(error: unknown): never {
  if (!(error instanceof UnknownTenantError)) throw error;
  throw new CliFailure(ExitCode.notFound, error.message, { cause: error });
}

interface NewKeyOptions {
  readonly tenant: TenantId;
  readonly mode: Mode;
  readonly scopes: readonly Scope[];
  readonly name: string;
  readonly expiresIn?: number;
}

function document(key: ApiKeySummary): object {
  const { id, name, mode, scopes } = key;
  return { id, name, mode, scopes, ...commonTo(key) };
}

function commonTo(key: ApiKeySummary | OperatorKeySummary): object {
  const { hint, createdAtMs, lastUsedOn, expiresAtMs, revokedAtMs } = key;
  return {
    hint,
    created: seconds(createdAtMs),
    last_used: lastUsedOn ?? null,
    expires: expiresAtMs === undefined ? null : seconds(expiresAtMs),
    revoked: revokedAtMs === undefined ? null : seconds(revokedAtMs),
  };
}

function stateOf(
  { revokedAtMs, expiresAtMs }: Pick<ApiKeySummary, 'revokedAtMs' | 'expiresAtMs'>,
  nowMs: number,
): string {
  if (revokedAtMs !== undefined) return `revoked ${isoTime(revokedAtMs)}`;
  if (expiresAtMs === undefined) return 'in use';
  return `${expiresAtMs <= nowMs ? 'expired' : 'in use until'} ${isoTime(expiresAtMs)}`;
}

function noSuchKey(): CliFailure {
  return new CliFailure(ExitCode.notFound, 'There is no such active key.');
}

async function administration(session: Session): Promise<TenantAdministration> {
  const { client, tables } = await openTables(await session.aws());
  return new TenantAdministration(client, tables, session.operator);
}

export function readTenant(text: string): TenantId {
  if (!/^ten_\w+$/.test(text)) throw new InvalidArgumentError(`${text} is not a tenant id. Example: ten_….`);
  return tenantId(text);
}

function readKey(text: string): KeyId {
  const id = keyIdIn(text);
  if (id === undefined)
    throw new CliFailure(ExitCode.usage, 'This is neither an API key nor the id of one. Example of an id: key_….');
  return id;
}

function readName(text: string): string {
  if (!ONE_LINE_NOT_BLANK.test(text) || text.length > 100)
    throw new InvalidArgumentError('A name has 1 to 100 characters, without control characters.');
  return text.trim();
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
