import { setTimeout as sleep } from 'node:timers/promises';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { type Command, InvalidArgumentError } from 'commander';
import type { PostgresStores } from '../lambdas/authority/postgres-stores.ts';
import type { Recopied } from '../lambdas/authority/recopy-chains.ts';
import { readCopiesSince, recopyChains } from '../lambdas/authority/recopy-chains.ts';
import { checkAuthority, checkedClient } from '../lambdas/authority/store/authority-state.ts';
import { commissionOfChain } from '../lambdas/follow-ups/recover-commission.ts';
import { DynamoDbLostCommissions } from '../lambdas/follow-ups/store/dynamodb-lost-commissions.ts';
import { DynamoDbJobMarks } from '../lambdas/jobs/store/dynamodb-job-marks.ts';
import { systemClock, systemDigest } from '../lambdas/kernel/platform/platform.ts';
import { DynamoDbApprovals } from '../lambdas/operators/store/dynamodb-approvals.ts';
import { DynamoDbOrders } from '../lambdas/orders/store/dynamodb-orders.ts';
import { DynamoDbStore } from '../lambdas/payments/store/dynamodb-store.ts';
import type { PaymentChain } from '../lambdas/payments/use/payment-chain.ts';
import { DynamoDbImpliedRows } from '../lambdas/resolving/store/dynamodb-implied-rows.ts';
import { DynamoDbRowsOfChains } from '../lambdas/resolving/store/dynamodb-rows-of-chains.ts';
import { closeRemnants, type LostOperation } from '../lambdas/resolving/use/close-remnants.ts';
import { initialQueueRebuildState, rebuildQueues } from '../lambdas/resolving/use/rebuild-queues.ts';
import { DynamoDbLedgerScan } from '../lambdas/views/store/dynamodb-ledger-scan.ts';
import { recordAction } from './activity.ts';
import { type OpenedAuthority, requireAuthority, withAuthority } from './authority.ts';
import { type ChosenDatabase, withServer } from './database.ts';
import { openTables } from './deployment.ts';
import { CliFailure, ExitCode } from './failure.ts';
import { addPutBack } from './putting-back.ts';
import { addRebuild } from './rebuilding.ts';
import { RESTORABLE, type Restorable, restoreTables } from './restoring.ts';
import { isoTime, readCountOf, readSeconds, type Session } from './session.ts';

/** Tables that are restored by default. The Views are rebuilt from the Ledger instead. */
const RESTORED_TOGETHER: readonly Restorable[] = ['idempotency', 'ledger', 'registry'];
const MAX_SEGMENTS = 64;
/** The JSON document contains all ids. */
const MAX_SHOWN = 50;

const LEFT = [
  'Webhook deliveries: after you start the functions, run "payonce events republish" for the events since a day before the restored time.',
  'E-mails that were sent since the restored time can be sent again; the mail service has no idempotency keys.',
  'Inquiries: the Ledger does not show which have finished. A finished inquiry reads the processor’s books once more.',
  'Commissions of payments that were erased, and API keys, endpoints and limits created since the restored time, are lost.',
  'Keys that were revoked or replaced since the restored time are valid again: revoke them again.',
];
/** Shown only if DynamoDB is the authority. With PostgreSQL, the recovery itself erases the data again. */
const ERASED_IS_BACK = 'Personal data that was erased since the restored time is back: erase it again.';

type Opened = Omit<OpenedAuthority, 'postgres'>;

export function addTables(program: Command, session: Session): void {
  const tables = program
    .command('tables')
    .description('restores tables to a point in time, requeues unfinished work, and restores a row of the Ledger');

  tables
    .command('restore')
    .description('restores tables to a point in time as new tables, and prints the settings that adopt them')
    .requiredOption(
      '--to <seconds>',
      'the time to which the Ledger is restored, in Unix seconds; Idempotency is restored to a minute before it, and Registry to a minute after it',
      readSeconds,
    )
    .option(
      '--only <tables>',
      `a comma-separated list of these tables: ${RESTORABLE.join(', ')}; the default is ${RESTORED_TOGETHER.join(', ')}`,
      readTables,
      RESTORED_TOGETHER,
    )
    .action(async ({ to: toSeconds, only }: { to: number; only: readonly Restorable[] }) => {
      const target = await session.aws();
      const { tables: names } = await openTables(target);
      const client = new DynamoDBClient(target);
      const restored = await session.during('Restoring', (report) =>
        restoreTables({ client, wait: sleep, report }, { tables: names, only, toSeconds }),
      );
      session.show({ restoredTables: restored, claimsLost: true }, [
        'Deploy with these settings, in addition to those of tables that were adopted before:',
        `-c 'payonce:restoredTables=${JSON.stringify(restored)}' -c payonce:claimsLost=true`,
      ]);
    });

  withServer(
    tables
      .command('recover')
      .description(
        'after a restore: removes rows of lost transactions, lists lost keys, and writes entries, references and commissions that the Ledger implies',
      )
      .option('--segments <count>', 'number of concurrently read segments of each table', readCountOf(MAX_SEGMENTS), 4),
  ).action(({ segments, ...chosen }: ChosenDatabase & { segments: number }) =>
    withAuthority(session, chosen, (opened) => recoverTables(session, opened, segments)),
  );

  addRebuild(tables, session);
  addPutBack(tables, session);
}

/**
 * @throws CliFailure as {@link requireAuthority}, while a tenant is being moved, or if payments or orders cannot be
 * read, lack a transition or differ from PostgreSQL
 */
export async function recoverTables(session: Session, opened: OpenedAuthority, segments: number): Promise<void> {
  await requireAuthority(opened);
  const { client, databases } = opened;
  if (databases !== undefined) return recopy(session, opened, databases, segments);
  // The client checks the authority before each DynamoDB command, because an import can begin during the scan.
  return recover(session, { ...opened, client: checkedClient(client, checkAuthority(opened, 'dynamodb')) }, segments);
}

/**
 * Deletes leftover rows of lost transactions, ends approvals whose request has taken effect, and writes missing rows
 * that the Ledger implies. Safe to repeat.
 */
async function recover(session: Session, { client, tables, pacing }: Opened, segments: number): Promise<void> {
  const store = new DynamoDbStore(client, tables, pacing);
  const orders = new DynamoDbOrders(client, tables, pacing, store);
  const rows = new DynamoDbImpliedRows(client, tables, pacing);
  const commissions = new DynamoDbLostCommissions(client, tables.registry, pacing);
  const approvals = new DynamoDbApprovals(client, tables, pacing, store);
  const chainRows = new DynamoDbRowsOfChains(client, tables, pacing);
  await recordAction(session, 'tables.recovery_started');
  const remnants = await session.during('Removing', (report) =>
    closeRemnants({ store, approvals, orders, chainRows, implied: rows, ...pacing }, segments, (read) =>
      report(`${read} rows read`),
    ),
  );
  const { read, missing, broken, ...rebuilt } = await session.during('Recovering', (report) =>
    rebuildQueues(
      {
        store,
        orders,
        ledger: new DynamoDbLedgerScan(client, tables.ledger, pacing),
        rows,
        ...pacing,
        commission: async (chain) => {
          const commission = commissionOfChain(systemDigest, chain);
          return commission !== undefined && commissions.restore(commission);
        },
      },
      initialQueueRebuildState(segments),
      async (state) => report(`${state.read} payments and orders read`),
    ),
  );
  const { removed, ended, lost } = remnants;
  const unreadable = [...new Set([...remnants.unreadable, ...rebuilt.unreadable])];
  const left = [...LEFT, ERASED_IS_BACK];
  session.show({ removed, ended, lost, read, missing, unreadable, broken, left }, [
    `Rows of lost transactions that were removed: ${countsOf(removed).join(', ') || 'none'}.`,
    `Approvals that were ended, because their request has taken effect: ${ended}.`,
    `${read} payments and orders read. Rows that were missing: ${countsOf(missing).join(', ')}.`,
    ...left,
    ...lost.slice(0, MAX_SHOWN).map(lineOfLost),
    ...broken.slice(0, MAX_SHOWN).map((id) => `broken      ${id}: a transition is missing`),
    ...unreadable.slice(0, MAX_SHOWN).map((id) => `unreadable  ${id}`),
  ]);
  const bad = unreadable.length + broken.length;
  if (bad > 0)
    throw new CliFailure(ExitCode.incomplete, `${bad} payments and orders cannot be read, or lack a transition.`);
}

/** Copies the rows that the restored tables lack. Safe to repeat. */
async function recopy(
  session: Session,
  { client, tables, pacing }: Opened,
  databases: readonly PostgresStores[],
  atOnce: number,
): Promise<void> {
  const { isMoving } = await import('../lambdas/authority/store/postgres-tenant-moves.ts');
  // During a move, each of the two databases has only a part of the tenant's rows.
  if ((await Promise.all(databases.map(({ tools }) => isMoving(tools)))).includes(true))
    throw new CliFailure(ExitCode.refused, 'A tenant is being moved: finish or abort "payonce db move-tenant" first.');
  const commissions = new DynamoDbLostCommissions(client, tables.registry, pacing);
  await recordAction(session, 'tables.recovery_started');
  const commission = async (chain: PaymentChain): Promise<boolean> => {
    const found = commissionOfChain(systemDigest, chain);
    return found !== undefined && commissions.restore(found);
  };
  const marks = new DynamoDbJobMarks(client, tables.registry, pacing);
  const tooOld: string[] = [];
  const resumed = async (id: string, sinceMs: number): Promise<void> => {
    if (!(await readCopiesSince(marks, sinceMs, systemClock.nowMs()))) tooOld.push(id);
  };
  const found = await session.during('Recovering', async (report) => {
    const all: Recopied[] = [];
    for (const postgres of databases) {
      const before = all.reduce((sum, each) => sum + each.read, 0);
      const progress = (done: number): void => report(`${before + done} payments and orders read`);
      all.push(await recopyChains({ client, tables, pacing, postgres, commission, resumed }, atOnce, progress));
    }
    return all;
  });
  const sum = (count: (each: Recopied) => number): number => found.reduce((total, each) => total + count(each), 0);
  const read = sum((each) => each.read);
  const missing = {
    transition: sum((each) => each.missing.transition),
    details: sum((each) => each.missing.details),
    commission: sum((each) => each.missing.commission),
  };
  const differing = found.flatMap((each) => each.differing);
  const unreadable = found.flatMap((each) => each.unreadable);
  session.show({ read, missing, differing, unreadable, tooOld, left: LEFT }, [
    `${read} payments and orders read. Rows that were missing: ${countsOf(missing).join(', ')}.`,
    ...LEFT,
    ...differing
      .slice(0, MAX_SHOWN)
      .map((id) => `differs     ${id}: the Ledger has a transition that PostgreSQL lacks`),
    ...unreadable.slice(0, MAX_SHOWN).map((id) => `unreadable  ${id}`),
    ...tooOld
      .slice(0, MAX_SHOWN)
      .map((id) => `too old     ${id}: its events are published only by the relay; check that they were published`),
  ]);
  const bad = unreadable.length + differing.length;
  if (bad > 0)
    throw new CliFailure(ExitCode.incomplete, `${bad} payments and orders cannot be read, or differ from PostgreSQL.`);
}

/** The processor may have executed the operation: retry the request, or search the processor's books, to find out. */
function lineOfLost({ operationId, kind, writtenAtMs }: LostOperation): string {
  return `lost        ${operationId} (${kind} of ${isoTime(writtenAtMs)})`;
}

function countsOf(counts: Readonly<Record<string, number>>): readonly string[] {
  return Object.entries(counts).map(([kind, count]) => `${count} ${kind}`);
}

function readTables(text: string): readonly Restorable[] {
  const names = text.split(',');
  const found = RESTORABLE.filter((name) => names.includes(name));
  if (found.length === names.length) return found;
  throw new InvalidArgumentError(`${text} is not a comma-separated list of these tables: ${RESTORABLE.join(', ')}.`);
}
