import type { Command } from 'commander';
import { STATE_VALID_MS } from '../lambdas/authority/contract.ts';
import type { StoppedChain } from '../lambdas/authority/recover-chains.ts';
import { KnownDatabase } from '../lambdas/authority/store/known-database.ts';
import { FIRST_SHARD } from '../lambdas/kernel/contract/tables.ts';
import { defined } from '../lambdas/kernel/defined.ts';
import { codeOf } from '../lambdas/kernel/faults.ts';
import type { TenantId } from '../lambdas/kernel/ids.ts';
import { TENANT_MISSING, TenantShards } from '../lambdas/tenants/store/tenant-shards.ts';
import { recordAction } from './activity.ts';
import { newestSettings, requireAuthority } from './authority.ts';
import { type ChosenDatabase, databasesOfSettings, withDatabase, withServer } from './database.ts';
import { openTables, stackOutput } from './deployment.ts';
import { deleteEntries } from './empty-cache.ts';
import { CliFailure, ExitCode } from './failure.ts';
import { readCountOf, type Session } from './session.ts';

const MAX_SEGMENTS = 64;
/** The JSON document contains all ids. */
const MAX_SHOWN = 50;

interface Chosen extends ChosenDatabase {
  readonly segments: number;
  readonly shard?: string;
}

const LEFT = [
  'Stored responses, approvals and activity entries since the restored time are lost. A retried request gets an error that names its payment.',
  'Changes that were not copied before the loss are lost. After you start the functions, run "payonce jobs run reconcile-days", which compares the Ledger with the processors’ books.',
];

export function addRecover(db: Command, session: Session): void {
  withServer(
    db
      .command('recover')
      .description(
        'after a restore of the database: appends transitions that only the Ledger has, and lists differences',
      ),
  )
    .option('--segments <count>', 'number of concurrently read segments of the Ledger', readCountOf(MAX_SEGMENTS), 4)
    .option(
      '--shard <name>',
      `with several databases: the name of the restored database, or ${FIRST_SHARD} for the first one`,
    )
    .action((chosen: Chosen) => recover(session, chosen));
}

/** Afterwards, the functions accept this database, even if it is a new one. Safe to repeat. */
async function recover(session: Session, { segments, shard, ...chosen }: Chosen): Promise<void> {
  const target = await session.aws();
  const opened = await openTables(target);
  const { client, tables, pacing } = opened;
  const owns = ownerIn(opened, await newestSettings(opened), shard);
  await requireAuthority({ client, tables, pacing }, 'postgres');
  await recordAction(session, 'tables.recovery_started', { tables: 'postgres' });
  // The cache may contain responses whose records are lost. They must not be replayed.
  const cache = await stackOutput(target, 'service', 'replayCacheTable');
  if (cache !== undefined) await deleteEntries(client, cache);
  const { recoverPostgres } = await import('../lambdas/authority/recover-postgres.ts');
  const known = new KnownDatabase({ client, registryTable: tables.registry, pacing }, shard ?? FIRST_SHARD);
  const found = await withDatabase(session, chosen, async (database) => {
    const result = await session.during('Recovering', (report) =>
      recoverPostgres({ client, tables, pacing, database, ...defined({ owns }) }, segments, (read) =>
        report(`${read} payments and orders read`),
      ),
    );
    await known.replace(database);
    return result;
  });
  const { read, recovered, appended, missing, stopped, broken, erased, unreadable, elsewhere, withoutRow } = found;
  const queued = Object.entries(missing).filter(([, count]) => count > 0);
  session.show({ ...found, left: LEFT }, [
    `${read} payments and orders read. Appended to ${recovered} of them: ${appended} transitions.`,
    `Rows that were missing: ${queued.map(([kind, count]) => `${count} ${kind}`).join(', ') || 'none'}.`,
    ...LEFT,
    ...stopped.slice(0, MAX_SHOWN).map(lineOfStopped),
    ...erased.slice(0, MAX_SHOWN).map((id) => `erased      ${id}: its personal data is back; erase it again`),
    ...broken.slice(0, MAX_SHOWN).map((id) => `broken      ${id}: a transition is missing`),
    ...unreadable.slice(0, MAX_SHOWN).map((id) => `unreadable  ${id}`),
    ...elsewhere
      .slice(0, MAX_SHOWN)
      .map((id) => `elsewhere   ${id}: this database has old rows of the tenant; move the tenant to it and back`),
    ...withoutRow
      .slice(0, MAX_SHOWN)
      .map((id) => `no row      ${id}: restore the tenant's row, and repeat this command`),
  ]);
  const lists = [stopped, erased, broken, unreadable, elsewhere, withoutRow];
  const left = lists.reduce((sum, { length }) => sum + length, 0);
  if (left > 0) throw new CliFailure(ExitCode.incomplete, `${left} payments, orders or tenants need an operator.`);
}

/**
 * Returns a function that reports whether a tenant is in the recovered database. The function returns undefined for a
 * tenant without a row. Returns undefined instead of a function if there is only one database and `shard` is not given.
 * @throws CliFailure if `shard` is not the name of a database, or is missing although there are several. The returned
 * function throws CliFailure while the tenant is being moved
 */
function ownerIn(
  { client, tables, pacing }: Awaited<ReturnType<typeof openTables>>,
  settings: Readonly<Record<string, string>>,
  shard: string | undefined,
): ((id: TenantId) => Promise<boolean | undefined>) | undefined {
  const names = databasesOfSettings(settings).map(({ name }) => name);
  if (names.length === 1 && shard === undefined) return undefined;
  if (shard === undefined || !names.includes(shard))
    throw new CliFailure(ExitCode.usage, `Name the database with --shard: ${names.join(', ')}.`);
  const tenants = new TenantShards(client, tables.registry, pacing, STATE_VALID_MS);
  return async (id) => {
    const place = await tenants.of(id).catch((error: unknown) => {
      if (codeOf(error) === TENANT_MISSING) return undefined;
      throw error;
    });
    if (place === undefined) return undefined;
    const { shard: found, move } = place;
    if (move === undefined) return found === shard;
    throw new CliFailure(
      ExitCode.refused,
      `The tenant ${id} is being moved: finish or abort "payonce db move-tenant".`,
    );
  };
}

function lineOfStopped({ chainId, sequence, because }: StoppedChain): string {
  return `${because.padEnd(11)} ${chainId}/${sequence}`;
}
