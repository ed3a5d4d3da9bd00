import { DynamoDbActivity } from '../lambdas/activity/store/dynamodb-activity.ts';
import type { openTables } from './deployment.ts';
import { CliFailure, ExitCode } from './failure.ts';

/**
 * Refuses a command that changes money's rows in DynamoDB if PostgreSQL is the authority: there, these rows are copies.
 *
 * @param command the command, for the message
 * @throws CliFailure
 */
export async function refusePostgres(
  { client, tables, pacing }: Pick<Awaited<ReturnType<typeof openTables>>, 'client' | 'tables' | 'pacing'>,
  command: string,
): Promise<void> {
  const log = new DynamoDbActivity(client, tables, pacing);
  const [newest] = await log.listActivity('settings', { order: 'newest_first', limit: 1 });
  if (newest?.details?.['authority'] !== 'postgres') return;
  const why = 'the setting payonce:authority is postgres, and the command changes only DynamoDB';
  throw new CliFailure(ExitCode.refused, `${command} does not run: ${why}.`);
}
