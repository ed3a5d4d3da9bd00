import { type Command, InvalidArgumentError } from 'commander';
import { databasesOf, isShard, type ShardSettings } from '../lambdas/authority/contract.ts';
import type { DifferentRow, Imported, ImportTools } from '../lambdas/authority/import-authority.ts';
import type { DifferentChain } from '../lambdas/authority/import-chains.ts';
import { AuthorityLog } from '../lambdas/authority/store/authority-log.ts';
import { type ChosenDatabase, withDatabases, withServer, withShards } from './database.ts';
import { openTables } from './deployment.ts';
import { CliFailure, ExitCode, endingOf } from './failure.ts';
import { readCountOf, type Session } from './session.ts';

const MAX_SEGMENTS = 8;
/** Each copy needs a database connection. */
const CONNECTIONS_OF_SEGMENT = 8;
/** The JSON document contains all ids. */
const MAX_SHOWN = 50;

interface Chosen extends ChosenDatabase {
  readonly segments: number;
  readonly shards?: readonly ShardSettings[];
  readonly finish?: boolean;
  readonly cancel?: boolean;
}

const STOPPED = 'Writes are stopped: repair the cause and repeat the command, or use --cancel.';
const CANCELED = 'Writes continue in DynamoDB within a minute.';
const REPLACED = 'Another command has canceled or replaced this import.';
const IN_POSTGRES = 'PostgreSQL has the payments of this deployment already.';

export function addImport(db: Command, session: Session): void {
  withServer(
    db
      .command('import')
      .description('copies payments and orders from DynamoDB, which remains in use; can be repeated')
      .option(
        '--finish',
        'stops writes, copies the remaining rows, compares all rows, and makes PostgreSQL the authority',
      )
      .option('--cancel', 'lets writes continue in DynamoDB after --finish found a difference')
      .option(
        '--shards <list>',
        'with --secret: the additional databases, in the format of payonce:postgresShards',
        readShards,
      )
      .option('--segments <count>', 'number of concurrently read segments of each table', readCountOf(MAX_SEGMENTS), 4),
  ).action(async (chosen: Chosen) => importPayments(session, await openTables(await session.aws()), chosen));
}

/** @throws CliFailure if the command is refused, or if PostgreSQL differs from DynamoDB */
export async function importPayments(
  session: Pick<Session, 'aws' | 'during' | 'operator' | 'show'>,
  opened: Awaited<ReturnType<typeof openTables>>,
  { segments, finish, cancel, shards = [], ...chosen }: Chosen,
): Promise<void> {
  if (finish && cancel) throw new CliFailure(ExitCode.usage, 'Use either --finish or --cancel, not both.');
  if (shards.length > 0 && chosen.secret === undefined)
    throw new CliFailure(ExitCode.usage, 'Use --shards with --secret.');
  const log = new AuthorityLog(opened, session.operator);
  const { cancelImport, copyChains, finishImport, isStopped } = await import(
    '../lambdas/authority/import-authority.ts'
  );
  if (cancel) {
    if (!(await cancelImport({ log }))) throw new CliFailure(ExitCode.refused, 'No import has stopped writes.');
    session.show({ outcome: 'canceled' }, [CANCELED]);
    return;
  }
  const first = { ...chosen, connections: segments * CONNECTIONS_OF_SEGMENT };
  const found = await withDatabases(session, withShards(first, shards), (databases) =>
    session.during('Importing', async (progress): Promise<Imported> => {
      const tools: ImportTools = { ...opened, databases, log };
      return finish ? finishImport(tools, { segments, progress }) : copyChains(tools, { segments, progress });
    }),
  ).catch(async (error: unknown) => {
    if (!finish || !(await isStopped({ log }))) throw error;
    const { sentence = '', exitCode } = endingOf(error);
    throw new CliFailure(exitCode, `${sentence} ${STOPPED}`);
  });
  if (found.kind === 'postgres') throw new CliFailure(ExitCode.refused, IN_POSTGRES);
  if (found.kind === 'replaced') throw new CliFailure(ExitCode.incomplete, REPLACED);
  const { read, appended, different } = found;
  const placeOf = ({ database }: DifferentChain | DifferentRow): string =>
    shards.length === 0 || database === undefined ? '' : ` in ${database}`;
  const differentRows = 'differentRows' in found ? (found.differentRows ?? []) : [];
  session.show({ ...found }, [
    `${read} payments and orders read. Copied: ${appended} transitions.`,
    ...('rows' in found && found.rows !== undefined
      ? [
          `Other rows: ${Object.entries(found.rows)
            .map(([table, count]) => `${count} ${table}`)
            .join(', ')}.`,
        ]
      : []),
    ...different.slice(0, MAX_SHOWN).map((each) => `${lineOfChain(each)}${placeOf(each)}`),
    ...differentRows.slice(0, MAX_SHOWN).map((each) => `${lineOfRow(each)}${placeOf(each)}`),
    ...(found.kind === 'finished'
      ? [`Deploy with payonce:authority=postgres${shards.length > 0 ? ' and these payonce:postgresShards' : ''}.`]
      : []),
  ]);
  const left = different.length + differentRows.length;
  if (left === 0) return;
  throw new CliFailure(ExitCode.incomplete, `${left} differences.${finish ? ` ${STOPPED}` : ''}`);
}

function lineOfChain({ chainId, because }: DifferentChain): string {
  return `${because.padEnd(11)} ${chainId}`;
}

function lineOfRow({ table, key }: DifferentRow): string {
  return `${'row'.padEnd(11)} ${table} ${JSON.stringify(key)}`;
}

function readShards(text: string): readonly ShardSettings[] {
  try {
    const shards: unknown = JSON.parse(text);
    if (Array.isArray(shards) && shards.every(isShard)) {
      const names = databasesOf({ shards }).map(({ name }) => name);
      if (new Set(names).size === names.length) return shards;
    }
  } catch {
    // The text is not JSON.
  }
  throw new InvalidArgumentError(
    `${text} is not a list like [{"name":"b","database":"payonce_b"}], with different names.`,
  );
}
