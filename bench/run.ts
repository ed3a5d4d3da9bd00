import { rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Command } from 'commander';
import { wrapMarkdown } from '../docs/generate/wrap.ts';
import { makeDirectory, PAYONCE_DIRECTORY } from '../local/directories.ts';
import { type LocalAws, startLocalAws } from '../local/local-aws.ts';
import { compare } from './compare/compare.ts';
import { comparisonPage } from './compare/comparison-page.ts';
import { FULL_TRIAL, SHORT_TRIAL } from './compare/kill-test.ts';
import { measure } from './measure.ts';
import { FULL, SHORT } from './speed.ts';

const PROOF = resolve(import.meta.dirname, '..', 'docs', 'proof');
const RESULTS = join(import.meta.dirname, 'results.json');
/** It differs from the default port and from the port of the tests. If it is taken, another free port is used. */
const BENCH_PORT = 14_666;

const progress = (text: string): void => console.log(`… ${text}`);

/** The local AWS is stopped afterwards. */
async function onLocalAws<Measured>(run: (aws: LocalAws) => Promise<Measured>): Promise<Measured> {
  // The directory is kept after a failure, because it contains logs.
  const directory = join(PAYONCE_DIRECTORY, 'bench');
  rmSync(directory, { recursive: true, force: true });
  makeDirectory(directory);
  const { aws, emulator } = await startLocalAws({
    directory,
    port: BENCH_PORT,
    persist: false,
    report: (step, detail) => {
      if (step !== '') progress(detail === undefined ? step : `${step}: ${detail}`);
    },
  });
  let measured: Measured;
  try {
    measured = await run(aws);
  } finally {
    await emulator.stop();
  }
  rmSync(directory, { recursive: true, force: true });
  return measured;
}

function show(page: string, file: string, isWritten: boolean): void {
  if (isWritten) writeFileSync(join(PROOF, file), wrapMarkdown(page));
  console.log(`\n${page}`);
}

async function benchmarks({ short }: Options): Promise<void> {
  const { page, results } = await onLocalAws((aws) => measure(aws, { size: short ? SHORT : FULL, progress }));
  show(page, 'benchmarks.md', !short);
  if (!short) writeFileSync(RESULTS, `${JSON.stringify(results, undefined, 2)}\n`);
}

async function comparison({ short }: Options): Promise<void> {
  const page = await onLocalAws(async (aws) => {
    const size = short ? SHORT_TRIAL : FULL_TRIAL;
    return comparisonPage(await compare(aws, { size, progress }));
  });
  show(page, 'comparison.md', !short);
}

interface Options {
  readonly short: boolean;
}

const SHORT_HELP = 'make a short test run without writing a file';
const program = new Command('npm run bench --')
  .description('Measures what a payment costs, and writes docs/proof/benchmarks.md and bench/results.json.')
  .option('--short', SHORT_HELP, false)
  .action(benchmarks);
program
  .command('compare')
  .description('Stops other programs and Payonce at each of their calls, and writes docs/proof/comparison.md.')
  .option('--short', SHORT_HELP, false)
  .action((_: Options, command: Command) => comparison(command.optsWithGlobals<Options>()));
await program.parseAsync();
