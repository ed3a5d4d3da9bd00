import { rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { GetFunctionConfigurationCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { Command } from 'commander';
import { makeDirectory, PAYONCE_DIRECTORY } from '../local/directories.ts';
import { CREDENTIALS } from '../local/emulator-environment.ts';
import { type LocalAws, startLocalAws } from '../local/local-aws.ts';
import { measureByHand, measureEngine, measureOthers } from './paths.ts';
import { report } from './report.ts';
import { FULL, measureSpeed, SHORT, type Size } from './speed.ts';
import { measureWeight } from './weight.ts';

const PAGE = resolve(import.meta.dirname, '..', 'docs', 'benchmarks.md');
/** Differs from the default port and from that of the tests. If it is taken, another is used. */
const BENCH_PORT = 14_666;

const { short } = new Command('npm run bench --')
  .description('Measures what a payment costs, and writes docs/benchmarks.md.')
  .option('--short', 'make a short test run and write nothing', false)
  .parse()
  .opts<{ readonly short: boolean }>();

const progress = (text: string): void => console.log(`… ${text}`);

/** Runs everything on a separate local AWS, which ends with this run. */
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
    const config = { endpoint: aws.awsEndpoint, region: aws.region, credentials: CREDENTIALS };
    progress('calls and capacity of every path');
    const engine = await measureEngine(config, aws.tables);
    const byHand = await measureByHand(config, aws.tables);
    const others = await measureOthers(config, aws.tables);
    const speed = await measureSpeed(config, aws.tables, { size, progress });
    const weight = measureWeight({ environment: await environmentOf(aws), starts: size.starts, progress });
    return report({ engine, byHand, others, ...speed, weight });
  } finally {
    await emulator.stop();
  }
}

/** The environment of the deployed payments function, without this process's environment. */
async function environmentOf(aws: LocalAws): Promise<Readonly<Record<string, string>>> {
  const client = new LambdaClient({ endpoint: aws.awsEndpoint, region: aws.region, credentials: CREDENTIALS });
  const { Environment } = await client.send(
    new GetFunctionConfigurationCommand({ FunctionName: aws.paymentsFunction }),
  );
  return {
    ...Environment?.Variables,
    AWS_REGION: aws.region,
    AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
    AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
  };
}

/** The directory of this program. It is kept after a failure for its logs. */
const directory = join(PAYONCE_DIRECTORY, 'bench');
rmSync(directory, { recursive: true, force: true });
makeDirectory(directory);
const page = await measureOn(directory, short ? SHORT : FULL);
rmSync(directory, { recursive: true, force: true });
if (!short) writeFileSync(PAGE, page);
console.log(`\n${page}`);
