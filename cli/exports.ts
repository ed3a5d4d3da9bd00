import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import * as z from 'zod';
import { minorUnits } from './amount.ts';
import { type ApiCall, linesOf, listing, statusWith, time } from './api-command.ts';
import { CliFailure, ExitCode } from './failure.ts';
import { readAnswer, untilEnded } from './operator-api.ts';

/** A million rows take minutes to write. */
export const MAX_EXPORT_MINUTES = 60;

const exported = z.looseObject({
  id: z.string(),
  status: z.string(),
  rows: z.int(),
  bytes: z.int(),
  failure: z.string().nullable(),
  url: z.string().nullish(),
});
type Exported = z.infer<typeof exported>;

export const exportLines = listing('No exports.', {
  EXPORT: 'id',
  STATUS: statusWith('failure'),
  KIND: 'kind',
  DAYS: (row) => `${row('from')} to ${row('to')}`,
  ROWS: 'rows',
  CREATED: time('created'),
  'FILE UNTIL': time('file_expires'),
});

export async function createExport(call: ApiCall): Promise<void> {
  const { currency, amountFrom, amountTo } =
    call.command.opts<Readonly<Partial<Record<'currency' | 'amountFrom' | 'amountTo', string>>>>();
  const amount = (option: string, text: string | undefined) => {
    if (text === undefined) return undefined;
    if (currency === undefined) throw new CliFailure(ExitCode.usage, `${option} needs --currency.`);
    return minorUnits(option, text, currency);
  };
  const amounts = { amount_from: amount('--amount-from', amountFrom), amount_to: amount('--amount-to', amountTo) };
  await follow(call, await call.send(amounts));
}

export async function getExport(call: ApiCall): Promise<void> {
  await follow(call, await call.send());
}

/** @throws CliFailure when the export failed or did not end in time, or when its file cannot be saved */
async function follow({ session, command, ask }: ApiCall, asked: unknown): Promise<void> {
  const { wait = false, output } = command.opts<{ readonly wait?: boolean; readonly output?: string }>();
  const { id } = readAnswer(exported, asked);
  const isAwaited = wait || output !== undefined;
  const again = () => ask('GET', `/v1/exports/${encodeURIComponent(id)}`);
  const waiting = async (report: (progress: string) => void) =>
    // Only a read of the export returns the download link, so read at least once.
    untilEnded(await again(), again, MAX_EXPORT_MINUTES, (state) => {
      const { status, rows } = readAnswer(exported, state);
      const isRunning = status === 'pending' || status === 'running';
      if (isRunning) report(`${status}, ${rows} rows`);
      return !isRunning;
    });
  const document = isAwaited ? await session.during(`Writing ${id}`, waiting) : asked;
  const found = readAnswer(exported, document);
  if (output !== undefined && found.status === 'completed') await save(found, output);
  session.show(document, [...linesOf(exportLines, document), ...(typeof found.url === 'string' ? [found.url] : [])]);
  if (isAwaited && found.status !== 'completed') {
    const because = found.failure === null ? '' : ` (${found.failure})`;
    throw new CliFailure(ExitCode.incomplete, `The export ${id} is ${found.status}${because}.`);
  }
}

/** Saves the file atomically, so that there is never a partial file under its name. */
async function save({ id, url, bytes }: Exported, output: string): Promise<void> {
  if (typeof url !== 'string')
    throw new CliFailure(ExitCode.notFound, `The file of ${id} was removed: request another export.`);
  const part = `${output}.part`;
  try {
    const { ok, status, body } = await fetch(url, { redirect: 'error' });
    if (!ok || body === null)
      throw new CliFailure(ExitCode.refused, `The download of the file failed with HTTP ${status}.`);
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
