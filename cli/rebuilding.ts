import { setTimeout as sleep } from 'node:timers/promises';
import { CreateTableCommand, DynamoDBClient, type TableDescription } from '@aws-sdk/client-dynamodb';
import type { Command } from 'commander';
import { type CopiedRows, copyRows } from '../lambdas/archive/store/copy-rows.ts';
import { S3Objects } from '../lambdas/archive/store/s3-objects.ts';
import { KeyAttribute, LedgerTable } from '../lambdas/kernel/contract/tables.ts';
import { s3Client } from '../lambdas/kernel/platform/s3.ts';
import { openTables, stackOutput } from './deployment.ts';
import { CliFailure, ExitCode } from './failure.ts';
import { active, configure, describe } from './restoring.ts';
import { isoTime, type Session } from './session.ts';

/** The JSON output contains all differing rows and unreadable archive lines. */
const MAX_SHOWN = 50;

/**
 * Safety margin in milliseconds: records are restored to a point in time that is this long before the newest row. If
 * the archiver failed to write a batch, the archive may lack rows of other payments that are older than the newest row.
 */
const RESTORE_MARGIN_MS = 10 * 60_000;

interface Chosen {
  readonly archiveBucket?: string;
}

export function addRebuild(tables: Command, session: Session): void {
  tables
    .command('rebuild')
    .description('creates a Ledger from the archive only, in a new table, and prints the setting that adopts it')
    .argument('<table>', 'the name of the new table; repeat an interrupted command with the same name')
    .option('--archive-bucket <name>', 'the archive bucket; the default is the bucket of the deployment')
    .action((table: string, chosen: Chosen) => rebuild(session, table, chosen));
}

async function rebuild(session: Session, table: string, chosen: Chosen): Promise<void> {
  const target = await session.aws();
  const { client, tables, pacing } = await openTables(target);
  if (table === tables.ledger)
    throw new CliFailure(ExitCode.refused, `${table} is the Ledger in use: name a table that does not exist yet.`);
  refuseName(table);
  const bucket = chosen.archiveBucket ?? (await stackOutput(target, 'data', 'archiveBucket'));
  if (bucket === undefined)
    throw new CliFailure(ExitCode.usage, 'This deployment has no archive: name one with --archive-bucket.');
  const dynamo = new DynamoDBClient(target);
  const copied = await session.during('Rebuilding', async (report) => {
    const tools = { client: dynamo, wait: sleep, report };
    const found = await describe(dynamo, table);
    if (found === undefined) await create(dynamo, table);
    else refuseForeignTable(found);
    await active(tools, table);
    // Copy before the Stream is enabled, so that rebuilt rows are not published or archived again.
    const reportRows = ({ written, there }: CopiedRows): void =>
      report(`${written} rows written, ${there} already existed`);
    const ended = await copyRows({ client, table, pacing }, new S3Objects(s3Client(target), bucket), reportRows);
    await configure(tools, 'ledger', table, true);
    return ended;
  });
  const { LatestStreamArn: ledgerStream = '' } = (await describe(dynamo, table)) ?? {};
  const restored = { ledger: table, ledgerStream };
  const { different, unreadable, newestMs } = copied;
  const restoreTo = {
    idempotency: Math.floor((newestMs - RESTORE_MARGIN_MS) / 1_000),
    registry: Math.ceil(newestMs / 1_000),
  };
  session.show({ ...copied, restoredTables: restored, restoreTo }, [
    `${copied.written} rows written, ${copied.there} already existed.`,
    ...different.slice(0, MAX_SHOWN).map((place) => `different  ${place}`),
    ...unreadable.slice(0, MAX_SHOWN).map((place) => `unreadable  ${place}`),
    `Verify it: payonce verify --table ${table}`,
    `The newest row was written at ${isoTime(newestMs)}. Restore Idempotency to a time before it, and Registry to that time or later:`,
    ...Object.entries(restoreTo).map(([other, to]) => `payonce tables restore --only ${other} --to ${to}`),
    'Then deploy with this setting, together with the settings of all adopted tables:',
    `-c 'payonce:restoredTables=${JSON.stringify(restored)}'`,
  ]);
  const bad = different.length + unreadable.length;
  if (bad > 0)
    throw new CliFailure(ExitCode.incomplete, `${bad} lines of the archive differ from ${table} or cannot be read.`);
}

const string = (AttributeName: string) => ({ AttributeName, AttributeType: 'S' as const });
const hash = (AttributeName: string) => ({ AttributeName, KeyType: 'HASH' as const });
const range = (AttributeName: string) => ({ AttributeName, KeyType: 'RANGE' as const });
const { name: IndexName, partitionKey, sortKey } = LedgerTable.recentOutcomesIndex;
const KEYS = [hash(KeyAttribute.partition), range(KeyAttribute.sort)];

/** The table is as the construct `Ledger` declares it, but without a Stream. */
async function create(client: DynamoDBClient, TableName: string): Promise<void> {
  await client.send(
    new CreateTableCommand({
      TableName,
      KeySchema: KEYS,
      AttributeDefinitions: [KeyAttribute.partition, KeyAttribute.sort, partitionKey, sortKey].map(string),
      GlobalSecondaryIndexes: [
        { IndexName, KeySchema: [hash(partitionKey), range(sortKey)], Projection: { ProjectionType: 'KEYS_ONLY' } },
      ],
      BillingMode: 'PAY_PER_REQUEST',
      SSESpecification: { Enabled: true },
    }),
  );
}

/**
 * A deployment recognizes a Ledger by its name (lib/restored-tables.ts).
 *
 * @throws CliFailure for a name that DynamoDB refuses, or that no deployment recognizes
 */
export function refuseName(table: string): void {
  if (/^[A-Za-z0-9_.-]{3,255}$/.test(table) && table.includes('Ledger')) return;
  const rule = 'it must contain Ledger and have 3 to 255 letters, digits, dots, hyphens and underscores';
  throw new CliFailure(ExitCode.usage, `${table} is not a valid name for a Ledger: ${rule}.`);
}

/**
 * A Ledger in use has a Stream: its relay would publish every written row, and so send one deployment's payments to the
 * customers of another.
 *
 * @throws CliFailure for a table that is not a Ledger or has a Stream
 */
export function refuseForeignTable({
  TableName = '',
  KeySchema = [],
  GlobalSecondaryIndexes = [],
  StreamSpecification,
}: TableDescription): void {
  const isLedger =
    JSON.stringify(KeySchema) === JSON.stringify(KEYS) &&
    GlobalSecondaryIndexes.some((index) => index.IndexName === IndexName);
  if (!isLedger) throw new CliFailure(ExitCode.refused, `${TableName} exists and is not a Ledger: name another table.`);
  if (StreamSpecification?.StreamEnabled === true)
    throw new CliFailure(
      ExitCode.refused,
      `${TableName} has a Stream: it is a Ledger in use, or was rebuilt completely. Name another table.`,
    );
}
