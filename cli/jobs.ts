import * as z from 'zod';
import { type ApiCall, duration, linesOf, listing } from './api-command.ts';
import { CliFailure, ExitCode } from './failure.ts';
import { readAnswer, untilEnded } from './operator-api.ts';
import { table } from './session.ts';

/** Most runs have one page, which takes at most a minute. */
export const MAX_RUN_MINUTES = 15;

const items = z.array(z.string());
const withItems = z.object({
  data: z.array(z.looseObject({ id: z.string(), skipped_items: items, failed_items: items })),
});
const counted = z.looseObject({
  id: z.string(),
  status: z.string(),
  done: z.int(),
  left: z.int(),
  failed: z.int(),
});

const runLines = listing('No runs.', {
  RUN: 'id',
  STATUS: 'status',
  TOOK: duration('duration'),
  DONE: 'done',
  LEFT: 'left',
  FAILED: 'failed',
  SKIPPED: 'skipped',
  REASON: 'reason',
});

export async function showRuns({ session, command, send }: ApiCall): Promise<void> {
  const document = await send();
  const isWithItems = command.opts<{ readonly items?: true }>().items === true;
  session.show(document, [...linesOf(runLines, document), ...(isWithItems ? itemLines(document) : [])]);
}

function itemLines(document: unknown): readonly string[] {
  const rows = readAnswer(withItems, document).data.flatMap(({ id, skipped_items: skipped, failed_items: failed }) => [
    ...skipped.map((item) => [id, item, 'skipped']),
    ...failed.map((item) => [id, item, 'failed']),
  ]);
  return rows.length === 0 ? ['No item failed.'] : table(['RUN', 'ITEM', 'WAS'], rows);
}

export async function startRun({ session, command, args: [job = ''], path, ask, send }: ApiCall): Promise<void> {
  const accepted = await send();
  const { wait = false } = command.opts<{ readonly wait?: boolean }>();
  const { id } = readAnswer(counted, accepted);
  const again = () => ask('GET', `${path}/${encodeURIComponent(id)}`);
  const waiting = (report: (progress: string) => void) =>
    untilEnded(accepted, again, MAX_RUN_MINUTES, (run) => {
      const { status, done, left, failed } = readAnswer(counted, run);
      // Report no counts until the worker has started, because it has not counted any item yet.
      if (status === 'accepted') report(`${id} is accepted and waits for its worker`);
      else if (status === 'running') report(`${id} is running: ${done} done, ${left} left, ${failed} failed`);
      else return true;
      return false;
    });
  const document = wait ? await session.during(`Running ${job}`, waiting) : accepted;
  session.show(document, linesOf(runLines, document));
  const { status, failed } = readAnswer(counted, document);
  if (wait && (status !== 'succeeded' || failed > 0))
    throw new CliFailure(ExitCode.incomplete, `The run ${id} is ${status}, with ${failed} failed items.`);
}
