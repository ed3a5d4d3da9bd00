import { setTimeout as sleep } from 'node:timers/promises';
import { LambdaClient } from '@aws-sdk/client-lambda';
import { type Message, SQSClient } from '@aws-sdk/client-sqs';
import type { Command } from 'commander';
import type { RelayRequest } from '../lambdas/events/contract.ts';
import { recordAction } from './activity.ts';
import { type AwsTarget, serviceQueues, stackOutputs } from './deployment.ts';
import { CliFailure, ExitCode, endingOf } from './failure.ts';
import { moveBack, redrivePairs } from './moving.ts';
import { parkedWork, redrive } from './redriving.ts';
import { invoke, republishRange } from './republishing.ts';
import { isoTime, readSeconds, type Session, table } from './session.ts';

/** Younger events may still be in delivery. Milliseconds. */
const ON_ITS_WAY_MS = 5 * 60_000;
/** Interval of the polls of an SQS task. Milliseconds. */
const LOOK_AGAIN_MS = 1_000;

/** Unix seconds. */
interface Range {
  readonly createdFrom: number;
  readonly createdTo?: number;
}

interface RedrivenQueue {
  readonly queue: string;
  readonly redriven: number;
  readonly failed: number;
  /** The reasons of the failures, one sentence each. */
  readonly reasons: readonly string[];
}

/** `payonce events`. */
export function addEvents(program: Command, session: Session): void {
  const events = program
    .command('events')
    .description('republishes events, and redrives parked records and dead letters');

  events
    .command('republish')
    .description('republishes the events of a range from the Ledger; consumers recognize them by their ids')
    .requiredOption('--created-from <seconds>', 'the start, in Unix seconds; at most two weeks ago', readSeconds)
    .option(
      '--created-to <seconds>',
      'the end, exclusive, in Unix seconds; the default is five minutes ago',
      readSeconds,
    )
    .action(async ({ createdFrom, createdTo }: Range) => {
      const sinceMs = createdFrom * 1000;
      const untilMs = createdTo === undefined ? Date.now() - ON_ITS_WAY_MS : createdTo * 1000;
      if (untilMs <= sinceMs)
        throw new CliFailure(ExitCode.usage, 'The range is empty: --created-to must be later than --created-from.');
      const target = await session.aws();
      const [functionName] = await stackOutputs(target, 'service', ['republishFunction']);
      const range = { created_from: String(sinceMs / 1000), created_to: String(Math.floor(untilMs / 1000)) };
      await recordAction(session, 'events.republish_started', range);
      const { found, published, unpublishable } = await session.during('Republishing events', (report) =>
        republishRange(new LambdaClient(target), functionName, { sinceMs, untilMs }, ({ nextMs }) => {
          if (nextMs !== undefined) report(`published up to ${isoTime(nextMs)}`);
        }),
      );
      session.show({ found, published, unpublishable }, [`${published} of ${found} events published.`]);
      if (unpublishable > 0)
        throw new CliFailure(
          ExitCode.incomplete,
          `${unpublishable} events cannot be published: see the log of ${functionName}.`,
        );
    });

  events
    .command('redrive')
    .description(
      'redrives parked records of the relay and dead letters of consumers, after a fix; each takes effect once',
    )
    .action(async () => {
      const target = await session.aws();
      await recordAction(session, 'events.redrive_started');
      const data = await session.during('Redriving', (report) => redriveAll(target, report));
      const rows = data.map(({ queue, redriven, failed }) => [queue, String(redriven), String(failed)]);
      session.show({ data }, table(['QUEUE', 'REDRIVEN', 'FAILED'], rows));
      const [first] = data.flatMap(({ queue, reasons }) => reasons.map((reason) => `${queue}: ${reason}`));
      if (first === undefined) return;
      const failed = data.reduce((sum, queue) => sum + queue.failed, 0);
      throw new CliFailure(ExitCode.incomplete, `${failed} messages remain; the first reason is ${first}`);
    });
}

async function redriveAll(target: AwsTarget, report: (text: string) => void): Promise<readonly RedrivenQueue[]> {
  const sqs = new SQSClient(target);
  const [parked, relay, republisher] = await stackOutputs(target, 'service', [
    'parkedRecordsQueue',
    'relayFunction',
    'republishFunction',
  ]);
  const reasons: string[] = [];
  report('parked records');
  const { done, failed } = await redrive(
    sqs,
    parked,
    relayAgain(new LambdaClient(target), relay, republisher),
    (error) => void reasons.push(endingOf(error).sentence ?? ''),
  );
  const results: RedrivenQueue[] = [{ queue: 'parked records', redriven: done, failed, reasons }];
  for (const pair of await redrivePairs(sqs, await serviceQueues(target))) {
    if (pair.waiting === 0) {
      results.push({ queue: pair.name, redriven: 0, failed: 0, reasons: [] });
      continue;
    }
    // If SQS refuses a task, for example because one is running, the other queues are redriven and the result is shown.
    const { moved, failure } = await moveBack(sqs, pair, {
      wait: () => sleep(LOOK_AGAIN_MS),
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

/** Passes a record to the relay in the form of the Stream. The events of a lost batch are republished from the Ledger. */
function relayAgain(lambda: LambdaClient, relay: string, republisher: string): (message: Message) => Promise<void> {
  return async ({ Body = '' }) => {
    const work = parkedWork(Body);
    if (work.kind === 'republish') {
      const { unpublishable } = await republishRange(lambda, republisher, work, () => undefined);
      if (unpublishable === 0) return;
      throw new CliFailure(
        ExitCode.incomplete,
        `${unpublishable} of its events cannot be published: see the log of ${republisher}.`,
      );
    }
    const { batchItemFailures } = await invoke<{ readonly batchItemFailures: readonly unknown[] }>(lambda, relay, {
      Records: [work.record],
      waits: false,
    } satisfies RelayRequest);
    if (batchItemFailures.length > 0) throw new CliFailure(ExitCode.incomplete, 'the relay could not publish it.');
  };
}
