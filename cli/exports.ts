import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import * as z from 'zod';
import { minorUnits } from './amount.ts';
import { CliFailure, ExitCode } from './failure.ts';
import { readTenant } from './keys.ts';
import { type AskApi, addAccess, askerOf, OPERATOR, readAnswer, TENANT } from './operator-api.ts';
import { isoTime, readCountOf, type Session, table } from './session.ts';

const MAX = 100;
/** Maximum wait. A writer takes minutes for a million rows. Milliseconds. */
const LONGEST_WAIT_MS = 60 * 60_000;
const POLL_INTERVAL_MS = 1_000;

const exported = z.object({
  id: z.string(),
  kind: z.string(),
  from: z.string(),
  to: z.string(),
  status: z.string(),
  rows: z.int(),
  bytes: z.int(),
  failure: z.string().nullable(),
  created: z.int(),
  file_expires: z.int().nullable(),
  url: z.string().nullable().optional(),
});
type Exported = z.infer<typeof exported>;
const exportList = z.object({ data: z.array(exported) });

interface Following {
  readonly wait?: true;
  readonly output?: string;
}

interface Asked extends Following {
  readonly kind: string;
  readonly from: string;
  readonly to: string;
  readonly currency?: string;
  readonly account?: string;
  readonly status?: string;
  readonly type?: string;
  readonly amountFrom?: string;
  readonly amountTo?: string;
}

/** `payonce exports`. */
export function addExports(program: Command, session: Session): void {
  const group = program
    .command('exports')
    .description('creates CSV files of the rows of a tenant, with its key or the key of an operator');

  const create = group
    .command('create')
    .description('requests a file; each call creates another one')
    .requiredOption('--kind <kind>', 'entries, payments, refunds, disputes or events')
    .requiredOption('--from <day>', 'the first day in UTC, for example 2026-02-01')
    .requiredOption('--to <day>', 'the last day in UTC')
    .option('--currency <code>', 'only rows in this currency')
    .option('--account <account>', 'for entries: only those on this account')
    .option('--status <status>', 'for payments, refunds and disputes: only those in this status')
    .option('--type <type>', 'for events: only those of this type')
    .option('--amount-from <amount>', 'for payments: only those of this amount or more, in the currency of --currency')
    .option('--amount-to <amount>', 'for payments: only those of this amount or less, in the currency of --currency');
  addFollowing(create);
  create.action(async (asked: Asked) => {
    const ask = askerFor(session, create);
    const { kind, from, to, currency, account, status, type, amountFrom, amountTo } = asked;
    const amount = (option: string, text: string | undefined) => {
      if (text === undefined) return undefined;
      if (currency === undefined) throw new CliFailure(ExitCode.usage, `${option} needs --currency.`);
      return minorUnits(option, text, currency);
    };
    const amounts = { amount_from: amount('--amount-from', amountFrom), amount_to: amount('--amount-to', amountTo) };
    const body = { kind, from, to, currency, account, status, type, ...amounts };
    await follow(session, ask, await ask('POST', '/v1/exports', body), asked);
  });

  const list = group
    .command('list')
    .description('lists exports, newest first')
    .option('--most <n>', `how many, 1 to ${MAX}`, readCountOf(MAX), 20);
  addOwner(list);
  list.action(async ({ most }: { readonly most: number }) => {
    const document = await askerFor(session, list)('GET', `/v1/exports?limit=${most}`);
    session.show(document, lines(readAnswer(exportList, document).data));
  });

  const get = group.command('get <id>').description('shows an export with the link to its file, or saves the file');
  addFollowing(get);
  get.action(async (id: string, following: Following) => {
    const ask = askerFor(session, get);
    await follow(session, ask, await ask('GET', pathOf(id)), following);
  });
}

function addFollowing(command: Command): void {
  command
    .option('--wait', `wait for its end, at most ${LONGEST_WAIT_MS / 60_000} minutes`)
    .option('--output <file>', 'wait, and save the file');
  addOwner(command);
}

function addOwner(command: Command): void {
  addAccess(command, TENANT);
  command
    .option('--tenant <id>', `the tenant, with the key of ${OPERATOR.ownerName} (${OPERATOR.variable})`, readTenant)
    .addOption(new Option('--mode <mode>', 'of the tenant').choices(['test', 'live']).default('test'));
}

/** Calls with the key of the tenant, or as an operator for a tenant. */
function askerFor(session: Session, command: Command): AskApi {
  const { tenant, mode } = command.opts<{ readonly tenant?: string; readonly mode: string }>();
  if (tenant === undefined) return askerOf(session, command, TENANT);
  return askerOf(session, command, OPERATOR, { 'payonce-tenant': `${tenant}/${mode}` });
}

/** Shows an export, immediately or when it has ended. @throws CliFailure when it failed or has no file to save */
async function follow(session: Session, ask: AskApi, asked: unknown, { wait, output }: Following): Promise<void> {
  const { id } = readAnswer(exported, asked);
  const isAwaited = wait === true || output !== undefined;
  const document = isAwaited ? await session.during(`Writing ${id}`, (report) => endOf(ask, asked, report)) : asked;
  const found = readAnswer(exported, document);
  if (output !== undefined && found.status === 'completed') await save(found, output);
  session.show(document, [...lines([found]), ...(typeof found.url === 'string' ? [found.url] : [])]);
  if (isAwaited && found.status !== 'completed')
    throw new CliFailure(ExitCode.incomplete, `The export ${id} is ${found.status}${because(found)}.`);
}

/** The export with its link when it has ended, or when the time to wait is over. */
async function endOf(ask: AskApi, asked: unknown, report: (progress: string) => void): Promise<unknown> {
  const { id } = readAnswer(exported, asked);
  let document = await ask('GET', pathOf(id));
  for (let waitedMs = 0; waitedMs < LONGEST_WAIT_MS; waitedMs += POLL_INTERVAL_MS) {
    const { status, rows } = readAnswer(exported, document);
    if (status !== 'pending' && status !== 'running') return document;
    report(`${status}, ${rows} rows`);
    await sleep(POLL_INTERVAL_MS);
    document = await ask('GET', pathOf(id));
  }
  return document;
}

/** Saves the file atomically, so that there is never a partial file under its name. */
async function save({ id, url, bytes }: Exported, output: string): Promise<void> {
  if (typeof url !== 'string')
    throw new CliFailure(ExitCode.notFound, `The file of ${id} was removed: request another export.`);
  const part = `${output}.part`;
  try {
    const { ok, status, body } = await fetch(url, { redirect: 'error' });
    if (!ok || body === null) throw new CliFailure(ExitCode.refused, `The file was answered with ${status}.`);
    const file = createWriteStream(part, { mode: 0o600 });
    await pipeline(body, file);
    if (file.bytesWritten !== bytes)
      throw new CliFailure(
        ExitCode.incomplete,
        `${file.bytesWritten} of ${bytes} bytes were received: save the file again.`,
      );
    await rename(part, output);
  } finally {
    await rm(part, { force: true });
  }
}

function pathOf(id: string): string {
  return `/v1/exports/${encodeURIComponent(id)}`;
}

function because({ failure }: Exported): string {
  return failure === null ? '' : ` (${failure})`;
}

function lines(found: readonly Exported[]): readonly string[] {
  if (found.length === 0) return ['No exports.'];
  const rows = found.map((each) => [
    each.id,
    `${each.status}${because(each)}`,
    each.kind,
    `${each.from} to ${each.to}`,
    String(each.rows),
    isoTime(each.created * 1000),
    each.file_expires === null ? '' : isoTime(each.file_expires * 1000),
  ]);
  return table(['EXPORT', 'STATUS', 'KIND', 'DAYS', 'ROWS', 'CREATED', 'FILE UNTIL'], rows);
}
