import type { Command } from 'commander';
import * as z from 'zod';
import { addAccess, askerOf, readAnswer } from './operator-api.ts';
import { type Session, table } from './session.ts';

const queues = z.object({
  data: z.array(
    z.object({
      id: z.string(),
      description: z.string(),
      waiting: z.int(),
      more_waiting: z.boolean(),
      oldest_age: z.int().nullable(),
    }),
  ),
});
const entries = z.object({
  data: z.array(
    z.object({
      id: z.string(),
      about: z.string().nullable(),
      part: z.string().nullable(),
      age: z.int().nullable(),
      needs_operator: z.boolean(),
      reason: z.string().nullable(),
    }),
  ),
});

/** `payonce parked`. */
export function addParked(program: Command, session: Session): void {
  const parked = program
    .command('parked')
    .description('lists unfinished work and parked messages, with an operator’s key');
  addAccess(parked);
  const ask = askerOf(session, parked);
  parked
    .command('list [queue]')
    .description('lists the queues of unfinished work and of messages, or the entries of one of them')
    .action(async (queue: string | undefined) => {
      const path = `/v1/admin/queues${queue === undefined ? '' : `/${encodeURIComponent(queue)}`}`;
      const document = await ask('GET', path);
      session.show(document, queue === undefined ? queueLines(document) : entryLines(document));
    });
}

function queueLines(document: unknown): readonly string[] {
  const rows = readAnswer(queues, document).data.map(
    ({ id, waiting, more_waiting: more, oldest_age: age, description }) => [
      id,
      `${waiting}${more ? '+' : ''}`,
      age === null ? '' : `${age} s`,
      description,
    ],
  );
  return table(['QUEUE', 'WAITING', 'OLDEST', 'WHAT'], rows);
}

function entryLines(document: unknown): readonly string[] {
  const found = readAnswer(entries, document).data;
  if (found.length === 0) return ['Nothing waits.'];
  const rows = found.map(({ id, about, part, age, needs_operator: needsOperator, reason }) => [
    about ?? 'unknown',
    part ?? '',
    age === null ? '' : `${age} s`,
    needsOperator ? 'needs an operator' : '',
    reason ?? '',
    id,
  ]);
  return table(['ABOUT', 'PART', 'AGE', 'OPERATOR', 'REASON', 'ENTRY'], rows);
}
