import { rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Command } from 'commander';
import { wrapMarkdown } from '../docs/generate/wrap.ts';
import { makeDirectory, PAYONCE_DIRECTORY } from '../local/directories.ts';
import { startLocalAws } from '../local/local-aws.ts';
import { measure } from './measure.ts';
import { FULL, SHORT, type Size } from './speed.ts';

const PAGE = resolve(import.meta.dirname, '..', 'docs', 'proof', 'benchmarks.md');
/**
 * Preferred port. It differs from the default port and from the port of the tests. If it is taken, another free port is
 * used.
 */
const BENCH_PORT = 14_666;

const { short } = new Command('npm run bench --')
  .description('Measures what a payment costs, and writes docs/proof/benchmarks.md.')
  .option('--short', 'make a short test run without writing the file', false)
  .parse()
  .opts<{ readonly short: boolean }>();

const progress = (text: string): void => console.log(`… ${text}`);

/** Runs all measurements on a separate local AWS, which is stopped afterwards. */
async function measureOn(directory: string, size: Size): Promise<string> {
  const { aws, emulator } = await startLocalAws({
    directory,
    port: BENCH_PORT,
    persist: false,
    report: (step, detail) => {
      if (step !== '') progress(detail === undefined ? step : `${step}: ${detail}`);
    },
  });
  try {
    return await measure(aws, { size, progress });
  } finally {
    await emulator.stop();
  }
}

/** The directory of this program. It is kept after a failure, because it contains logs. */
const directory = join(PAYONCE_DIRECTORY, 'bench');
rmSync(directory, { recursive: true, force: true });
makeDirectory(directory);
const page = await measureOn(directory, short ? SHORT : FULL);
rmSync(directory, { recursive: true, force: true });
if (!short) writeFileSync(PAGE, wrapMarkdown(page));
console.log(`\n${page}`);
