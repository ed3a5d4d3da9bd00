import { createPublicKey, verify as isSignature } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DescribeTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { type Command, InvalidArgumentError } from 'commander';
import { nameOfChain } from '../lambdas/activity/domain/activity.ts';
import { type BucketFinding, judgeBucket, type Lock } from '../lambdas/archive/domain/judge-bucket.ts';
import { type Bounds, type ChangeLine, NO_BOUNDS } from '../lambdas/archive/domain/judge-chain.ts';
import { archivedLines } from '../lambdas/archive/store/archived-lines.ts';
import { DynamoDbLedgerRows } from '../lambdas/archive/store/dynamodb-ledger-rows.ts';
import { objectsWithSeveralVersions, type ReplacedObject, readBucket } from '../lambdas/archive/store/read-bucket.ts';
import { RowFiles } from '../lambdas/archive/store/row-files.ts';
import { S3Objects } from '../lambdas/archive/store/s3-objects.ts';
import { StoredManifests } from '../lambdas/archive/store/stored-manifests.ts';
import { ARCHIVED_WITHIN_MS } from '../lambdas/archive/use/audit-archive.ts';
import { boundsOfChain, partitionOfChain } from '../lambdas/archive/use/ledger-rows.ts';
import { rowsBetween } from '../lambdas/archive/use/rows-between.ts';
import { type ManifestFinding, verifyManifests } from '../lambdas/archive/use/verify-manifests.ts';
import { ROWS_BEGIN, type RowFinding, type RowsState, verifyRows } from '../lambdas/archive/use/verify-rows.ts';
import { readAuthorityState } from '../lambdas/authority/store/authority-state.ts';
import { DynamoDbJobMarks } from '../lambdas/jobs/store/dynamodb-job-marks.ts';
import { readCarriedUntil } from '../lambdas/jobs/use/carried-until.ts';
import { LedgerRow } from '../lambdas/kernel/contract/rows.ts';
import { systemClock, systemDigest } from '../lambdas/kernel/platform/platform.ts';
import { s3Client } from '../lambdas/kernel/platform/s3.ts';
import { parseOrderId } from '../lambdas/orders/ids.ts';
import { LedgerChains } from '../lambdas/orders/store/ledger-chains.ts';
import { type ChainId, parsePaymentId } from '../lambdas/payments/ids.ts';
import { DynamoDbOwners } from '../lambdas/tenants/store/tenant-owners.ts';
import { PAYONCE_DIRECTORY } from '../local/directories.ts';
import { allOwners, DEPLOYMENT_CHAINS } from './activity.ts';
import { type AwsTarget, openTables, stackOutput } from './deployment.ts';
import { CliFailure, ExitCode } from './failure.ts';
import { isoTime, readSeconds, type Session } from './session.ts';

/** The JSON document contains all findings that were stored, and the number of further findings. */
const MAX_SHOWN = 50;

type AnyFinding = RowFinding | ManifestFinding | BucketFinding | ReplacedObject;

interface Chosen {
  readonly from?: number;
  readonly to?: number;
  readonly payment?: string;
  readonly table?: string;
  readonly archiveOnly?: boolean;
  readonly archiveBucket?: string;
  readonly state?: string;
  readonly signedBy?: string;
  readonly lock?: Lock;
}

export function addVerify(program: Command, session: Session): void {
  program
    .command('verify')
    .description('verifies the chains of the Ledger, and compares the Ledger with the archive in both directions')
    .option('--from <seconds>', 'only rows of this time or later, in Unix seconds', readSeconds)
    .option('--to <seconds>', 'only rows before this time, in Unix seconds', readSeconds)
    .option('--payment <id>', 'only this payment or order')
    .option('--table <name>', 'the Ledger table; the default is the table of the deployment')
    .option('--archive-only', 'the archive alone, without the Ledger')
    .option(
      '--archive-bucket <name>',
      'the archive bucket; the default is the bucket of the deployment, if it has an archive',
    )
    .option('--signed-by <file>', 'the public key (PEM) that must verify the signature of each manifest')
    .option('--lock <mode:years>', 'the weakest lock that is accepted, for example compliance:7', readLock)
    .option('--state <file>', 'the progress file, from which an interrupted command continues')
    .action((chosen: Chosen) => verify(session, chosen));
}

async function verify(session: Session, chosen: Chosen): Promise<void> {
  const clock = systemClock;
  const given = chosenBounds(chosen, clock.nowMs());
  const target = await session.aws();
  const chain = chosen.payment === undefined ? undefined : chainNamed(chosen.payment);
  const ledger = chosen.archiveOnly ? undefined : await chosenLedger(target, chosen, given, chain);
  const bounds = chain === undefined || ledger === undefined ? given : await boundsOfChain(ledger.rows, chain, given);
  const bucket = chosen.archiveBucket ?? (await stackOutput(target, 'data', 'archiveBucket'));
  if (chosen.archiveOnly && bucket === undefined)
    throw new CliFailure(ExitCode.usage, 'This deployment has no archive: name one with --archive-bucket.');
  const objects = bucket === undefined ? undefined : new S3Objects(s3Client(target), bucket);
  const archive = objects === undefined ? undefined : archivedLines(objects);
  const isSigned = chosen.signedBy === undefined ? undefined : signatureOf(chosen.signedBy);
  const progress = new Progress(chosen.state ?? join(PAYONCE_DIRECTORY, `verify-${ledger?.table ?? bucket}.json`), {
    ...chosen,
    ledgerTable: ledger?.table,
    bucket,
  });
  const settledMs = chosen.archiveOnly ? Number.POSITIVE_INFINITY : await settledUntil(await openTables(target));
  const parts = new RowFiles(`${progress.file}.rows`);
  const begin = progress.read();
  const { counts, findings, changes, further } = await session.during('Verifying', (report) => {
    if (begin !== ROWS_BEGIN) report(`continuing from ${progress.file}`);
    const progressLine = rateOf(ledger?.expected, clock.nowMs());
    const save = (state: RowsState): void => {
      progress.write(state);
      report(progressLine(state, clock.nowMs()));
    };
    const sources = { archive, ledger: ledger?.rows };
    const archivedUntilMs = Math.min(clock.nowMs() - ARCHIVED_WITHIN_MS, settledMs);
    return verifyRows({ ...sources, parts, save }, { bounds, chain, archivedUntilMs }, begin);
  });
  parts.close();
  progress.remove();
  // For a single payment, the list of archive objects is not checked, because each object contains many payments.
  const listed =
    objects === undefined || chain !== undefined
      ? undefined
      : await session.during('Verifying manifests', (report) => {
          const manifests = new StoredManifests(objects);
          const reportRead = (read: number): void => report(`${read} manifests read`);
          return verifyManifests(
            { manifests, digest: systemDigest, isSigned, report: reportRead },
            bounds,
            clock.nowMs(),
          );
        });
  const ofBucket =
    bucket === undefined || chain !== undefined ? [] : await bucketFindings(session, target, bucket, chosen, bounds);
  const all: readonly AnyFinding[] = [...ofBucket, ...(listed?.findings ?? []), ...findings];
  const found = all.length + further;
  const counted = listed === undefined ? counts : { ...counts, manifests: listed.manifests, objects: listed.objects };
  session.show({ ...counted, findings: all, changes, further }, [
    `${ledger === undefined ? counts.lines : counts.rows} rows of ${counts.chains} chains verified.`,
    ...(listed === undefined ? [] : [`${listed.objects} objects of ${listed.manifests} manifests exist.`]),
    ...changes.slice(0, MAX_SHOWN).map(changeLine),
    ...all.slice(0, MAX_SHOWN).map(findingLine),
    ...(found === 0 && counts.chains > 0 ? ['All chains are valid.'] : []),
  ]);
  const entry = bucket === undefined ? 'The Ledger was changed' : 'The archive differs';
  if (found > 0)
    throw new CliFailure(ExitCode.incomplete, `${found} violations were found: see the runbook, "${entry}".`);
  if (counts.chains === 0) refuseNothing(chosen);
}

/** @throws CliFailure when the range is empty */
function chosenBounds({ from, to }: Chosen, nowMs: number): Bounds {
  const fromMs = from === undefined ? NO_BOUNDS.fromMs : from * 1000;
  const untilMs = to === undefined ? nowMs : to * 1000;
  if (untilMs > fromMs) return { fromMs, untilMs };
  throw new CliFailure(ExitCode.usage, 'The range is empty: --from must be earlier than --to, and than now.');
}

/** A time range alone may have no rows. @throws CliFailure */
function refuseNothing({ from, to, payment }: Chosen): void {
  if (payment === undefined && (from ?? to) !== undefined) return;
  const what = payment === undefined ? 'no row' : `no row of ${payment}`;
  throw new CliFailure(ExitCode.notFound, `Nothing was verified: ${what} was found.`);
}

/** The configuration must protect the objects, and each object must have only one version. */
async function bucketFindings(
  session: Session,
  target: AwsTarget,
  bucket: string,
  { lock }: Chosen,
  bounds: Bounds,
): Promise<readonly (BucketFinding | ReplacedObject)[]> {
  const client = s3Client(target);
  const facts = await readBucket(client, bucket);
  if (facts.policy.kind === 'elsewhere')
    session.note("The bucket's policy was not checked: only an identity of the bucket's account may read it.");
  const judged = judgeBucket(bucket, facts, lock);
  return [...judged, ...(await objectsWithSeveralVersions(client, bucket, bounds))];
}

const DAYS_OF_YEAR = 365;

/** @throws InvalidArgumentError for any other text than, for example, `compliance:10` */
function readLock(text: string): Lock {
  const { mode, years } = /^(?<mode>governance|compliance):(?<years>[1-9]\d{0,2})$/.exec(text)?.groups ?? {};
  if (mode === undefined)
    throw new InvalidArgumentError(
      'it must be governance or compliance, a colon and a number of years. Example: compliance:10.',
    );
  return { mode: mode === 'compliance' ? mode : 'governance', days: Number(years) * DAYS_OF_YEAR };
}

/** @throws CliFailure when the file has no public key */
function signatureOf(file: string): (text: string, signature: string) => boolean {
  try {
    const key = createPublicKey(readFileSync(file));
    return (text, signature) => isSignature('sha256', Buffer.from(text), key, Buffer.from(signature, 'base64'));
  } catch (cause) {
    throw new CliFailure(ExitCode.usage, `${file} is not a public key in PEM: ${String(cause)}`);
  }
}

async function chosenLedger(target: AwsTarget, chosen: Chosen, bounds: Bounds, chain: string | undefined) {
  const { client, tables, pacing } = await openTables(target);
  const table = chosen.table ?? tables.ledger;
  const all = new DynamoDbLedgerRows(client, table, pacing);
  if (chain !== undefined) return { table, rows: all };
  if (chosen.from === undefined && chosen.to === undefined)
    return { table, rows: all, expected: await rowCount(new DynamoDBClient(target), table) };
  const outcomes = new LedgerChains(client, { ...tables, ledger: table }, pacing);
  const owners = await allOwners(new DynamoDbOwners(client, tables.registry, pacing));
  const activity = [...DEPLOYMENT_CHAINS, ...owners].map((each) => `${LedgerRow.activity}${nameOfChain(each)}`);
  return { table, rows: rowsBetween(all, outcomes, bounds, activity) };
}

/**
 * Returns the time before which every transition has been in the Ledger for long enough to be archived. With
 * PostgreSQL, the archive may lack later rows, because transitions are copied to the Ledger with a delay; returns 0
 * before the first pass over the outbox. With DynamoDB, there is no such limit: returns infinity.
 */
export async function settledUntil({
  client,
  tables,
  pacing,
}: Pick<Awaited<ReturnType<typeof openTables>>, 'client' | 'tables' | 'pacing'>): Promise<number> {
  const carried = await readCarriedUntil(new DynamoDbJobMarks(client, tables.registry, pacing));
  if (carried !== undefined) return carried.settledMs;
  const state = await readAuthorityState({ client, tables, pacing });
  return state?.authority === 'postgres' ? 0 : Number.POSITIVE_INFINITY;
}

function chainNamed(text: string): string {
  const id: ChainId | undefined = parsePaymentId(text) ?? parseOrderId(text);
  if (id === undefined) throw new CliFailure(ExitCode.usage, `${text} is not the id of a payment or an order.`);
  return partitionOfChain(id);
}

/** DynamoDB updates the approximate count about every six hours (Amazon DynamoDB API reference, "TableDescription"). */
async function rowCount(client: DynamoDBClient, TableName: string): Promise<number | undefined> {
  return (await client.send(new DescribeTableCommand({ TableName }))).Table?.ItemCount;
}

class Progress {
  readonly file: string;
  readonly #request: string;

  constructor(file: string, request: object) {
    this.file = file;
    this.#request = JSON.stringify(request);
    mkdirSync(dirname(file), { recursive: true });
  }

  /** @throws CliFailure when the file is unreadable, or belongs to a verification with other options */
  read(): RowsState {
    if (!existsSync(this.file)) return ROWS_BEGIN;
    try {
      const { request, state } = JSON.parse(readFileSync(this.file, 'utf8')) as { request: string; state: RowsState };
      if (request === this.#request) return state;
    } catch {
      // The error below reports a file that cannot be read.
    }
    const why = 'does not contain progress of this verification: delete it to start from the beginning.';
    throw new CliFailure(ExitCode.settings, `${this.file} ${why}`);
  }

  write(state: RowsState): void {
    writeFileSync(this.file, JSON.stringify({ request: this.#request, state }), { mode: 0o600 });
  }

  remove(): void {
    rmSync(this.file, { force: true });
  }
}

/** @param expected rows of the whole table; undefined when their number is unknown */
function rateOf(expected: number | undefined, beganAtMs: number): (state: RowsState, nowMs: number) => string {
  let first: number | undefined;
  return ({ phase, after, counts: { rows, chains } }, nowMs) => {
    first ??= rows;
    if (phase === 'compare' || phase === 'done')
      return `${chains} chains compared, ${phase === 'done' ? 'all' : (after ?? 0)} parts done`;
    const perSecond = Math.round((rows - first) / Math.max(1, (nowMs - beganAtMs) / 1000));
    const left = expected === undefined || perSecond === 0 ? undefined : Math.max(0, expected - rows) / perSecond;
    return `${rows} rows read, ${perSecond} a second${left === undefined ? '' : `, about ${Math.ceil(left / 60)} minutes left`}`;
  };
}

/** A change by hand is reported, but is not a finding: someone may have restored the row. */
function changeLine({ chain, sort, change, atMs, object, line }: ChangeLine): string {
  const what = change === 'REMOVE' ? 'removed' : 'changed';
  return `${what} by hand  chain=${chain}  sort=${sort}  at=${isoTime(atMs)}  object=${object}  line=${line}`;
}

function findingLine(finding: AnyFinding): string {
  const { kind, ...rest } = finding;
  const fields = Object.entries(rest).map(
    ([name, value]) => `${name}=${typeof value === 'object' ? JSON.stringify(value) : String(value)}`,
  );
  return `${kind}  ${fields.join('  ')}`;
}
