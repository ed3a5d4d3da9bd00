import { LambdaClient } from '@aws-sdk/client-lambda';
import type { Command } from 'commander';
import { systemClock } from '../lambdas/kernel/platform/platform.ts';
import { recordAction } from './activity.ts';
import { stackOutputs } from './deployment.ts';
import { CliFailure, ExitCode } from './failure.ts';
import { republishRange } from './republishing.ts';
import { isoTime, readSeconds, type Session } from './session.ts';

/** Age, in milliseconds, below which an event may still be in delivery. */
const MAX_DELIVERY_DELAY_MS = 5 * 60_000;
/** Unix seconds. */
interface Range {
  readonly createdFrom: number;
  readonly createdTo?: number;
}

export function addEvents(program: Command, session: Session): void {
  const events = program.command('events').description('republishes events');

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
      const untilMs = createdTo === undefined ? systemClock.nowMs() - MAX_DELIVERY_DELAY_MS : createdTo * 1000;
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
}
