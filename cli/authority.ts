import { DynamoDbActivity } from '../lambdas/activity/store/dynamodb-activity.ts';
import type { PostgresStores } from '../lambdas/authority/postgres-stores.ts';
import { readAuthorityState } from '../lambdas/authority/store/authority-state.ts';
import type { Authority } from '../lambdas/jobs/contract/jobs.ts';
import { type ChosenDatabase, chosenOr, withDatabase } from './database.ts';
import { openTables } from './deployment.ts';
import { CliFailure, ExitCode } from './failure.ts';
import type { Session } from './session.ts';

type OpenedTables = Awaited<ReturnType<typeof openTables>>;

/** The tables of a deployment, and the stores of its authority. */
export interface OpenedAuthority extends OpenedTables {
  /** Absent when DynamoDB is the authority. */
  readonly postgres?: PostgresStores;
}

/**
 * Runs `work` on the authority of the recorded settings.
 *
 * @param chosen the database @default the database of the settings, with the user of the functions
 * @throws CliFailure if the database cannot be reached
 */
export async function withAuthority<T>(
  session: Pick<Session, 'aws'>,
  chosen: ChosenDatabase,
  work: (opened: OpenedAuthority) => Promise<T>,
): Promise<T> {
  return withAuthorityOf(session, await openTables(await session.aws()), chosen, work);
}

/** Runs `work` on the authority of the settings that are recorded in these tables. */
export async function withAuthorityOf<T>(
  session: Pick<Session, 'aws'>,
  opened: OpenedTables,
  chosen: ChosenDatabase,
  work: (opened: OpenedAuthority) => Promise<T>,
): Promise<T> {
  const { client, tables, pacing } = opened;
  const log = new DynamoDbActivity(client, tables, pacing);
  const [newest] = await log.listActivity('settings', { order: 'newest_first', limit: 1 });
  const settings = newest?.details ?? {};
  const { authority = 'dynamodb' } = settings;
  if (authority !== 'postgres') return work(opened);
  const { postgresStores } = await import('../lambdas/authority/postgres-stores.ts');
  // The observer ignores all reports: a command waits until its rows are copied, and reports the remaining ones itself.
  const observer = { stopped: () => undefined, failed: () => undefined, observed: () => undefined };
  return withDatabase(session, chosenOr(settings, chosen), (database) =>
    work({ ...opened, postgres: postgresStores({ database, pacing, client, tables, observer }) }),
  );
}

/**
 * Checks that this authority has the payments, before a command changes them.
 *
 * @param selected @default the authority whose stores are open
 * @throws CliFailure if the other authority has them, or an import has stopped all writes
 */
export async function requireAuthority(
  { client, tables, pacing, postgres }: OpenedAuthority,
  selected: Authority = postgres === undefined ? 'dynamodb' : 'postgres',
): Promise<void> {
  const { authority = selected, isImporting = false } = (await readAuthorityState({ client, tables, pacing })) ?? {};
  if (isImporting) throw new CliFailure(ExitCode.refused, 'An import has stopped all writes: finish or cancel it.');
  if (authority !== selected)
    throw new CliFailure(
      ExitCode.refused,
      `The payments are in ${authority}: deploy with payonce:authority=${authority}.`,
    );
}
