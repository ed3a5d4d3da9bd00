import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { activityKey } from '../../activity/store/activity-keys.ts';
import type { Authority } from '../../jobs/contract/jobs.ts';
import { defined } from '../../kernel/defined.ts';
import { AUTHORITY_CHANGED, NotBegunError, RetryableError } from '../../kernel/faults.ts';
import { loadedOnce } from '../../kernel/loaded-once.ts';
import { type Pacing, readWithRetries } from '../../kernel/platform/attempts.ts';
import type { StoreTables } from '../../once/store/transact-items.ts';

export interface FirstAuthorityTools {
  readonly client: DynamoDBDocumentClient;
  readonly tables: Pick<StoreTables, 'ledger'>;
  readonly pacing: Pacing;
}

/**
 * Returns a check that the deployment began with this authority, as the first entry in the log of settings says. The
 * other database does not know the keys of earlier payments, and would charge a retry again:
 *
 *   dynamodb  ── first settings ✓ ── claim of key A ── charge ── [deploy with postgres]
 *   postgres  ──────────────────────────────────────────────────── retry of key A: began with dynamodb ✗
 *
 * The entry is read once in a process. Before it is written, in the first minute of a deployment, nothing is refused.
 *
 * @returns a function that throws NotBegunError `authority_changed`, or a fault of the read
 */
export function checkFirstAuthority(tools: FirstAuthorityTools, own: Authority): () => Promise<void> {
  return loadedOnce(async () => {
    const first = await readFirstAuthority(tools).catch((cause: unknown) => {
      if (!(cause instanceof RetryableError)) throw cause;
      const { code, retryAfterSeconds } = cause;
      throw new NotBegunError(code, 'the first settings cannot be read', { cause, ...defined({ retryAfterSeconds }) });
    });
    if (first === undefined || first === own) return;
    throw new NotBegunError(
      AUTHORITY_CHANGED,
      `payonce:authority is ${own}, but the deployment began with ${first}, where its payments are`,
      { retryAfterSeconds: 60 },
    );
  });
}

/** Reads the authority with which the deployment began. @returns undefined when no settings are recorded yet */
export async function readFirstAuthority({
  client,
  tables,
  pacing,
}: FirstAuthorityTools): Promise<Authority | undefined> {
  const input = { TableName: tables.ledger, Key: activityKey('settings', 1), ConsistentRead: true };
  const { Item } = await readWithRetries(pacing, () => client.send(new GetCommand(input)));
  if (Item === undefined) return undefined;
  const { authority } = (Item['details'] ?? {}) as { readonly authority?: unknown };
  return authority === 'postgres' ? 'postgres' : 'dynamodb';
}

/** Returns the client with a check before each command. @param check returns at once after it has succeeded */
export function checkedClient(client: DynamoDBDocumentClient, check: () => Promise<void>): DynamoDBDocumentClient {
  const send = async (command: never): Promise<unknown> => {
    await check();
    return client.send(command);
  };
  return Object.create(client, { send: { value: send } }) as DynamoDBDocumentClient;
}
