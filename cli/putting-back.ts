import { type Command, InvalidArgumentError } from 'commander';
import { DynamoDbActivity } from '../lambdas/activity/store/dynamodb-activity.ts';
import { NO_BOUNDS, timeOf } from '../lambdas/archive/domain/judge-chain.ts';
import { archivedRows } from '../lambdas/archive/store/archived-lines.ts';
import { DynamoDbLedgerRows } from '../lambdas/archive/store/dynamodb-ledger-rows.ts';
import { putBackRow } from '../lambdas/archive/store/put-back-row.ts';
import { S3Objects } from '../lambdas/archive/store/s3-objects.ts';
import { type LedgerRows, wholeChain } from '../lambdas/archive/use/ledger-rows.ts';
import { LedgerRow } from '../lambdas/kernel/contract/rows.ts';
import { s3Client } from '../lambdas/kernel/platform/s3.ts';
import { parseOrderId } from '../lambdas/orders/ids.ts';
import { parsePaymentId } from '../lambdas/payments/ids.ts';
import { transitionSort } from '../lambdas/payments/store/items.ts';
import { type AwsTarget, openTables, stackOutput } from './deployment.ts';
import { CliFailure, ExitCode } from './failure.ts';
import type { Session } from './session.ts';

interface Row {
  readonly id: string;
  readonly chain: string;
  readonly sort: string;
}

interface Chosen {
  readonly fromTable?: string;
  readonly reason: string;
}

export function addPutBack(tables: Command, session: Session): void {
  tables
    .command('restore-row')
    .description('restores the original of one row of the Ledger, from the archive or from a restored table')
    .argument('<row>', 'the id of a payment or an order, a slash, and the sequence: pay_…/2', readRow)
    .option('--from-table <name>', 'a restored table (tables restore --only ledger); the default is the archive')
    .requiredOption('--reason <text>', 'the reason, for the activity log; it must not name a payer')
    .action((row: Row, chosen: Chosen) => putBack(session, row, chosen));
}

async function putBack(session: Session, { id, chain, sort }: Row, { fromTable, reason }: Chosen): Promise<void> {
  const target = await session.aws();
  const { client, tables, pacing } = await openTables(target);
  const rows = new DynamoDbLedgerRows(client, tables.ledger, pacing);
  const source =
    fromTable === undefined
      ? await archiveOf(target, rows, { id, chain, sort })
      : { name: fromTable, rows: new DynamoDbLedgerRows(client, fromTable, pacing) };
  const kind = await putBackRow(
    {
      ledger: { table: tables.ledger, rows },
      source,
      activity: new DynamoDbActivity(client, tables, pacing),
      clock: pacing.clock,
    },
    { chain, sort, id, operator: session.operator, reason },
  );
  if (kind === 'no_original') throw new CliFailure(ExitCode.notFound, `${source.name} has no row ${sort} of ${id}.`);
  if (kind === 'does_not_fit')
    throw new CliFailure(ExitCode.refused, `The row ${sort} of ${source.name} does not fit into the chain of ${id}.`);
  const sentence = kind === 'put' ? 'The row is restored.' : 'The Ledger already has this row. Nothing was changed.';
  session.show({ id, row: sort, outcome: kind }, [sentence]);
}

/**
 * Reads the archive from the time of the chain's first row on, or completely if that part does not contain the row to
 * restore.
 */
async function archiveOf(target: AwsTarget, ledger: LedgerRows, { chain, sort }: Row) {
  const bucket = await stackOutput(target, 'data', 'archiveBucket');
  if (bucket === undefined)
    throw new CliFailure(ExitCode.usage, 'This deployment has no archive: name a restored table with --from-table.');
  const bounds = timeOf((await wholeChain(ledger, chain)).map(({ row }) => row));
  const objects = new S3Objects(s3Client(target), bucket);
  const rows: Pick<LedgerRows, 'chain'> = {
    chain: async (...place) => {
      const near = await archivedRows(objects, bounds).chain(...place);
      return near.rows.some(({ row }) => row.sort === sort) ? near : archivedRows(objects, NO_BOUNDS).chain(...place);
    },
  };
  return { name: bucket, rows };
}

function readRow(text: string): Row {
  const [id = '', digits = ''] = text.split('/');
  const payment = parsePaymentId(id);
  const order = parseOrderId(id);
  if ((payment === undefined && order === undefined) || !/^[1-9]\d{0,5}$/.test(digits)) {
    throw new InvalidArgumentError(`${text} is not a row. Example: pay_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp/2.`);
  }
  const prefix = payment === undefined ? LedgerRow.order : LedgerRow.payment;
  return { id, chain: `${prefix}${id}`, sort: transitionSort(Number(digits)) };
}
