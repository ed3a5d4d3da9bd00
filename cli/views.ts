import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { systemDigest } from '../lambdas/kernel/platform/platform.ts';
import { DynamoDbOrders } from '../lambdas/orders/store/dynamodb-orders.ts';
import { DynamoDbStore } from '../lambdas/payments/store/dynamodb-store.ts';
import { DynamoDbLedgerScan } from '../lambdas/views/store/dynamodb-ledger-scan.ts';
import { DynamoDbViews } from '../lambdas/views/store/dynamodb-views.ts';
import {
  type Difference,
  initialRebuildState,
  type RebuildState,
  rebuildViews,
} from '../lambdas/views/use/rebuild-views.ts';
import { makeDirectory, PAYONCE_DIRECTORY } from '../local/directories.ts';
import { sentenceOf } from '../local/sentence.mjs';
import { recordAction } from './activity.ts';
import { openTables } from './deployment.ts';
import { CliFailure, ExitCode } from './failure.ts';
import type { Session } from './session.ts';

interface Options {
  readonly compare?: boolean;
  readonly segments: number;
  readonly settle: number;
  readonly state?: string;
}

const MAX_SEGMENTS = 64;
const LONGEST_SETTLE_SECONDS = 900;
/** The JSON document contains all differences. */
const MAX_SHOWN = 50;

export function addViews(program: Command, session: Session): void {
  const views = program.command('views').description('rebuilds the Views, the table of lists, entries and balances');

  views
    .command('rebuild')
    .description('rebuilds the Views from the Ledger during traffic, and compares the two')
    .option('--compare', 'compare only, without writes')
    .option(
      '--segments <count>',
      `number of concurrently read segments of the tables, 1 to ${MAX_SEGMENTS}`,
      readSegments,
      4,
    )
    .option(
      '--settle <seconds>',
      `maximum seconds to wait until the events that may explain a difference are projected, 0 to ${LONGEST_SETTLE_SECONDS}`,
      readSettle,
      25,
    )
    .option('--state <file>', 'the progress file, from which an interrupted rebuild continues (default: in .payonce)')
    .action((options: Options) => rebuild(session, options));
}

async function rebuild(session: Session, { compare = false, segments, settle, state }: Options): Promise<void> {
  const { client, tables, pacing } = await openTables(await session.aws());
  const { ledger, views } = tables;
  const store = new DynamoDbStore(client, tables, pacing);
  // One file per Ledger, because progress applies to one Ledger only.
  const file = state ?? join(PAYONCE_DIRECTORY, `views-rebuild-${ledger}.json`);
  try {
    makeDirectory(dirname(file));
  } catch (cause) {
    throw new CliFailure(ExitCode.settings, `Progress cannot be written to ${file}: ${sentenceOf(cause)}`, { cause });
  }
  if (!compare) await recordAction(session, 'views.rebuild_started');
  const begin = compare ? initialRebuildState(segments, 'compare_ledger') : savedState(file, segments);
  const { counts, differences } = await session.during('Rebuilding the Views', (report) => {
    if (!compare && existsSync(file)) report(`continuing from ${file}`);
    return rebuildViews(
      {
        views: new DynamoDbViews(client, views, pacing),
        ledger: new DynamoDbLedgerScan(client, ledger, pacing),
        store,
        orders: new DynamoDbOrders(client, tables, pacing, store),
        digest: systemDigest,
        settleMs: settle * 1000,
        ...pacing,
      },
      begin,
      async (reached) => {
        if (!compare) writeFileSync(file, JSON.stringify(reached), { mode: 0o600 });
        report(progressLine(reached));
      },
    );
  });
  session.show(
    {
      projected: counts.projected,
      removed: counts.removed,
      days_closed: counts.daysClosed,
      compared: counts.compared,
      differences,
    },
    [
      `${counts.projected} payments and orders written, ${counts.removed} stray rows removed, ${counts.daysClosed} days closed, ` +
        `${counts.compared} compared.`,
      ...differences.slice(0, MAX_SHOWN).map(differenceLine),
      ...(differences.length === 0 ? ['The Views agree with the Ledger.'] : []),
    ],
  );
  if (differences.length > 0)
    throw new CliFailure(ExitCode.incomplete, `The Views differ from the Ledger in ${differences.length} places.`);
  if (!compare) rmSync(file, { force: true });
}

/** @throws CliFailure when the file is not JSON */
function savedState(file: string, segments: number): RebuildState {
  if (!existsSync(file)) return initialRebuildState(segments);
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as RebuildState;
  } catch (cause) {
    throw new CliFailure(
      ExitCode.settings,
      `${file} does not contain progress of a rebuild: delete it to start from the beginning.`,
      {
        cause,
      },
    );
  }
}

function progressLine({ phase, positions, counts }: RebuildState): string {
  const done = positions.filter((position) => position === null).length;
  return `${phase}: ${done} of ${positions.length} segments done, ${counts.projected} payments, ${counts.compared} compared`;
}

function differenceLine({ kind, chainId, key }: Difference): string {
  return `${kind}  ${chainId ?? ''}  ${key?.partition ?? ''}  ${key?.sort ?? ''}`;
}

function readSegments(text: string): number {
  return readWhole(text, 1, MAX_SEGMENTS);
}

function readSettle(text: string): number {
  return readWhole(text, 0, LONGEST_SETTLE_SECONDS);
}

function readWhole(text: string, least: number, most: number): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < least || count > most) {
    throw new InvalidArgumentError(`${text} is not a whole number from ${least} to ${most}.`);
  }
  return count;
}
