import { LambdaClient } from '@aws-sdk/client-lambda';
import type { Command } from 'commander';
import { REDRIVE_TIMEOUT_MINUTES } from '../lambdas/kernel/contract/timing.ts';
import { type LetterAnswer, type LetterOrder, type LetterReport, MOST_LETTERS } from '../lambdas/outbound/contract.ts';
import { recordAction } from './activity.ts';
import { stackOutputs } from './deployment.ts';
import { CliFailure, ExitCode } from './failure.ts';
import { invoke } from './republishing.ts';
import { isoTime, readCountOf, type Session, table } from './session.ts';

/** `payonce letters`. */
export function addLetters(program: Command, session: Session): void {
  const letters = program
    .command('letters')
    .description('lists and redrives dead letters: calls to vendors that were given up')
    .option('--function <name>', 'the function that makes the calls; found by the stack when left out');
  const named = (): string | undefined => letters.opts<{ readonly function?: string }>().function;

  letters
    .command('list')
    .description('lists what was given up, and why; never its content')
    .option('--most <n>', `how many, 1 to ${MOST_LETTERS}`, readCountOf(MOST_LETTERS), MOST_LETTERS)
    .action(async ({ most }: { most: number }) => {
      const data = await order(session, named(), { action: 'list', atMost: most });
      session.show({ data: data.map(document) }, lines(data));
    });

  letters
    .command('redrive')
    .description(
      'makes the calls again, each under its own key, so that each takes effect once; what fails again stays',
    )
    .option('--most <n>', `how many, 1 to ${MOST_LETTERS}`, readCountOf(MOST_LETTERS), MOST_LETTERS)
    .action(async ({ most }: { most: number }) => {
      await recordAction(session, 'letters.redrive_started', { most: String(most) });
      const data = await session.during('Redriving dead letters', () =>
        order(session, named(), { action: 'redrive', atMost: most }),
      );
      session.show({ data: data.map(document) }, lines(data));
      const staying = data.filter(({ state }) => state === 'stays').length;
      if (staying > 0) throw new CliFailure(ExitCode.incomplete, `${staying} of ${data.length} letters stay.`);
    });
}

async function order(
  session: Session,
  named: string | undefined,
  request: LetterOrder,
): Promise<readonly LetterReport[]> {
  const target = await session.aws();
  const otherwise = 'name the function with --function, or deploy with a shop: without one, no vendor is called.';
  const [functionName] =
    named === undefined
      ? await stackOutputs(target, 'service', ['deadLettersFunction'], otherwise)
      : ([named] as const);
  // Asked once: a second run beside the first would only find what the first has not taken.
  const requestHandler = { requestTimeout: REDRIVE_TIMEOUT_MINUTES * 60_000 };
  const client = new LambdaClient({ ...target, maxAttempts: 1, requestHandler });
  const { letters } = await invoke<Partial<LetterAnswer>>(client, functionName, request);
  if (letters !== undefined) return letters;
  throw new CliFailure(
    ExitCode.settings,
    `The function ${functionName} does not answer with letters: check --function.`,
  );
}

function document({ id, state, vendor, operation, reason, mayBeApplied, keptSinceMs }: LetterReport): object {
  return {
    id,
    state,
    vendor,
    operation,
    reason,
    may_be_applied: mayBeApplied,
    kept_since: Math.floor(keptSinceMs / 1000),
  };
}

function lines(letters: readonly LetterReport[]): readonly string[] {
  if (letters.length === 0) return ['No letters.'];
  const rows = letters.map(({ state, vendor, operation, reason, mayBeApplied, keptSinceMs, id }) => [
    state,
    vendor,
    operation,
    reason,
    mayBeApplied ? 'may have been applied' : 'not applied',
    isoTime(keptSinceMs),
    id,
  ]);
  return table(['STATE', 'VENDOR', 'OPERATION', 'REASON', 'EFFECT', 'KEPT SINCE', 'LETTER'], rows);
}
