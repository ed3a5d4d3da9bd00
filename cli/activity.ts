import { type Command, Option } from 'commander';
import {
  type Action,
  type ActivityChain,
  type ActivityEntry,
  activityObject,
  nameOfChain,
} from '../lambdas/activity/domain/activity.ts';
import { DynamoDbActivity } from '../lambdas/activity/store/dynamodb-activity.ts';
import { type ActivityLog, newestEntries, verifyActivity } from '../lambdas/activity/use/activity-log.ts';
import type { Mode, TenantId } from '../lambdas/kernel/ids.ts';
import { systemClock, systemDigest } from '../lambdas/kernel/platform/platform.ts';
import { DynamoDbOwners } from '../lambdas/tenants/store/tenant-owners.ts';
import { type OpenedAuthority, withAuthority } from './authority.ts';
import { type ChosenDatabase, withServer } from './database.ts';
import { openTables } from './deployment.ts';
import { CliFailure, ExitCode } from './failure.ts';
import { readTenant } from './keys.ts';
import { refuseModeAlone } from './operator-api.ts';
import { isoTime, readCountOf, type Session, table } from './session.ts';

interface ChainOptions {
  readonly tenant?: TenantId;
  readonly mode: Mode;
}

const MAX_ENTRIES = 100;
const OWNERS_AT_ONCE = 100;
export const DEPLOYMENT_CHAINS: readonly ActivityChain[] = ['deployment', 'settings', 'imports'];

export function addActivity(program: Command, session: Session): void {
  const activity = program
    .command('activity')
    .description('shows and verifies the log of operators’ actions')
    .option(
      '--tenant <id>',
      'only the chain of this tenant; by default, list shows the deployment’s chain, and verify checks all chains',
      readTenant,
    )
    .addOption(new Option('--mode <mode>', 'the mode of the tenant').choices(['test', 'live']).default('test'))
    .hook('preAction', refuseModeAlone);

  withServer(
    activity
      .command('list')
      .description('lists the newest entries of a tenant, or of the deployment and its settings')
      .option('--most <n>', `maximum number of entries, 1 to ${MAX_ENTRIES}`, readCountOf(MAX_ENTRIES), 20),
  ).action(async ({ most, ...chosen }: ChosenDatabase & { most: number }) => {
    const options = activity.opts<ChainOptions>();
    const newest = await withAuthority(session, chosen, (opened) => listNewest(opened, options, most));
    session.show(
      { data: newest.map(activityObject) },
      newest.length === 0 ? ['No entries.'] : table(['TIME', 'ACTION', 'WHO', 'ABOUT'], newest.map(cells)),
    );
  });

  withServer(
    activity
      .command('verify')
      .description('verifies the hash chains and names the first entry that was changed, removed or inserted'),
  ).action(async (chosen: ChosenDatabase) => {
    const data = await withAuthority(session, chosen, (opened) => verifyChains(opened, activity.opts<ChainOptions>()));
    const rows = data.map(({ log, chain, entries, broken }) => [
      log,
      chain,
      String(entries),
      broken === null ? 'holds' : 'BROKEN',
    ]);
    session.show({ data }, table(['LOG', 'CHAIN', 'ENTRIES', 'STATE'], rows));
    const first = data.find(({ broken }) => broken !== null);
    if (first !== undefined)
      throw new CliFailure(ExitCode.incomplete, `The chain ${first.chain} is broken at entry ${first.broken}.`);
    if (data.every(({ entries }) => entries === 0))
      throw new CliFailure(ExitCode.notFound, 'Nothing was verified: no entry was found.');
  });
}

/** Merges all logs, newest first. */
export async function listNewest(
  opened: OpenedAuthority,
  options: ChainOptions,
  most: number,
): Promise<readonly ActivityEntry[]> {
  const logs = logsOf(opened).map(({ log }) => log);
  const found = await Promise.all(chainsOf(options).map((chain) => newestEntries(logs, chain, { limit: most })));
  return found
    .flat()
    .toSorted((left, right) => right.occurredAtMs - left.occurredAtMs)
    .slice(0, most);
}

interface VerifiedLog {
  readonly log: NamedLog['name'];
  readonly chain: string;
  readonly entries: number;
  /** Number of the first invalid entry; null when all entries are valid. */
  readonly broken: number | null;
}

/**
 * If PostgreSQL is the authority, DynamoDB and PostgreSQL each have a log, so one chain name can have a hash chain in
 * each log.
 */
export async function verifyChains(opened: OpenedAuthority, options: ChainOptions): Promise<readonly VerifiedLog[]> {
  const { client, tables, pacing } = opened;
  const owners = new DynamoDbOwners(client, tables.registry, pacing);
  const chains =
    options.tenant === undefined ? [...DEPLOYMENT_CHAINS, ...(await allOwners(owners))] : chainsOf(options);
  const data: VerifiedLog[] = [];
  for (const chain of chains) {
    for (const { name, log } of logsOf(opened)) {
      const { entries, broken = null } = await verifyActivity({ log, digest: systemDigest }, chain);
      data.push({ log: name, chain: nameOfChain(chain), entries, broken });
    }
  }
  return data;
}

interface NamedLog {
  readonly name: 'dynamodb' | 'postgres';
  readonly log: ActivityLog;
}

/** If PostgreSQL is the authority, its log contains the entries about payments and orders. */
function logsOf({ client, tables, pacing, postgres }: OpenedAuthority): readonly NamedLog[] {
  const own: NamedLog = { name: 'dynamodb', log: new DynamoDbActivity(client, tables, pacing) };
  return postgres === undefined ? [own] : [{ name: 'postgres', log: postgres.activity }, own];
}

/** Writes to the deployment's chain. Call it before the command takes effect. */
export async function recordAction(
  session: Session,
  action: Action,
  details: Readonly<Record<string, string>> = {},
): Promise<void> {
  const { client, tables, pacing } = await openTables(await session.aws());
  const log = new DynamoDbActivity(client, tables, pacing);
  const actor = { by: 'command' as const, operator: session.operator };
  await log.record({ chain: 'deployment', action, actor, about: [], details, occurredAtMs: systemClock.nowMs() });
}

function chainsOf({ tenant, mode }: ChainOptions): readonly ActivityChain[] {
  return tenant === undefined ? DEPLOYMENT_CHAINS : [{ tenantId: tenant, mode }];
}

export async function allOwners(owners: DynamoDbOwners): Promise<readonly ActivityChain[]> {
  const found: ActivityChain[] = [];
  let after: string | undefined;
  do {
    const page = await owners.list(after, OWNERS_AT_ONCE);
    found.push(...page.map(({ owner }) => owner));
    after = page.length < OWNERS_AT_ONCE ? undefined : page.at(-1)?.name;
  } while (after !== undefined);
  return found;
}

function cells({ occurredAtMs, action, actor, about, details = {} }: ActivityEntry): readonly string[] {
  const shownDetails = Object.entries(details).map(([name, value]) => `${name}=${value}`);
  return [isoTime(occurredAtMs), action, actorName(actor), [...about, ...shownDetails].join(' ')];
}

function actorName(actor: ActivityEntry['actor']): string {
  if (actor.by === 'request') return actor.keyId;
  return actor.by === 'start' ? 'start' : actor.operator;
}
