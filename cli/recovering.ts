import type { Command } from 'commander';
import type { StoppedChain } from '../lambdas/authority/recover-chains.ts';
import { recordAction } from './activity.ts';
import { requireAuthority } from './authority.ts';
import { type ChosenDatabase, withDatabase, withServer } from './database.ts';
import { openTables, stackOutput } from './deployment.ts';
import { deleteEntries } from './empty-cache.ts';
import { CliFailure, ExitCode } from './failure.ts';
import { readCountOf, type Session } from './session.ts';

const MAX_SEGMENTS = 64;
/** Maximum number of ids that are printed. The JSON document contains all. */
const MAX_SHOWN = 50;

/** Actions that the operator must take, and losses that remain. */
const LEFT = [
  'Stored responses, approvals and activity entries since the restored time are lost. A retried request gets an error that names its payment.',
  'Changes that were not copied before the loss are lost: run "payonce jobs run reconcile-days" once the functions run.',
];

/** Adds `payonce db recover`. */
export function addRecover(db: Command, session: Session): void {
  withServer(
    db
      .command('recover')
      .description(
        'after a restore of the database: appends transitions that only the Ledger has, and lists differences',
      ),
  )
    .option('--segments <count>', 'segments of the Ledger that are read concurrently', readCountOf(MAX_SEGMENTS), 4)
    .action((chosen: ChosenDatabase & { readonly segments: number }) => recover(session, chosen));
}

/** Appends transitions of the Ledger, then writes the queue entries and references that they imply. Safe to repeat. */
async function recover(
  session: Session,
  { segments, ...chosen }: ChosenDatabase & { readonly segments: number },
): Promise<void> {
  const target = await session.aws();
  const { client, tables, pacing } = await openTables(target);
  await requireAuthority({ client, tables, pacing }, 'postgres');
  await recordAction(session, 'tables.recovery_started', { tables: 'postgres' });
  // Responses of lost records must not be replayed.
  const cache = await stackOutput(target, 'service', 'replayCacheTable');
  if (cache !== undefined) await deleteEntries(client, cache);
  const { recoverPostgres } = await import('../lambdas/authority/recover-postgres.ts');
  const found = await withDatabase(session, chosen, (database) =>
    session.during('Recovering', (report) =>
      recoverPostgres({ client, tables, pacing, database }, segments, (read) =>
        report(`${read} payments and orders read`),
      ),
    ),
  );
  const { read, recovered, appended, missing, stopped, broken, erased, unreadable } = found;
  const queued = Object.entries(missing).filter(([, count]) => count > 0);
  session.show({ ...found, left: LEFT }, [
    `${read} payments and orders read. Appended to ${recovered} of them: ${appended} transitions.`,
    `Rows that were missing: ${queued.map(([kind, count]) => `${count} ${kind}`).join(', ') || 'none'}.`,
    ...LEFT,
    ...stopped.slice(0, MAX_SHOWN).map(lineOfStopped),
    ...erased.slice(0, MAX_SHOWN).map((id) => `erased      ${id}: erase it again`),
    ...broken.slice(0, MAX_SHOWN).map((id) => `broken      ${id}: a transition is missing`),
    ...unreadable.slice(0, MAX_SHOWN).map((id) => `unreadable  ${id}`),
  ]);
  const left = stopped.length + erased.length + broken.length + unreadable.length;
  if (left > 0) throw new CliFailure(ExitCode.incomplete, `${left} payments and orders need an operator.`);
}

function lineOfStopped({ chainId, sequence, because }: StoppedChain): string {
  return `${because.padEnd(11)} ${chainId}/${sequence}`;
}
