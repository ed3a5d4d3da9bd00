import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DeleteBucketPolicyCommand, S3Client } from '@aws-sdk/client-s3';
import { BINARIES, PROJECT } from './directories.ts';
import { ACCOUNT, CREDENTIALS, emulatorEnvironment, REGION } from './emulator-environment.ts';
import { StartFailure } from './failure.ts';

/** The bucket that `cdk bootstrap` makes when it is given no qualifier of its own. */
const ASSETS_BUCKET = `cdk-hnb659fds-assets-${ACCOUNT}-${REGION}`;

export interface CdkRun {
  readonly endpoint: string;
  /** Where assemblies and outputs go. */
  readonly directory: string;
  /** Each line that the CLI prints. */
  readonly report: (line: string) => void;
}

export type StackOutputs = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Prepares the emulated account for the CDK, once. */
export async function bootstrap(run: CdkRun): Promise<void> {
  await cdk(run, ['bootstrap', `aws://${ACCOUNT}/${REGION}`, '--output', join(run.directory, 'bootstrap')]);
  // The bucket's policy refuses plain HTTP, which is all that a loopback emulator speaks.
  const s3 = new S3Client({ endpoint: run.endpoint, region: REGION, credentials: CREDENTIALS, forcePathStyle: true });
  await s3.send(new DeleteBucketPolicyCommand({ Bucket: ASSETS_BUCKET }));
}

/** Deploys every stack as it would be deployed to AWS, and returns their outputs. */
export async function deploy(run: CdkRun): Promise<StackOutputs> {
  const outputs = join(run.directory, 'outputs.json');
  const assembly = join(run.directory, 'cdk.out');
  mkdirSync(run.directory, { recursive: true });
  await cdk(run, [
    'deploy',
    '--all',
    '--require-approval',
    'never',
    '--progress',
    'events',
    '--output',
    assembly,
    '--outputs-file',
    outputs,
  ]);
  return JSON.parse(readFileSync(outputs, 'utf8')) as StackOutputs;
}

/** @throws StartFailure with the CLI's own words */
async function cdk(run: CdkRun, parameters: readonly string[]): Promise<void> {
  const child = spawn(join(BINARIES, 'cdk'), parameters, {
    cwd: PROJECT,
    env: emulatorEnvironment(run.endpoint),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  const listen = (chunk: Buffer): void => {
    for (const line of chunk.toString('utf8').split('\n').filter(Boolean)) {
      lines.push(line);
      run.report(line);
    }
  };
  child.stdout.on('data', listen);
  child.stderr.on('data', listen);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  if (code !== 0) throw new StartFailure(`cdk ${parameters[0]} failed:\n${lines.slice(-30).join('\n')}`);
}
