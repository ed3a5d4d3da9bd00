import { type Command, InvalidArgumentError } from 'commander';
import * as z from 'zod';
import { defined } from '../lambdas/kernel/defined.ts';
import { addAccess, askerOf, readAnswer } from './operator-api.ts';
import { isoTime, type Session } from './session.ts';

const annotation = z.object({
  id: z.string(),
  payment: z.string(),
  sequence: z.int(),
  annotates: z.int().nullable(),
  operator: z.string(),
  created: z.int(),
});

/** `payonce annotate`. */
export function addAnnotate(program: Command, session: Session): void {
  const command = program
    .command('annotate <payment>')
    .description('adds an explanation to a payment, or to one of its transitions, with an operator’s key')
    .requiredOption('--reason <text>', 'the error in the record, or its explanation')
    .option('--transition <n>', 'the sequence of the annotated transition', readSequence);
  addAccess(command);
  const ask = askerOf(session, command);
  command.action(async (payment: string, { reason, transition }: { reason: string; transition?: number }) => {
    const path = `/v1/admin/payments/${encodeURIComponent(payment)}/annotations`;
    const body = { reason, ...defined({ annotates: transition }) };
    const document = await ask('POST', path, body);
    const { id, sequence, annotates, operator, created } = readAnswer(annotation, document);
    const about = annotates === null ? 'the payment' : `transition ${annotates}`;
    session.show(document, [
      `${id} is transition ${sequence}: about ${about}, by ${operator}, ${isoTime(created * 1000)}.`,
    ]);
  });
}

function readSequence(text: string): number {
  const sequence = Number(text);
  if (/^\d{1,6}$/.test(text) && sequence >= 1) return sequence;
  throw new InvalidArgumentError(`${text} is not the sequence of a transition, for example 2.`);
}
