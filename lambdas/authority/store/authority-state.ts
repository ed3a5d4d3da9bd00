import { type DynamoDBDocumentClient, GetCommand, QueryCommand } from '@aws-sdk/lib-dynamodb';
import type { ActivityEntry } from '../../activity/domain/activity.ts';
import { activityKey, activityPartition } from '../../activity/store/activity-keys.ts';
import type { Authority } from '../../jobs/contract/jobs.ts';
import { KeyAttribute } from '../../kernel/contract/tables.ts';
import { defined } from '../../kernel/defined.ts';
import { AUTHORITY_CHANGED, NotBegunError, RetryableError } from '../../kernel/faults.ts';
import { type Pacing, readWithRetries } from '../../kernel/platform/attempts.ts';
import type { StoreTables } from '../../once/store/transact-items.ts';
import type { Database } from '../../postgres/database.ts';
import { STATE_VALID_MS } from '../contract.ts';

export interface AuthorityStateTools {
  readonly client: DynamoDBDocumentClient;
  readonly tables: Pick<StoreTables, 'ledger'>;
  readonly pacing: Pacing;
}

/**
 * The id of one imported payment or order of each database, by the name of the database; empty for a database without
 * payments and orders.
 */
export type ImportedDatabases = Readonly<Record<string, string>>;

export interface AuthorityState {
  readonly authority: Authority;
  readonly isImporting: boolean;
  /**
   * Present after an import. A database that lacks the payment or order listed under its name is not the database into
   * which the import copied rows.
   */
  readonly imported?: ImportedDatabases;
}

/** Error code of a write while an import has stopped all writes. */
const IMPORTING = 'authority_importing';
const RETRY_AFTER_SECONDS = 60;

/** @param isWrite whether the call can change rows */
export type AuthorityCheck = (isWrite: boolean) => Promise<void>;

/**
 * Returns a check that this authority is the system of record: the deployment's first settings name it, or an import
 * has since made it the authority. The other database lacks the idempotency keys, so a retry would charge again:
 *
 *   dynamodb  ── first settings ✓ ── claim of key A ── charge ── [deploy with postgres]
 *   postgres  ──────────────────────────────────────────────────── retry of key A: the payments are in dynamodb ✗
 *
 * A process reads the state again after a minute. Until then, it may write although an import has begun. Therefore, the
 * import waits for more than a minute:
 *
 *   process  ── read ✓ ───────── write ✓ ──── 60 s: read ── write ✗
 *   import   ───────── stop writes ── waits ─────────────────────── copies
 *
 * Before the first settings are recorded, in the first minute of a deployment, nothing is refused.
 *
 * @param findWrongDatabase returns why the database is not the one into which payments were imported; undefined if it
 * is that database @default the calls go to DynamoDB
 * @returns a function that throws NotBegunError, or a fault of the read
 */
export function checkAuthority(
  tools: AuthorityStateTools,
  own: Authority,
  findWrongDatabase?: (imported: ImportedDatabases) => Promise<string | undefined>,
): AuthorityCheck {
  const { clock } = tools.pacing;
  const read = stateReader(tools);
  let known: { readonly state: ReturnType<typeof read>; readonly atMs: number } | undefined;
  const current = (): ReturnType<typeof read> => {
    const atMs = clock.nowMs();
    if (known !== undefined && Math.abs(atMs - known.atMs) < STATE_VALID_MS) return known.state;
    const reading = { state: read(), atMs };
    reading.state.catch(() => {
      if (known === reading) known = undefined;
    });
    known = reading;
    return reading.state;
  };
  return async (isWrite) => {
    const state = await orNotBegun(current());
    if (state === undefined) return;
    const { authority, isImporting, imported } = state;
    const options = { retryAfterSeconds: RETRY_AFTER_SECONDS };
    const wrong =
      authority === own
        ? imported && findWrongDatabase && (await orNotBegun(findWrongDatabase(imported)))
        : `payonce:authority is ${own}, but the payments are in ${authority}`;
    if (wrong !== undefined) throw new NotBegunError(AUTHORITY_CHANGED, wrong, options);
    if (isImporting && isWrite) throw new NotBegunError(IMPORTING, 'an import has stopped all writes', options);
  };
}

/** Converts a RetryableError of a read to a NotBegunError, because the call has not begun. */
export async function orNotBegun<Result>(reading: Promise<Result>): Promise<Result> {
  return reading.catch((cause: unknown) => {
    if (!(cause instanceof RetryableError)) throw cause;
    const { code, retryAfterSeconds } = cause;
    throw new NotBegunError(code, 'the authority cannot be read', { cause, ...defined({ retryAfterSeconds }) });
  });
}

/** @returns undefined when no settings are recorded yet */
export function readAuthorityState(tools: AuthorityStateTools): Promise<AuthorityState | undefined> {
  return stateReader(tools)();
}

/** Once the deployment's first settings are recorded, the returned function caches their authority. */
function stateReader(tools: AuthorityStateTools): () => Promise<AuthorityState | undefined> {
  let began: Authority | undefined;
  return async () => {
    const [newest, first] = await Promise.all([readNewest(tools), began ?? readFirst(tools)]);
    began = first;
    if (newest !== undefined) return stateAfter(newest);
    return first === undefined ? undefined : { authority: first, isImporting: false };
  };
}

export function stateAfter({ action, details: imported }: Pick<ActivityEntry, 'action' | 'details'>): AuthorityState {
  if (action === 'import.finished') return { authority: 'postgres', isImporting: false, ...defined({ imported }) };
  return { authority: 'dynamodb', isImporting: action !== 'import.canceled' };
}

async function readNewest({ client, tables, pacing }: AuthorityStateTools): Promise<ActivityEntry | undefined> {
  const input = {
    TableName: tables.ledger,
    KeyConditionExpression: '#pk = :pk',
    ExpressionAttributeNames: { '#pk': KeyAttribute.partition },
    ExpressionAttributeValues: { ':pk': activityPartition('imports') },
    ScanIndexForward: false,
    ConsistentRead: true,
    Limit: 1,
  };
  const { Items: [newest] = [] } = await readWithRetries(pacing, () => client.send(new QueryCommand(input)));
  return newest as ActivityEntry | undefined;
}

async function readFirst({ client, tables, pacing }: AuthorityStateTools): Promise<Authority | undefined> {
  const input = { TableName: tables.ledger, Key: activityKey('settings', 1), ConsistentRead: true };
  const { Item } = await readWithRetries(pacing, () => client.send(new GetCommand(input)));
  if (Item === undefined) return undefined;
  const { authority } = (Item['details'] ?? {}) as { readonly authority?: unknown };
  // Do not call `storesOf` here: importing it would add its module to the bundles without PostgreSQL.
  return authority === 'postgres' || authority === 'dsql' ? 'postgres' : 'dynamodb';
}

export function checkedClient(client: DynamoDBDocumentClient, check: AuthorityCheck): DynamoDBDocumentClient {
  const send = async (command: never): Promise<unknown> => {
    await check(!isRead(command));
    return client.send(command);
  };
  return Object.create(client, { send: { value: send } }) as DynamoDBDocumentClient;
}

export function checkedDatabase(database: Database, check: () => Promise<unknown>): Database {
  return {
    run: async (statement) => {
      await check();
      return database.run(statement);
    },
    transaction: async (work) => {
      await check();
      return database.transaction(work);
    },
  };
}

function isRead(command: unknown): boolean {
  return command instanceof GetCommand || command instanceof QueryCommand;
}
