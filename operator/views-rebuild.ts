import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { documentClient } from '../lambdas/kernel/platform/document-client.ts';
import { systemClock, systemDigest, systemEntropy } from '../lambdas/kernel/platform/platform.ts';
import { DynamoDbStore } from '../lambdas/payments/store/dynamodb-store.ts';
import { DynamoDbLedgerWalk } from '../lambdas/views/store/dynamodb-ledger-walk.ts';
import { DynamoDbViews } from '../lambdas/views/store/dynamodb-views.ts';
import { type Difference, type RebuildState, rebuildBegin, rebuildViews } from '../lambdas/views/use/rebuild-views.ts';
import { deployedData } from './deployed-data.ts';

interface Options {
  readonly local?: boolean;
  readonly compare?: boolean;
  readonly segments: number;
  readonly settle: number;
  readonly state?: string;
}

const MAX_SEGMENTS = 64;
const LONGEST_SETTLE_SECONDS = 900;
/** More than a person reads at once; the exit code counts them all. */
const MOST_SHOWN = 50;

const program = new Command('npm run views:rebuild --')
  .description(
    'Makes the Views again from the Ledger while traffic goes on, and compares; with your own AWS credentials.',
  )
  .option('--local', 'the stack that "npm start" brought up')
  .option('--compare', 'compare only, and write nothing')
  .option('--segments <count>', 'how much of the tables is read at once', readSegments, 4)
  .option(
    '--settle <seconds>',
    'how long what differs may take to come right, as events travel, before it is told',
    readSettle,
    25,
  )
  .option(
    '--state <file>',
    'where it is kept how far it has come; a rebuild that broke off goes on there (default: in .payonce)',
  )
  .action(run);

try {
  await program.parseAsync();
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}

async function run({ local = false, compare = false, segments, settle, state }: Options): Promise<void> {
  const { client, tables } = await deployedData(local);
  const documents = documentClient(client);
  const pacing = { clock: systemClock, entropy: systemEntropy };
  // Of this very Ledger: what was done to one says nothing of another.
  const file = resolve(state ?? join('.payonce', `views-rebuild-${tables.ledger}.json`));
  mkdirSync(dirname(file), { recursive: true });
  const begin = compare ? rebuildBegin(segments, 'compare_ledger') : savedState(file, segments);
  const { counts, differences } = await rebuildViews(
    {
      views: new DynamoDbViews(documents, tables.views, pacing),
      ledger: new DynamoDbLedgerWalk(documents, tables.ledger, pacing),
      store: new DynamoDbStore(documents, tables, pacing),
      digest: systemDigest,
      settleMs: settle * 1000,
      ...pacing,
    },
    begin,
    async (reached) => {
      if (!compare) writeFileSync(file, JSON.stringify(reached));
      console.log(progressLine(reached));
    },
  );
  console.log(
    `${counts.projected} payments written, ${counts.removed} stray rows removed, ${counts.daysClosed} days closed, ` +
      `${counts.compared} payments compared.`,
  );
  for (const difference of differences.slice(0, MOST_SHOWN)) console.log(differenceLine(difference));
  if (differences.length > 0) throw new Error(`The Views differ from the Ledger in ${differences.length} places.`);
  if (!compare) rmSync(file, { force: true });
  console.log('The Views are what the Ledger says.');
}

function savedState(file: string, segments: number): RebuildState {
  if (!existsSync(file)) return rebuildBegin(segments);
  console.log(`Goes on where ${file} says; remove it to begin anew.`);
  return JSON.parse(readFileSync(file, 'utf8')) as RebuildState;
}

function progressLine({ phase, walked, counts }: RebuildState): string {
  const done = walked.filter((position) => position === null).length;
  return `${phase}: ${done} of ${walked.length} segments done, ${counts.projected} payments, ${counts.compared} compared`;
}

function differenceLine({ kind, paymentId, key }: Difference): string {
  return `${kind}  ${paymentId ?? ''}  ${key?.partition ?? ''}  ${key?.sort ?? ''}`;
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
    throw new InvalidArgumentError(`must be a whole number from ${least} to ${most}.`);
  }
  return count;
}
