import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildSync } from 'esbuild';
import { Environment } from '../lambdas/kernel/contract/environment.ts';
import { sandboxContract } from '../lambdas/processors/sandbox/contract.ts';
import { bundle } from '../lib/lambda-code.ts';
import { startSize } from '../test/support/start-size.ts';
import { median } from './median.ts';

export interface Weight {
  /** What is read at the start, minified, in kilobytes of 1,000 bytes, by the function's folder. */
  readonly kilobytes: ReadonlyMap<string, number>;
  /** CPU time to import the payments function, over that of a handler with the SDK's DynamoDB client alone. */
  readonly imports: readonly ImportRatio[];
}

interface ImportRatio {
  readonly beside: string;
  readonly ratio: number;
}

const STARTS = 9;
const FUNCTIONS = ['payments', 'api-documents', 'sandbox-processor'];
const ROOT = resolve(import.meta.dirname, '..');

/** What the payments function needs to start, and nothing of this process's own environment. */
const ENVIRONMENT = {
  AWS_REGION: 'us-east-1',
  AWS_ACCESS_KEY_ID: 'test',
  AWS_SECRET_ACCESS_KEY: 'test',
  [Environment.idempotencyTable]: 'bench-idempotency',
  [Environment.ledgerTable]: 'bench-ledger',
  [Environment.registryTable]: 'bench-registry',
  [sandboxContract.settings.url.variable]: 'https://processor.example',
};

/** Bundles the functions as they are deployed, and starts each in fresh processes. */
export function measureWeight(progress: (text: string) => void): Weight {
  const directory = mkdtempSync(join(tmpdir(), 'payonce-weight-'));
  try {
    progress('bundle sizes');
    bundle(directory);
    const sdkAlone = join(directory, 'sdk-alone.mjs');
    const sdkWithOurCredentials = join(directory, 'sdk-with-our-credentials.mjs');
    bundleSdkAlone(sdkAlone, {});
    bundleSdkAlone(sdkWithOurCredentials, {
      '@aws-sdk/credential-provider-node': join(ROOT, 'lambdas', 'runtime', 'environment-credentials.ts'),
    });
    progress(`import CPU time, ${STARTS} starts each`);
    const [payments = NaN, alone = NaN, ours = NaN] = importCpuMs([
      join(directory, 'payments', 'index.mjs'),
      sdkAlone,
      sdkWithOurCredentials,
    ]);
    return {
      kilobytes: new Map(FUNCTIONS.map((name) => [name, startSize(join(directory, name)) / 1000])),
      imports: [
        { beside: 'as it comes, with every way to find credentials', ratio: payments / alone },
        { beside: 'with credentials from the environment only, as ours', ratio: payments / ours },
      ],
    };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function bundleSdkAlone(outfile: string, alias: Record<string, string>): void {
  buildSync({
    stdin: {
      contents: `import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
        const client = new DynamoDBClient({});
        export const handler = () => client;`,
      resolveDir: ROOT,
    },
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    mainFields: ['module', 'main'],
    minify: true,
    alias,
  });
}

/** Median CPU time to import each file; the files take turns, each start is a process of its own. Milliseconds. */
function importCpuMs(files: readonly string[]): readonly number[] {
  const rounds = Array.from({ length: STARTS }, () => files.map(importOnce));
  return files.map((_, index) => median(rounds.map((round) => round[index] ?? NaN)));
}

function importOnce(file: string): number {
  const script = `const before = process.cpuUsage();
    await import(${JSON.stringify(pathToFileURL(file).href)});
    const { user, system } = process.cpuUsage(before);
    process.stdout.write(String((user + system) / 1000));`;
  const arguments_ = ['--input-type=module', '-e', script];
  return Number(execFileSync(process.execPath, arguments_, { encoding: 'utf8', env: ENVIRONMENT }));
}
