import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { CREDENTIALS } from '../local/emulator-environment.ts';
import { StartFailure } from '../local/failure.ts';
import { startLocalAws } from '../local/local-aws.ts';
import { measureEngine, measureOthers } from './paths.ts';
import { report } from './report.ts';
import { measureSpeed } from './speed.ts';
import { measureWeight } from './weight.ts';

const PAGE = resolve(import.meta.dirname, '..', 'docs', 'benchmarks.md');
/** Neither the port that people use nor that of the tests; another is taken when it is not free. */
const BENCH_PORT = 14_666;

const progress = (text: string): void => console.log(`… ${text}`);

/** Everything on a local AWS of its own, which ends with this run. */
async function measureOn(directory: string): Promise<string> {
  const { aws, emulator } = await startLocalAws({
    directory,
    port: BENCH_PORT,
    persist: false,
    report: (step, detail) => {
      if (step !== '') progress(detail === undefined ? step : `${step}: ${detail}`);
    },
  });
  try {
    const config = { endpoint: aws.awsEndpoint, region: aws.region, credentials: CREDENTIALS };
    progress('calls and capacity of every path');
    const engine = await measureEngine(config, aws.tables);
    const others = await measureOthers(config, aws.tables);
    const speed = await measureSpeed(config, aws.tables, progress);
    return report({ engine, others, ...speed, weight: measureWeight(progress) });
  } finally {
    await emulator.stop();
  }
}

const directory = mkdtempSync(join(tmpdir(), 'payonce-bench-'));
try {
  const page = await measureOn(directory);
  writeFileSync(PAGE, page);
  console.log(`\n${page}`);
} catch (error) {
  if (!(error instanceof StartFailure)) throw error;
  console.error(error.message);
  process.exitCode = 1;
} finally {
  rmSync(directory, { recursive: true, force: true });
}
