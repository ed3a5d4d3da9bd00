import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { Command, InvalidArgumentError } from 'commander';
import { StackName, StackOutput } from '../lambdas/kernel/contract/api.ts';
import { REDRIVE_TIMEOUT_MINUTES } from '../lambdas/kernel/contract/timing.ts';
import { type LetterAnswer, type LetterOrder, type LetterReport, MOST_LETTERS } from '../lambdas/outbound/contract.ts';
import { type AwsAccess, deployedOutput, localAccess } from './deployed.ts';

interface Target {
  readonly local?: boolean;
  readonly function?: string;
}

const program = new Command('npm run letters --')
  .description('Calls to vendors that were given up, of a deployed stack, with your own AWS credentials and region.')
  .option('--local', 'the stack that "npm start" brought up')
  .option('--function <name>', 'the function that makes them again; found by the stack when left out');

program
  .command('list')
  .description('shows what was given up, and why; never what is in it')
  .option('--most <n>', `how many, 1 to ${MOST_LETTERS}`, readCount, MOST_LETTERS)
  .action(async ({ most }: { most: number }) => {
    const letters = await ask({ action: 'list', atMost: most });
    show(letters);
    console.log(letters.length === 0 ? 'No letters.' : `${letters.length} shown.`);
  });

program
  .command('redrive')
  .description('makes the calls again, under their own keys, so that each takes effect once; what fails again stays')
  .option('--most <n>', `how many, 1 to ${MOST_LETTERS}`, readCount, MOST_LETTERS)
  .action(async ({ most }: { most: number }) => {
    const letters = await ask({ action: 'redrive', atMost: most });
    show(letters);
    const staying = letters.filter(({ state }) => state === 'stays').length;
    console.log(`${letters.length - staying} ended, ${staying} stay.`);
    if (staying > 0) process.exitCode = 1;
  });

try {
  await program.parseAsync();
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}

async function ask(order: LetterOrder): Promise<readonly LetterReport[]> {
  const { local = false, function: named } = program.opts<Target>();
  const access: AwsAccess = local ? localAccess() : {};
  const otherwise = 'name the function with --function, or deploy with a shop: without one, nobody is called.';
  const FunctionName =
    named ?? (await deployedOutput(StackName.service, StackOutput.deadLettersFunction, { access, otherwise }));
  // Asked once: a second run beside the first would only find what the first has not taken.
  const requestHandler = { requestTimeout: REDRIVE_TIMEOUT_MINUTES * 60_000 };
  const client = new LambdaClient({ ...access, maxAttempts: 1, requestHandler });
  const { Payload, FunctionError } = await client.send(
    new InvokeCommand({ FunctionName, Payload: JSON.stringify(order) }),
  );
  const text = Buffer.from(Payload ?? []).toString('utf8');
  if (FunctionError !== undefined) throw new Error(`${FunctionName} failed: ${text}`);
  return (JSON.parse(text) as LetterAnswer).letters;
}

function show(letters: readonly LetterReport[]): void {
  for (const { state, vendor, operation, reason, mayBeApplied, keptSinceMs, id } of letters) {
    const doubt = mayBeApplied ? 'may have been applied' : 'not applied';
    console.log(
      `${state}  ${vendor}  ${operation}  ${reason}  ${doubt}  ${new Date(keptSinceMs).toISOString()}  ${id}`,
    );
  }
}

function readCount(text: string): number {
  const count = Number(text);
  if (!/^\d+$/.test(text) || count < 1 || count > MOST_LETTERS) {
    throw new InvalidArgumentError(`${text} is not a number from 1 to ${MOST_LETTERS}.`);
  }
  return count;
}
