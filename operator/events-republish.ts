import { LambdaClient } from '@aws-sdk/client-lambda';
import { Command, InvalidArgumentError } from 'commander';
import { awsTarget, serviceOutput } from './deployment.ts';
import { republishRange } from './republishing.ts';

interface Options {
  readonly local?: boolean;
  readonly since: number;
  readonly until?: number;
}

/** What is younger is on its way still. Milliseconds. */
const ON_ITS_WAY_MS = 5 * 60_000;

const program = new Command('npm run events:republish --')
  .description(
    'Publishes events of the Ledger again, with your own AWS credentials and region. Harmless: an event is known by its id.',
  )
  .requiredOption('--since <time>', 'from when on, as 2026-03-01T12:00Z; at most two weeks ago', readTime)
  .option('--until <time>', 'up to when; five minutes ago when left out', readTime)
  .option('--local', 'the stack that "npm start" brought up')
  .action(async ({ local = false, since: sinceMs, until: untilMs = Date.now() - ON_ITS_WAY_MS }: Options) => {
    const target = awsTarget(local);
    const functionName = await serviceOutput(target, 'republishFunction');
    const range = { sinceMs, untilMs };
    const done = await republishRange(new LambdaClient(target), functionName, range, ({ nextMs }) => {
      if (nextMs !== undefined) console.log(`… ${new Date(nextMs).toISOString()}`);
    });
    console.log(`${done.published} of ${done.found} events published.`);
    if (done.unpublishable === 0) return;
    console.error(`${done.unpublishable} cannot be: the log of ${functionName} says why.`);
    process.exitCode = 1;
  });

try {
  await program.parseAsync();
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}

function readTime(text: string): number {
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw new InvalidArgumentError(`${text} is no time; as 2026-03-01T12:00Z.`);
  return time;
}
