import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Command } from 'commander';
import { PAYONCE_DIRECTORY } from '../local/directories.ts';
import { type LocalAws, startLocalAws } from '../local/local-aws.ts';
import { StateFile } from '../local/state-file.ts';
import { deployDemo, removeDemo } from './deployed.ts';
import { page } from './page.ts';
import { SCENARIOS } from './scenarios.ts';
import { sideBySide } from './side-by-side.ts';
import { withSides } from './sides.ts';
import { exitCode, type Finding, plainTable } from './verdict.ts';

const PAGE = resolve(import.meta.dirname, '..', 'docs', 'demo.md');
/** None of the ports of people, tests and benchmarks; another is taken when it is not free. */
const DEMO_PORT = 14_866;

const { write } = new Command('npm run demo --')
  .description('Brings the same troubles upon a naive payment handler and upon Payonce, and counts what came of them.')
  .option('--write', 'write docs/demo.md from this run', false)
  .parse()
  .opts<{ readonly write: boolean }>();

/** Of this program alone. After a failure it says what happened. */
const directory = join(PAYONCE_DIRECTORY, 'demo');
rmSync(directory, { recursive: true, force: true });
mkdirSync(directory, { recursive: true });
const findings = await onLocalAws(demonstrate);
rmSync(directory, { recursive: true, force: true });
console.log(`\nCounts are charges (or refunds) / postings / events / effects.\n\n${plainTable(findings)}\n`);
if (write) writeFileSync(PAGE, page(findings));
process.exitCode = exitCode(findings);
console.log(process.exitCode === 0 ? 'Payonce: exactly once in every scenario.' : 'Payonce was NOT exactly once.');

function progress(text: string): void {
  console.log(`… ${text}`);
}

/** On what `npm start` has left running, else on one of its own that ends with this run. */
async function onLocalAws<Result>(use: (aws: LocalAws) => Promise<Result>): Promise<Result> {
  const running = await new StateFile(PAYONCE_DIRECTORY).running();
  if (running !== undefined) return use(running);
  progress('nothing runs yet: starting a local AWS for this run');
  const { aws, emulator } = await startLocalAws({
    directory,
    port: DEMO_PORT,
    persist: false,
    report: (step, detail) => {
      if (step !== '') progress(detail === undefined ? step : `${step}: ${detail}`);
    },
  });
  try {
    return await use(aws);
  } finally {
    await emulator.stop();
  }
}

async function demonstrate(aws: LocalAws): Promise<readonly Finding[]> {
  const begunMs = performance.now();
  progress('deploying the naive shop and two consumers beside Payonce');
  const demo = await deployDemo(aws, join(directory, 'demo'), () => undefined);
  try {
    return await withSides(aws, demo, (sides) => sideBySide(sides, SCENARIOS, progress));
  } finally {
    progress(`done after ${Math.round((performance.now() - begunMs) / 1_000)} s; taking the naive shop away`);
    await removeDemo(aws);
  }
}
