import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Command, InvalidArgumentError } from 'commander';
import { CliFailure, ExitCode } from './failure.ts';

const SIMULATOR = fileURLToPath(new URL('../test/world/simulator/simulate.ts', import.meta.url));
const MUTANTS = fileURLToPath(new URL('../test/world/mutants/simulate-mutants.ts', import.meta.url));

/** Only a clone has the simulator; the package does not. */
export function addSimulate(program: Command): void {
  if (!existsSync(SIMULATOR)) return;
  program
    .command('simulate')
    .description('runs random histories on the real handlers in this clone, and checks every invariant')
    .option('--seed <number>', 'the first seed', whole, '1')
    .option('--histories <count>', 'number of histories', whole, '100')
    .option('--minutes <count>', 'run as many histories as fit into this time', whole)
    .option(
      '--profile <name>',
      'the profile, or with --mutants several, separated by commas; the default is all profiles in turn',
    )
    .option('--authority <name>', 'the system of record: dynamodb or postgres', 'dynamodb')
    .option('--whole', 'report findings without shrinking them, which is faster')
    .option(
      '--reached',
      'report the covered state-table cells, faults, acts (kinds of steps), and pairs of an act and a fault',
    )
    .option('--mutants', 'plant each known fault, and report how many histories find it')
    .option('--stories', 'with --mutants: run the histories in test/world/stories instead of random ones')
    .option('--only <names>', 'with --mutants: the faults to plant, separated by commas')
    .option(
      '--rows <count>',
      'with --mutants: number of series of histories, each with its own seeds; the median is reported',
      whole,
    )
    .option(
      '--processes <count>',
      'with --mutants: number of faults that are tested at a time; by default the number of cores',
      whole,
    )
    .option('--write', 'write the result to docs/proof')
    .action(async ({ mutants, authority = '', ...chosen }: Readonly<Record<string, string | true>>) => {
      const file = mutants === undefined ? SIMULATOR : MUTANTS;
      const options = mutants === undefined ? { ...chosen, authority } : chosen;
      const given = Object.entries(options).flatMap(([name, value]) =>
        value === true ? [`--${name}`] : [`--${name}`, value],
      );
      const child = spawn(process.execPath, [file, ...given], { stdio: 'inherit' });
      const ended = Promise.withResolvers<number | null>();
      child.on('error', ended.reject);
      child.on('exit', ended.resolve);
      if ((await ended.promise) !== 0) throw new CliFailure(ExitCode.incomplete, 'Some histories failed.');
    });
}

function whole(text: string): string {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError(`${text} is not a whole number.`);
  return text;
}
