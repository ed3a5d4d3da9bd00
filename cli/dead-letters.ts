import { LambdaClient } from '@aws-sdk/client-lambda';
import type { Command } from 'commander';
import { REDRIVE_TIMEOUT_MINUTES } from '../lambdas/kernel/contract/timing.ts';
import {
  type DeadLetterReport,
  type DeadLetterRequest,
  type DeadLetterResponse,
  MAX_DEAD_LETTERS,
} from '../lambdas/outbound/contract.ts';
import { recordAction } from './activity.ts';
import { stackOutputs } from './deployment.ts';
import { CliFailure, ExitCode } from './failure.ts';
import { invoke } from './republishing.ts';
import { isoTime, readCountOf, type Session, table } from './session.ts';

export function addDeadLetters(program: Command, session: Session): void {
  const deadLetters = program
    .command('dead-letters')
    .description('lists and redrives dead letters of vendor calls')
    .option('--function <name>', 'the function that makes the calls; the default is the output of the stack');
  const named = (): string | undefined => deadLetters.opts<{ readonly function?: string }>().function;

  deadLetters
    .command('list')
    .description('lists the dead letters and their reasons, without their content')
    .option(
      '--most <n>',
      `maximum number of dead letters, 1 to ${MAX_DEAD_LETTERS}`,
      readCountOf(MAX_DEAD_LETTERS),
      MAX_DEAD_LETTERS,
    )
    .action(async ({ most }: { most: number }) => {
      const data = await order(session, named(), { action: 'list', atMost: most });
      session.show({ data: data.map(document) }, lines(data));
    });

  deadLetters
    .command('redrive')
    .description(
      'repeats the calls, each with its own key, so that each takes effect once; calls that fail again remain',
    )
    .option(
      '--most <n>',
      `maximum number of dead letters, 1 to ${MAX_DEAD_LETTERS}`,
      readCountOf(MAX_DEAD_LETTERS),
      MAX_DEAD_LETTERS,
    )
    .action(async ({ most }: { most: number }) => {
      const data = await session.during('Redriving dead letters', () => redriveDeadLetters(session, most, named()));
      session.show({ data: data.map(document) }, lines(data));
      const staying = data.filter(({ state }) => state === 'stays').length;
      if (staying > 0) throw new CliFailure(ExitCode.incomplete, `${staying} of ${data.length} dead letters remain.`);
    });
}

export async function redriveDeadLetters(
  session: Session,
  most: number = MAX_DEAD_LETTERS,
  named?: string,
): Promise<readonly DeadLetterReport[]> {
  await recordAction(session, 'dead_letters.redrive_started', { most: String(most) });
  return order(session, named, { action: 'redrive', atMost: most });
}

async function order(
  session: Session,
  named: string | undefined,
  request: DeadLetterRequest,
): Promise<readonly DeadLetterReport[]> {
  const target = await session.aws();
  const otherwise = 'set --function, or deploy with a shop, because only deployments with a shop call vendors.';
  const [functionName] =
    named === undefined
      ? await stackOutputs(target, 'service', ['deadLettersFunction'], otherwise)
      : ([named] as const);
  // No retries: a second, concurrent invocation would find only the dead letters that the first has not received.
  const requestHandler = { requestTimeout: REDRIVE_TIMEOUT_MINUTES * 60_000 };
  const client = new LambdaClient({ ...target, maxAttempts: 1, requestHandler });
  const { deadLetters } = await invoke<Partial<DeadLetterResponse>>(client, functionName, request);
  if (deadLetters !== undefined) return deadLetters;
  throw new CliFailure(
    ExitCode.settings,
    `The function ${functionName} does not return dead letters: check --function.`,
  );
}

function document({
  id,
  state,
  vendor,
  operation,
  order: orderId,
  reason,
  mayBeApplied,
  keptSinceMs,
}: DeadLetterReport): object {
  return {
    id,
    state,
    vendor,
    operation,
    order: orderId,
    reason,
    may_be_applied: mayBeApplied,
    kept_since: Math.floor(keptSinceMs / 1000),
  };
}

function lines(deadLetters: readonly DeadLetterReport[]): readonly string[] {
  if (deadLetters.length === 0) return ['No dead letters.'];
  const rows = deadLetters.map(
    ({ state, vendor, operation, order: orderId, reason, mayBeApplied, keptSinceMs, id }) => [
      state,
      vendor,
      operation,
      orderId ?? 'none',
      reason,
      mayBeApplied ? 'may have been applied' : 'not applied',
      isoTime(keptSinceMs),
      id,
    ],
  );
  return table(['STATE', 'VENDOR', 'OPERATION', 'ORDER', 'REASON', 'EFFECT', 'KEPT SINCE', 'DEAD LETTER'], rows);
}
