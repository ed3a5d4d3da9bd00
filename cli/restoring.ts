import {
  DescribeContinuousBackupsCommand,
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  type DynamoDBClient,
  ResourceNotFoundException,
  RestoreTableToPointInTimeCommand,
  type TableDescription,
  UpdateContinuousBackupsCommand,
  UpdateTableCommand,
  UpdateTimeToLiveCommand,
} from '@aws-sdk/client-dynamodb';
import { IdempotencyTable } from '../lambdas/kernel/contract/tables.ts';
import { CliFailure, ExitCode } from './failure.ts';

export const RESTORABLE = ['idempotency', 'ledger', 'registry', 'views'] as const;

export type Restorable = (typeof RESTORABLE)[number];

export interface RestoreRequest {
  readonly tables: Readonly<Record<Restorable, string>>;
  readonly only: readonly Restorable[];
  /**
   * Time to which the Ledger is restored, in Unix seconds. {@link MARGIN_SECONDS} contains each table's offset from
   * this time.
   */
  readonly toSeconds: number;
}

/**
 * Offset, in seconds, of a table's restore time from the Ledger's. Each table is copied at a slightly different time,
 * and a copy can contain a part of a transaction (Amazon DynamoDB developer guide, "Using on-demand backup and
 * restore"). A record without its transition would report a nonexistent effect, and an order without its contacts
 * cannot continue. `payonce tables recover` repairs missing records, and entries without a transition. Therefore,
 * records are restored to an earlier time than the Ledger, and rows that accompany its transitions to a later one. A
 * write with all of its attempts takes less than five seconds, and AWS clocks differ by less; a minute exceeds both.
 */
const MARGIN_SECONDS: Readonly<Record<Restorable, number>> = { idempotency: -60, ledger: 0, registry: 60, views: 0 };

export interface RestoreTools {
  readonly client: DynamoDBClient;
  readonly wait: (milliseconds: number) => Promise<unknown>;
  readonly report: (progress: string) => void;
}

/** The value of the setting `restoredTables`. */
export type Restored = Partial<Record<Restorable | 'ledgerStream', string>>;

const POLL_INTERVAL_MS = 10_000;
/** One day. AWS documents no limit for a restore, and most take less than an hour. */
const MAX_POLLS = 8_640;

/**
 * DynamoDB does not restore the settings that are configured afterwards: Stream, time to live, point-in-time recovery,
 * and deletion protection (Amazon DynamoDB API reference, RestoreTableToPointInTime). An interrupted command can be
 * repeated: it does not restore a table whose copy already exists.
 *
 * @throws CliFailure when a table to restore no longer exists, was itself restored to this time, or is not restored
 * after a day
 */
export async function restoreTables(
  tools: RestoreTools,
  { tables, only, toSeconds }: RestoreRequest,
): Promise<Restored> {
  const targets = only.map((kind) => {
    const atSeconds = toSeconds + MARGIN_SECONDS[kind];
    return { kind, source: tables[kind], target: restoredName(tables[kind], atSeconds), atSeconds };
  });
  for (const { source, target } of targets) if (source === target) throw inUse(source);
  const sources = new Map<Restorable, TableDescription | undefined>();
  for (const { kind, source, target, atSeconds } of targets) {
    const found = await describe(tools.client, source);
    sources.set(kind, found);
    if ((await describe(tools.client, target)) !== undefined) continue;
    if (found === undefined) throw gone(source, target);
    await tools.client.send(
      new RestoreTableToPointInTimeCommand({
        SourceTableName: source,
        TargetTableName: target,
        RestoreDateTime: new Date(atSeconds * 1000),
      }),
    );
  }
  const restored: Restored = {};
  for (const { kind, target } of targets) {
    await active(tools, target);
    await configure(tools, kind, target, sources.get(kind)?.DeletionProtectionEnabled ?? true);
    restored[kind] = target;
    if (kind === 'ledger') restored.ledgerStream = (await active(tools, target)).LatestStreamArn ?? '';
  }
  return restored;
}

function restoredName(source: string, toSeconds: number): string {
  return `${source.replace(/-r\d{1,10}$/, '')}-r${toSeconds}`;
}

function inUse(name: string): CliFailure {
  return new CliFailure(
    ExitCode.refused,
    `The table in use, ${name}, was itself restored to the requested time. Choose a time after its creation.`,
  );
}

function gone(source: string, target: string): CliFailure {
  return new CliFailure(
    ExitCode.notFound,
    `There is no table ${source}: restore its system backup as ${target} ("aws dynamodb restore-table-from-backup"), and run the command again.`,
  );
}

export async function describe(client: DynamoDBClient, TableName: string): Promise<TableDescription | undefined> {
  try {
    return (await client.send(new DescribeTableCommand({ TableName }))).Table;
  } catch (error) {
    if (error instanceof ResourceNotFoundException) return undefined;
    throw error;
  }
}

export async function active({ client, wait, report }: RestoreTools, name: string): Promise<TableDescription> {
  for (let poll = 0; poll < MAX_POLLS; poll += 1) {
    const table = await describe(client, name);
    if (table?.TableStatus === 'ACTIVE') return table;
    report(`${name}: ${table?.TableStatus ?? 'not there yet'}`);
    await wait(POLL_INTERVAL_MS);
  }
  throw new CliFailure(ExitCode.incomplete, `${name} is not restored after a day: run the command again.`);
}

/** The templates (lib/constructs) declare the same configuration. Existing settings stay unchanged. */
export async function configure(
  tools: RestoreTools,
  kind: Restorable,
  TableName: string,
  isProtected: boolean,
): Promise<void> {
  const { client } = tools;
  const { StreamSpecification, DeletionProtectionEnabled = false } = await active(tools, TableName);
  if (isProtected && !DeletionProtectionEnabled) {
    await client.send(new UpdateTableCommand({ TableName, DeletionProtectionEnabled: true }));
    await active(tools, TableName);
  }
  if (kind === 'idempotency' || kind === 'registry') await enableTimeToLive(client, TableName);
  const { ContinuousBackupsDescription: backups } = await client.send(
    new DescribeContinuousBackupsCommand({ TableName }),
  );
  if (backups?.PointInTimeRecoveryDescription?.PointInTimeRecoveryStatus !== 'ENABLED') {
    const recovery = { PointInTimeRecoveryEnabled: true };
    await client.send(new UpdateContinuousBackupsCommand({ TableName, PointInTimeRecoverySpecification: recovery }));
  }
  // Enable the Stream last, because a Ledger with a Stream is considered complete.
  if (kind === 'ledger' && StreamSpecification?.StreamEnabled !== true) {
    const stream = { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' } as const;
    await client.send(new UpdateTableCommand({ TableName, StreamSpecification: stream }));
    await active(tools, TableName);
  }
}

async function enableTimeToLive(client: DynamoDBClient, TableName: string): Promise<void> {
  const { TimeToLiveDescription } = await client.send(new DescribeTimeToLiveCommand({ TableName }));
  const status = TimeToLiveDescription?.TimeToLiveStatus;
  if (status === 'ENABLED' || status === 'ENABLING') return;
  const AttributeName = IdempotencyTable.timeToLiveAttribute;
  await client.send(
    new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification: { Enabled: true, AttributeName } }),
  );
}
