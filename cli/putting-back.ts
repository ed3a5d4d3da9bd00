import { type Command, InvalidArgumentError } from 'commander';
import { DynamoDbActivity } from '../lambdas/activity/store/dynamodb-activity.ts';
import { DynamoDbLedgerRows } from '../lambdas/archive/store/dynamodb-ledger-rows.ts';
import { putBackRow } from '../lambdas/archive/store/put-back-row.ts';
import { LedgerRow } from '../lambdas/kernel/contract/rows.ts';
import { parseOrderId, parsePaymentId } from '../lambdas/kernel/ids.ts';
import { transitionSort } from '../lambdas/payments/store/items.ts';
import { openTables } from './deployment.ts';
import { CliFailure, ExitCode } from './failure.ts';
import type { Session } from './session.ts';

interface Row {
  readonly id: string;
  readonly chain: string;
  readonly sort: string;
}

interface Chosen {
  readonly fromTable: string;
  readonly reason: string;
}

/** `payonce tables mend`. */
export function addPutBack(tables: Command, session: Session): void {
  tables
    .command('mend')
    .description('puts the original of one row of the Ledger back, from a table that was restored to an earlier moment')
    .argument('<row>', 'the id of a payment or an order, a slash, and the sequence: pay_…/2', readRow)
    .requiredOption('--from-table <name>', 'the restored table (tables restore --only ledger)')
    .requiredOption('--reason <text>', 'why; it is in the activity log, and must name no payer')
    .action((row: Row, chosen: Chosen) => putBack(session, row, chosen));
}

async function putBack(session: Session, { id, chain, sort }: Row, { fromTable, reason }: Chosen): Promise<void> {
  const { client, tables, pacing } = await openTables(await session.aws());
  const kind = await putBackRow(
    {
      ledger: { table: tables.ledger, rows: new DynamoDbLedgerRows(client, tables.ledger, pacing) },
      source: { name: fromTable, rows: new DynamoDbLedgerRows(client, fromTable, pacing) },
      activity: new DynamoDbActivity(client, tables, pacing),
      clock: pacing.clock,
    },
    { chain, sort, id, operator: session.operator, reason },
  );
  if (kind === 'no_original') throw new CliFailure(ExitCode.notFound, `${fromTable} has no row ${sort} of ${id}.`);
  if (kind === 'does_not_fit')
    throw new CliFailure(ExitCode.refused, `The row ${sort} of ${fromTable} does not fit into the chain of ${id}.`);
  const told = kind === 'put' ? 'The row is put back.' : 'The Ledger has this row already. Nothing was changed.';
  session.show({ id, row: sort, outcome: kind }, [told]);
}

function readRow(text: string): Row {
  const [id = '', digits = ''] = text.split('/');
  const payment = parsePaymentId(id);
  const order = parseOrderId(id);
  if ((payment === undefined && order === undefined) || !/^[1-9]\d{0,5}$/.test(digits)) {
    throw new InvalidArgumentError(`${text} is not a row, for example pay_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp/2.`);
  }
  const prefix = payment === undefined ? LedgerRow.order : LedgerRow.payment;
  return { id, chain: `${prefix}${id}`, sort: transitionSort(Number(digits)) };
}
