import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildSync } from 'esbuild';
import { bundle } from '../lib/lambda-code.ts';
import { startSize } from '../test/support/start-size.ts';

export interface Weight {
  /** Size of the minified bundle in kilobytes of 1,000 bytes, by the function's folder. */
  readonly kilobytes: ReadonlyMap<string, number>;
  /**
   * CPU time to import the payments function, divided by the CPU time to import a handler with only the SDK's DynamoDB
   * client.
   */
  readonly imports: readonly ImportRatio[];
}

interface ImportRatio {
  readonly comparison: string;
  readonly goal: string;
  readonly before: string;
  readonly ratio: number;
}

const FUNCTIONS = ['payments', 'api-documents', 'sandbox-processor'];
const ROOT = resolve(import.meta.dirname, '..');

interface WeightOptions {
  /** The environment of the deployed payments function. Without it, the function does not start. */
  readonly environment: Readonly<Record<string, string>>;
  readonly starts: number;
  readonly progress: (text: string) => void;
}

/** Bundles the functions as for a deployment, and starts each in new processes. */
export function measureWeight({ environment, starts, progress }: WeightOptions): Weight {
  const directory = mkdtempSync(join(tmpdir(), 'payonce-weight-'));
  try {
    progress('bundle sizes');
    bundle(directory);
    const sdkAlone = join(directory, 'sdk-alone.mjs');
    const sdkWithOurCredentials = join(directory, 'sdk-with-our-credentials.mjs');
    bundleSdkAlone(sdkAlone, {});
    bundleSdkAlone(sdkWithOurCredentials, {
      '@aws-sdk/credential-provider-node': join(ROOT, 'lambdas', 'kernel', 'platform', 'environment-credentials.ts'),
    });
    progress(`import CPU time, ${starts} starts each`);
    const [payments = NaN, alone = NaN, ours = NaN] = importCpuMs(
      [join(directory, 'payments', 'index.mjs'), sdkAlone, sdkWithOurCredentials],
      { starts, environment },
    );
    return {
      kilobytes: new Map(FUNCTIONS.map((name) => [name, startSize(join(directory, name)) / 1000])),
      imports: [
        { comparison: 'with all credential providers', goal: '', before: '1.6', ratio: payments / alone },
        {
          comparison: 'with credentials from the environment only, as in Payonce',
          goal: '1.3',
          before: '2.4',
          ratio: payments / ours,
        },
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

/**
 * Returns the lowest CPU time to import each file, in milliseconds: the lowest, because other work on the machine only
 * adds time. The files alternate, and each import runs in a new process.
 */
function importCpuMs(
  files: readonly string[],
  { starts, environment }: Pick<WeightOptions, 'starts' | 'environment'>,
): readonly number[] {
  const rounds = Array.from({ length: starts }, () => files.map((file) => importOnce(file, environment)));
  return files.map((_, index) => Math.min(...rounds.map((round) => round[index] ?? NaN)));
}

/**
 * Imports a file once.
 * @throws Error with the function's message when it does not start
 */
function importOnce(file: string, environment: Readonly<Record<string, string>>): number {
  const script = `const before = process.cpuUsage();
    await import(${JSON.stringify(pathToFileURL(file).href)});
    const { user, system } = process.cpuUsage(before);
    process.stdout.write(String((user + system) / 1000));`;
  const arguments_ = ['--input-type=module', '-e', script];
  const { status, stdout, stderr } = spawnSync(process.execPath, arguments_, { encoding: 'utf8', env: environment });
  if (status === 0) return Number(stdout);
  // Skip the source line that Node prints first: it is the whole minified bundle.
  const reason =
    stderr.split('\n').find((line) => /^\w*(Error|Failure)\b/.test(line)) ?? 'the process printed no reason';
  throw new Error(`${file.split('/').at(-2)} does not start: ${reason}`);
}
