import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DeleteBucketPolicyCommand, S3Client } from '@aws-sdk/client-s3';
import { BINARIES, PROJECT } from './directories.ts';
import { ACCOUNT, CREDENTIALS, emulatorEnvironment, isolatedEnvironment, REGION } from './emulator-environment.ts';
import { StartFailure } from './failure.ts';
import { runKept } from './kept-process.ts';

/** The bucket that `cdk bootstrap` makes when it is given no qualifier of its own. */
const ASSETS_BUCKET = `cdk-hnb659fds-assets-${ACCOUNT}-${REGION}`;

/** Below the directory of a run: all that the CLI said in a run that failed. */
const LOG = 'cdk.log';

export interface CdkRun {
  readonly endpoint: string;
  /** Where assemblies and outputs go. */
  readonly directory: string;
  /** Each line that the CLI prints. */
  readonly report: (line: string) => void;
}

/** What is deployed: a program that builds stacks, and what it is told; or the assembly that such a program has made. */
export interface CdkApp {
  /** @default the one that `cdk.json` names */
  readonly command?: string;
  /** Of a program; an assembly was told already. */
  readonly context: Readonly<Record<string, string>>;
}

const PAYONCE: CdkApp = {
  context: {
    // The emulator's CloudFormation knows no archives.
    'payonce:eventArchive': 'false',
    // Relay and projector take a tenth of a second here; whoever stops one of them wants to see what comes of it.
    'payonce:eventsLostAfterSeconds': '20',
    // Whoever tries the local stack receives on the same machine.
    'payonce:allowLoopbackWebhooks': 'true',
  },
};

export type StackOutputs = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Prepares the emulated account for the CDK, once. */
export async function bootstrap(run: CdkRun): Promise<void> {
  await cdk(
    run,
    ['bootstrap', `aws://${ACCOUNT}/${REGION}`, '--output', join(run.directory, 'bootstrap')],
    emulatorEnvironment(run.endpoint),
  );
  // The bucket's policy refuses plain HTTP, which is all that a loopback emulator speaks.
  const s3 = new S3Client({ endpoint: run.endpoint, region: REGION, credentials: CREDENTIALS, forcePathStyle: true });
  await s3.send(new DeleteBucketPolicyCommand({ Bucket: ASSETS_BUCKET }));
}

/** Makes the assembly that a local AWS deploys, with the functions' code: once for several of them. */
export async function synthesizeForLocalAws(assembly: string): Promise<CdkApp> {
  const run = { directory: assembly, report: () => undefined };
  await cdk(run, ['synth', '--quiet', ...contextOf(PAYONCE), '--output', assembly], isolatedEnvironment());
  return { command: assembly, context: {} };
}

const contextOf = ({ context }: CdkApp): readonly string[] =>
  Object.entries(context).flatMap(([name, value]) => ['--context', `${name}=${value}`]);

/** Deploys every stack as it would be deployed to AWS, and returns their outputs. */
export async function deploy(run: CdkRun, app: CdkApp = PAYONCE): Promise<StackOutputs> {
  const outputs = join(run.directory, 'outputs.json');
  const assembly = join(run.directory, 'cdk.out');
  mkdirSync(run.directory, { recursive: true });
  await cdk(
    run,
    [
      'deploy',
      '--all',
      '--require-approval',
      'never',
      ...(app.command === undefined ? [] : ['--app', app.command]),
      ...contextOf(app),
      '--progress',
      'events',
      '--output',
      assembly,
      '--outputs-file',
      outputs,
    ],
    emulatorEnvironment(run.endpoint),
  );
  return JSON.parse(readFileSync(outputs, 'utf8')) as StackOutputs;
}

/** @throws StartFailure with the CLI's own last word on what failed, and where the others are */
async function cdk(
  run: Omit<CdkRun, 'endpoint'>,
  parameters: readonly string[],
  own: NodeJS.ProcessEnv,
): Promise<void> {
  const environment = {
    ...own,
    // It works offline: nothing is asked of, or told to, anybody.
    CDK_DISABLE_VERSION_CHECK: 'true',
    CDK_DISABLE_CLI_TELEMETRY: 'true',
    // Else the person’s own `.cdk.json` would have a say in it.
    HOME: run.directory,
  };
  const command = [join(BINARIES, 'cdk'), ...parameters, '--no-notices'];
  const { code, lines } = await runKept({ command, environment, directory: PROJECT }, run.report);
  if (code === 0) return;
  const log = join(run.directory, LOG);
  mkdirSync(run.directory, { recursive: true });
  writeFileSync(log, `${lines.join('\n')}\n`);
  const telling = lines.findLast((line) => /❌|error|fail|must be/i.test(line)) ?? lines.at(-1) ?? 'it said nothing';
  throw new StartFailure(`cdk ${parameters[0]} failed: ${telling.trim()} (all that it said: ${log})`);
}
