import type { Carrier } from '../postgres/carry.ts';
import type { Database } from '../postgres/database.ts';
import { readIdentity } from '../postgres/identity.ts';
import { APPEND_ONLY } from '../postgres/migrations.ts';
import { type TenantMove, TenantMoves } from '../tenants/store/tenant-moves.ts';
import type { TenantPlace } from '../tenants/store/tenant-shards.ts';
import { IMPORT_WAITS_MS } from './contract.ts';
import { type PostgresStoresTools, postgresStores } from './postgres-stores.ts';
import { KnownDatabase } from './store/known-database.ts';
import {
  keyOfRow,
  MoveReplaced,
  type MoveRole,
  TENANT_TABLES,
  type TenantRow,
  TenantRows,
  type TenantTable,
} from './store/postgres-tenant-rows.ts';

interface MoveTools extends Pick<PostgresStoresTools, 'client' | 'tables' | 'pacing'> {
  /** Both are connected as the owner of the tables. */
  readonly source: Database;
  readonly target: Database;
  readonly progress: (text: string) => void;
}

interface Opened extends Pick<MoveTools, 'pacing' | 'progress'> {
  readonly moves: TenantMoves;
  readonly source: TenantRows;
  readonly target: TenantRows;
  readonly carrier: Carrier;
}

export class MoveRefused extends Error {
  override readonly name = 'MoveRefused';
}

interface PlannedMove extends TenantMove {
  readonly place: TenantPlace;
  /** Whether an earlier run has already made the target the tenant's database. */
  readonly isSwitched: boolean;
  readonly isAborted: boolean;
}

/**
 * @param to the name of the database to which the tenant is moved; undefined to abort the move in progress
 * @throws MoveRefused if there is nothing to do, if another move is in progress, or if it is too late to abort
 */
export function planMove(tenantId: TenantMove['tenantId'], place: TenantPlace, to: string | undefined): PlannedMove {
  const { shard, moves, move = to === undefined || to === shard ? undefined : { from: shard, to } } = place;
  if (move === undefined)
    throw new MoveRefused(
      to === undefined ? `no move of ${tenantId} is in progress` : `the tenant ${tenantId} is in ${to} already`,
    );
  const isSwitched = shard === move.to;
  if (to === undefined && isSwitched)
    throw new MoveRefused(
      `the tenant ${tenantId} is in ${move.to} already: repeat the command with --to instead of --abort`,
    );
  if (to !== undefined && to !== move.to)
    throw new MoveRefused(`the tenant ${tenantId} is being moved to ${move.to}: finish or abort this move first`);
  return { tenantId, ...move, run: moves + 1, place, isSwitched, isAborted: to === undefined };
}

/**
 * Permitted roles of the two databases when a run begins, before and after the switch to the target. Undefined: the
 * database has taken no part in a move of this tenant.
 */
const EXPECTED: Readonly<
  Record<'before' | 'after', Readonly<Record<'source' | 'target', readonly (MoveRole | undefined)[]>>>
> = {
  before: { source: [undefined, 'home', 'source'], target: [undefined, 'empty', 'target'] },
  after: { source: ['source', 'empty'], target: ['target', 'home'] },
};
/**
 * Maximum number of passes. Two are usually enough: the second one finds no difference unless a job has changed a row.
 */
const MAX_PASSES = 4;
/**
 * Maximum number of chains that one run copies to DynamoDB. It only limits the loop: no tenant has more waiting chains.
 */
const MAX_CARRIED = 10_000_000;

/**
 * Moves all rows of a tenant to another database, while the tenant's writes get 503 and its reads continue. After a
 * crash at any point, another run continues. If the move is aborted, the rows in the target are deleted instead, and
 * the tenant stays in the source.
 *
 *   process  ── claim ✓ ── charge ── commit ✗ 503 ─────────────────────────────────────── retry: takes over
 *   move     ────── begin ── wait ── carry ── copy ── compare ── switch ── wait ── delete ── end
 *
 * From the end of the first wait until the move ends, no process writes rows of the tenant. All possible writers are
 * covered:
 *
 * - Requests, callbacks, operators' decisions, erasures, orders and the resolver find the database by `Shards`, which
 *   refuses their writes. A process may use an earlier row of the tenant for a minute, and a function then runs for at
 *   most five more minutes. The first wait covers both. A processor repeats a callback; the resolver repeats its work
 *   in its next run.
 * - The carrier writes only to DynamoDB and to the outbox, which is empty before the copy. An erasure that the carrier
 *   has begun deletes copies only if the carrier's database still has the payment.
 * - The purge deletes expired records in any database, and a job postpones an entry that it cannot read. Both changes
 *   are harmless: another pass makes both databases equal.
 * - Orphaned callbacks and the keys of corrections are in the first database, for all tenants, and stay there.
 *
 * After the switch, reads of processes with an earlier row of the tenant still go to the source: the second wait is for
 * them. Entries of the ReplayCache stay valid, because they are final and name no database.
 *
 * @throws MoveRefused, MoveReplaced
 */
export async function moveTenant(tools: MoveTools, move: PlannedMove): Promise<void> {
  const opened = await open(tools, move);
  const { moves, source, target } = opened;
  await begin(opened, move);
  // Until the switch, no process writes to the target, so an abort may delete its rows.
  if (move.isAborted) {
    await deletePass(source, target);
    await removeRows(opened, source, target, 'key');
  } else {
    await wait(opened);
    if (!move.isSwitched) {
      await carryWaiting(opened);
      await makeEqual(opened, 'both');
      // From now on, only this database is accepted under the name of the target.
      await new KnownDatabase({ ...tools, registryTable: tools.tables.registry }, move.to).record(tools.target);
      if (!(await moves.switch(move))) throw new MoveReplaced();
      await wait(opened);
    }
    await empty(opened);
  }
  await source.settle(move.isAborted ? 'home' : 'empty');
  await target.settle(move.isAborted ? 'empty' : 'home');
  if (!(await moves.end(move))) throw new MoveReplaced();
}

async function empty(opened: Opened): Promise<void> {
  const { source, target } = opened;
  // A process that was suspended for longer than any function runs may have written to the source.
  await carryWaiting(opened);
  await makeEqual(opened, 'target');
  await removeRows(opened, target, source, 'row');
  for (const table of TENANT_TABLES) {
    const page = await source.pages(table).next();
    if (page.done !== true)
      throw new MoveRefused(`a process has written a row during the move: ${textOf(table, page.value)}`);
  }
}

/**
 * @throws MoveRefused if a name has so far referred to a different database, if a privilege is missing, or if the
 * tables of the two databases differ
 */
async function open({ client, tables, pacing, progress, ...databases }: MoveTools, move: PlannedMove): Promise<Opened> {
  const side = async (option: 'from' | 'to', database: Database): Promise<TenantRows> => {
    const name = move[option];
    const known = await new KnownDatabase({ client, registryTable: tables.registry, pacing }, name).read();
    if (known !== undefined && known !== (await readIdentity(database)))
      throw new MoveRefused(
        `--${option}-secret or --${option}-url leads to a different database than the one known as ${name}`,
      );
    const rows = await TenantRows.open({ database, pacing }, move.tenantId);
    const missing = await rows.missingPrivilege();
    if (missing === undefined) return rows;
    throw new MoveRefused(
      `the user of --${option}-secret or --${option}-url lacks ${missing}: use the owner of the tables`,
    );
  };
  const source = await side('from', databases.source);
  const target = await side('to', databases.target);
  if (!source.hasColumnsOf(target))
    throw new MoveRefused('the tables of the two databases differ: run "payonce db migrate" on both');
  const observer = { stopped: () => undefined, failed: () => undefined, observed: () => undefined };
  const { carrier } = postgresStores({ database: databases.source, pacing, client, tables, observer });
  return { moves: new TenantMoves(client, tables.registry, pacing), source, target, carrier, pacing, progress };
}

/**
 * Fences earlier runs. Checks the roles first, because a database or the Registry may have been restored from a backup.
 * If, before the switch, the run number in the target is lower than the number in the source, the target was restored:
 * its role is not checked, and its rows are replaced.
 */
async function begin({ moves, source, target }: Opened, move: PlannedMove): Promise<void> {
  const expected = EXPECTED[move.isSwitched ? 'after' : 'before'];
  const found = { source: await source.state(), target: await target.state() };
  const isRestored = !move.isSwitched && found.target.run < found.source.run;
  for (const [side, name] of [
    ['source', move.from],
    ['target', move.to],
  ] as const) {
    const { role } = found[side];
    if (!(expected[side].includes(role) || (side === 'target' && isRestored)))
      throw new MoveRefused(
        `the database ${name} cannot be the ${side} of this move: its table tenant_move has the role ${role ?? 'none'}`,
      );
  }
  if (!(await moves.begin(move, move.place))) throw new MoveReplaced();
  await source.take(move.run, 'source');
  await target.take(move.run, 'target');
}

async function wait({ pacing, progress }: Opened): Promise<void> {
  progress('waiting until all processes use the new state');
  await pacing.clock.sleep(IMPORT_WAITS_MS);
}

/** Copies the tenant's waiting rows to DynamoDB, so that the outbox has no rows that would have to be moved. */
async function carryWaiting({ source, carrier, progress }: Opened): Promise<void> {
  for (let carried = 0; carried < MAX_CARRIED; ) {
    const chains = await source.waitingChains();
    if (chains.length === 0) return;
    for (const id of chains) {
      if ((await carrier.carry(id)) === 'stopped')
        throw new MoveRefused(
          `the copies of ${id} in DynamoDB are stopped: abort the move, and run "payonce tables recover"`,
        );
    }
    carried += chains.length;
    progress(`${carried} payments and orders copied to DynamoDB`);
  }
}

/**
 * Compares and copies all rows until a pass finds no difference, so that every row was compared after the last write.
 * Throws MoveRefused if the rows still differ after {@link MAX_PASSES} passes.
 *
 * @param extra `both`: rows that only the target has are deleted. `target`: they stay, because some rows of the source
 * may already be deleted; only personal data that was erased in the source is deleted
 */
async function makeEqual({ source, target, progress }: Opened, extra: 'both' | 'target'): Promise<void> {
  let found: readonly string[] = [];
  for (let pass = 0; pass < MAX_PASSES; pass += 1) {
    found = [
      ...(await copyPass(source, target, progress)),
      ...(await (extra === 'both' ? deletePass(source, target) : erasePass(source, target))),
    ];
    if (found.length === 0) return;
  }
  throw new MoveRefused(`rows of the two databases differ, for example ${found[0] ?? ''}`);
}

/** @returns a description of the first difference of each page */
async function copyPass(source: TenantRows, target: TenantRows, progress: Opened['progress']) {
  const found: string[] = [];
  for (const table of TENANT_TABLES) {
    let count = 0;
    for await (const rows of source.pages(table)) {
      count += rows.length;
      progress(`${count} rows of ${table}`);
      const differing = await target.differing(table, rows);
      if (differing.length === 0) continue;
      found.push(textOf(table, differing));
      await target.put(table, differing);
    }
  }
  return found;
}

/** Deletes rows that only the target has. Append-only tables keep them, so the difference remains. */
async function deletePass(source: TenantRows, target: TenantRows) {
  const found: string[] = [];
  for (const table of TENANT_TABLES) {
    for await (const rows of target.pages(table)) {
      const absent = await source.absent(table, rows);
      if (absent.length === 0) continue;
      found.push(textOf(table, absent));
      if (!APPEND_ONLY.has(table)) await target.delete(table, absent, 'key');
    }
  }
  return found;
}

/**
 * Deletes personal data that a suspended command has since erased in the source. The move deletes payments and orders
 * in the source before their personal data. Therefore, if the source has a payment or an order without its personal
 * data, the data was erased.
 */
async function erasePass(source: TenantRows, target: TenantRows) {
  const found: string[] = [];
  for await (const rows of target.pages('details')) {
    const erased = await source.erased(rows);
    if (erased.length === 0) continue;
    found.push(textOf('details', erased));
    await target.delete('details', erased, 'key');
  }
  return found;
}

/** @throws MoveRefused if rows with other values remain */
async function removeRows({ progress }: Opened, complete: TenantRows, cleaned: TenantRows, by: 'row' | 'key') {
  for (const table of TENANT_TABLES.toReversed()) {
    for await (const rows of complete.pages(table)) {
      progress(`deleting rows of ${table}`);
      await cleaned.delete(table, rows, by);
      const absent = new Set(await cleaned.absent(table, rows));
      const left = rows.filter((row) => !absent.has(row));
      if (left.length > 0) throw new MoveRefused(`a row was changed during the move: ${textOf(table, left)}`);
    }
  }
}

function textOf(table: TenantTable, [row = {}]: readonly TenantRow[]): string {
  return `${table} ${JSON.stringify(keyOfRow(table, row))}`;
}
