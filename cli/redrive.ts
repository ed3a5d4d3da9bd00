import { setTimeout as sleep } from 'node:timers/promises';
import { LambdaClient } from '@aws-sdk/client-lambda';
import { SQSClient } from '@aws-sdk/client-sqs';
import type { Command } from 'commander';
import { REPUBLISH_TIMEOUT_SECONDS, type RedriveAnswer, type RedriveRequest } from '../lambdas/events/contract.ts';
import { parkedWork } from '../lambdas/events/store/parked-work.ts';
import { type DeadLetterReport, MAX_DEAD_LETTERS } from '../lambdas/outbound/contract.ts';
import { recordAction } from './activity.ts';
import { archiveAgain } from './archiving.ts';
import { redriveDeadLetters } from './dead-letters.ts';
import { type AwsTarget, serviceQueues, stackOutput, stackOutputs } from './deployment.ts';
import { CliFailure, ExitCode, endingOf } from './failure.ts';
import { moveBack, redrivePairs } from './moving.ts';
import { ParkedAgain, redrive } from './redriving.ts';
import { invoke } from './republishing.ts';
import { type Session, table } from './session.ts';

const POLL_INTERVAL_MS = 1_000;

interface RedrivenQueue {
  readonly queue: string;
  readonly redriven: number;
  readonly failed: number;
  readonly reasons: readonly string[];
}

export function addRedrive(program: Command, session: Session): void {
  program
    .command('redrive')
    .description(
      'redrives all parked work after a fix: parked records, archive batches, dead letters of queues, and dead letters of vendor calls; each takes effect once',
    )
    .action(async () => {
      const target = await session.aws();
      await recordAction(session, 'events.redrive_started');
      const data = await session.during('Redriving', async (report) => [
        ...(await redriveQueues(target, report)),
        ...(await redriveArchive(target, report)),
        ...(await redriveVendors(session, target, report)),
      ]);
      const rows = data.map(({ queue, redriven, failed }) => [queue, String(redriven), String(failed)]);
      session.show({ data }, table(['QUEUE', 'REDRIVEN', 'FAILED'], rows));
      const [first] = data.flatMap(({ queue, reasons }) => reasons.map((reason) => `${queue}: ${reason}`));
      if (first === undefined) return;
      const failed = data.reduce((sum, queue) => sum + queue.failed, 0);
      throw new CliFailure(ExitCode.incomplete, `${failed} messages remain. First reason: ${first}`);
    });
}

/** A deployment without orders has no vendor calls. */
async function redriveVendors(
  session: Session,
  target: AwsTarget,
  report: (text: string) => void,
): Promise<readonly RedrivenQueue[]> {
  const redriver = await stackOutput(target, 'service', 'deadLettersFunction');
  if (redriver === undefined) return [];
  report('vendor calls');
  const queue = 'vendor calls';
  try {
    const deadLetters: DeadLetterReport[] = [];
    const staying = () => deadLetters.filter(({ state }) => state === 'stays');
    // Each run redrives a limited number of dead letters. Stop as soon as a dead letter remains, because the next run
    // would receive the same one again.
    do deadLetters.push(...(await redriveDeadLetters(session, undefined, redriver)));
    while (deadLetters.length > 0 && deadLetters.length % MAX_DEAD_LETTERS === 0 && staying().length === 0);
    const stay = staying();
    const reasons = stay.map(({ vendor, operation, reason }) => `${vendor} ${operation}: ${reason}`);
    return [{ queue, redriven: deadLetters.length - stay.length, failed: stay.length, reasons }];
  } catch (error) {
    return [{ queue, redriven: 0, failed: 1, reasons: [endingOf(error).sentence ?? ''] }];
  }
}

async function redriveQueues(target: AwsTarget, report: (text: string) => void): Promise<readonly RedrivenQueue[]> {
  const sqs = new SQSClient(target);
  const [parked, republisher] = await stackOutputs(target, 'service', ['parkedRecordsQueue', 'republishFunction']);
  const reasons: string[] = [];
  report('parked records');
  const requestHandler = { requestTimeout: REPUBLISH_TIMEOUT_SECONDS * 1_000 };
  const lambda = new LambdaClient({ ...target, maxAttempts: 1, requestHandler });
  const { done, failed } = await redrive(
    sqs,
    parked,
    async ({ Body: body = '' }) => {
      const again = await invoke<RedriveAnswer>(lambda, republisher, { parked: body } satisfies RedriveRequest);
      const because = 'the record was parked again: "payonce parked list Events-Parked" shows the reason.';
      if (again.parked > 0) throw new ParkedAgain(ExitCode.incomplete, because);
    },
    (error) => void reasons.push(endingOf(error).sentence ?? ''),
  );
  const results: RedrivenQueue[] = [{ queue: 'parked records', redriven: done, failed, reasons }];
  for (const pair of await redrivePairs(sqs, await serviceQueues(target))) {
    if (pair.waiting === 0) {
      results.push({ queue: pair.name, redriven: 0, failed: 0, reasons: [] });
      continue;
    }
    // If SQS refuses a task, for example because another task is running, continue with the other queues and show the
    // result.
    const { moved, failure } = await moveBack(sqs, pair, {
      wait: () => sleep(POLL_INTERVAL_MS),
      report: ({ moved: soFar, toMove }) => report(`${pair.name}: ${soFar} of ${toMove || pair.waiting} moved`),
    }).catch((error: unknown) => ({ moved: 0, failure: endingOf(error).sentence }));
    results.push({
      queue: pair.name,
      redriven: moved,
      failed: failure === undefined ? 0 : Math.max(1, pair.waiting - moved),
      reasons: failure === undefined ? [] : [failure],
    });
  }
  return results;
}

/** A deployment without an archive has no such queue. */
async function redriveArchive(target: AwsTarget, report: (text: string) => void): Promise<readonly RedrivenQueue[]> {
  const parked = await stackOutput(target, 'service', 'parkedArchiveQueue');
  if (parked === undefined) return [];
  report('archive batches');
  const reasons: string[] = [];
  const { done, failed } = await redrive(
    new SQSClient(target),
    parked,
    ({ Body = '' }) => archiveAgain(target, parkedWork(Body)),
    (error) => void reasons.push(endingOf(error).sentence ?? ''),
  );
  return [{ queue: 'archive batches', redriven: done, failed, reasons }];
}
