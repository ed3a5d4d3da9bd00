import { Command, Option } from 'commander';
import { Listr } from 'listr2';
import { AUTHORITIES, type Authority } from '../lambdas/authority/contract.ts';
import { defined } from '../lambdas/kernel/defined.ts';
import { CLOCK_OFFSET } from '../lambdas/kernel/platform/platform.ts';
import { announcement } from './announcement.ts';
import { authorityOf, projectContext, settingsWithoutEffect } from './cdk.ts';
import { durationOf } from './clock.ts';
import { PAYONCE_DIRECTORY } from './directories.ts';
import type { Emulator } from './emulator.ts';
import { RefusedSetting, StartFailure } from './failure.ts';
import { followLogs } from './function-logs.ts';
import { isKeeperRunning, stopKept } from './kept-process.ts';
import { startLab } from './lab.ts';
import { type LocalAws, type LocalAwsOptions, type RunningLocalAws, startLocalAws } from './local-aws.ts';
import { selfCheck } from './self-check.ts';
import { sentenceOf } from './sentence.mjs';
import { StateFile } from './state-file.ts';
import { Steps } from './steps.ts';

const DEFAULT_PORT = 4566;
const NAMES: Readonly<Record<Authority, string>> = { dynamodb: 'DynamoDB', postgres: 'PostgreSQL' };
/** Includes the start of the lab. */
const FIRST_REQUESTS = 'First requests';

interface Options {
  readonly detach: boolean;
  readonly fresh: boolean;
  readonly deploy: boolean;
  readonly authority?: Authority;
  readonly port: string;
  readonly directory: string;
}

const options = new Command('npm start --')
  .description('Starts Payonce on this machine: local AWS, stacks, a tenant and its keys.')
  .option('--detach', 'return after the start, and leave Payonce running', false)
  .option('--fresh', 'start with empty tables and new keys', false)
  .option('--deploy', 'deploy the stacks, even if their sources have not changed', false)
  .addOption(
    new Option(
      '--authority <name>',
      'the system of record; the default is the system of the last start, or the setting in cdk.json',
    ).choices(AUTHORITIES),
  )
  .option('--port <number>', 'the preferred port; another port is used if this one is taken', String(DEFAULT_PORT))
  .option('--directory <path>', 'the directory for all files', PAYONCE_DIRECTORY)
  .parse()
  .opts<Options>();

await start(options);

async function start({ detach, port, ...others }: Options): Promise<void> {
  const state = new StateFile(others.directory);
  state.claim();
  const { aws, emulator, detachLab, faults } = await bringUpOrFind(state, { ...others, port: portOf(port) }).finally(
    () => state.release(),
  );
  console.log(announcement(aws));
  const aheadMs = state.clockOffsetMs();
  if (aheadMs > 0)
    console.log(`The local clock is ${durationOf(aheadMs)} ahead of this machine (npx payonce clock).\n`);
  if (emulator === undefined) return;
  if (faults.length > 0) console.error(`Payonce is running, but some checks failed.\n${faults.join('\n')}\n`);
  if (detach) {
    if (faults.length > 0) process.exitCode = 1;
    console.log('Payonce is running in the background. "npm stop" stops it.');
    emulator.detach();
    detachLab?.();
    return;
  }
  await stayInForeground(emulator, state);
}

interface BringUp extends Pick<Options, 'fresh' | 'deploy' | 'directory' | 'authority'> {
  readonly port: number;
}

interface Begun {
  readonly aws: LocalAws;
  /** Undefined when Payonce was already running. */
  readonly emulator?: Emulator;
  readonly detachLab?: () => void;
  readonly faults: readonly string[];
}

async function bringUpOrFind(state: StateFile, { fresh, authority, ...others }: BringUp): Promise<Begun> {
  const running = await state.running();
  if (running !== undefined && (fresh || others.deploy))
    throw new StartFailure('Payonce is running. Stop it with "npm stop" first.');
  const earlier = fresh ? undefined : state.earlierAuthority();
  if (earlier !== undefined && authority !== undefined && authority !== earlier)
    throw new StartFailure(
      `The payments in this directory are in ${NAMES[earlier]}. To start with empty tables, run "npm stop", then "npm ` +
        `start -- --fresh --authority ${authority}". To keep these payments, select another directory with "--directory".`,
    );
  if (running !== undefined) {
    console.log('Payonce is already running ("npm stop" stops it).');
    const { lab, ...aws } = running;
    return { aws: isKeeperRunning(lab?.keeperPid ?? 0) ? running : aws, faults: [] };
  }
  const offsetMs = fresh ? 0 : state.clockOffsetMs();
  if (offsetMs > 0) process.env[CLOCK_OFFSET] = String(offsetMs);
  const context = projectContext();
  const chosen = authority ?? earlier ?? authorityOf(context);
  for (const name of settingsWithoutEffect(context, chosen))
    console.log(`The local stack sets ${name} itself: its value in cdk.json has no effect here.`);
  // If an earlier run was killed, its processes can still be running.
  const { keeperPid = 0, postgres, lab } = state.read() ?? {};
  for (const pid of [lab?.keeperPid ?? 0, keeperPid, postgres?.keeperPid ?? 0]) await stopKept(pid);
  state.remove();
  // Without `--fresh`, there are no earlier tables here, but a failed start may have left files.
  if (earlier === undefined) state.removeEarlierState();
  try {
    const steps = new Steps();
    const begun = await bringUp({ ...others, authority: chosen }, state, steps);
    state.write(begun.aws);
    steps.begin(FIRST_REQUESTS);
    console.log(FIRST_REQUESTS);
    const [withLab, faults] = await Promise.all([
      addLab(begun, state, { directory: others.directory, port: others.port + 1 }),
      selfCheck(begun.aws),
    ]);
    console.log(steps.summary());
    return { ...withLab, faults };
  } catch (error) {
    if (earlier === undefined || error instanceof RefusedSetting) throw error;
    const hint = 'if the problem persists, "npm start -- --fresh" starts with empty tables';
    throw new StartFailure(`${sentenceOf(error)} (${hint})`, { cause: error });
  }
}

/**
 * The lab reads the state file, so it starts after that file has been written. Payonce remains usable if the lab fails.
 */
async function addLab(
  { aws, emulator }: RunningLocalAws,
  state: StateFile,
  { directory, port }: { readonly directory: string; readonly port: number },
): Promise<Omit<Begun, 'faults'>> {
  try {
    const { lab, detach } = await startLab(directory, port);
    state.write({ ...aws, lab });
    return { aws: { ...aws, lab }, emulator, detachLab: detach };
  } catch (error) {
    console.error(sentenceOf(error));
    return { aws, emulator };
  }
}

function portOf(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port >= 1 && port <= 65_535) return port;
  throw new StartFailure(`--port is ${text}; it must be a number from 1 to 65535.`);
}

/** On a terminal, also shows the output of the CLI. */
async function bringUp(
  {
    directory,
    port,
    authority,
    deploy: redeploy,
  }: Omit<BringUp, 'fresh' | 'authority'> & { readonly authority: Authority },
  state: StateFile,
  steps: Steps,
): Promise<RunningLocalAws> {
  const keys = state.keys();
  const begin = (show: LocalAwsOptions['report']): Promise<RunningLocalAws> => {
    const report: LocalAwsOptions['report'] = (step, detail) => {
      if (step !== '') steps.begin(step);
      show(step, detail);
    };
    return startLocalAws({ directory, port, authority, persist: true, redeploy, report, ...defined({ keys }) });
  };
  if (!process.stdout.isTTY) return begin((step, detail) => step !== '' && console.log(titleOf(step, detail)));

  let result: RunningLocalAws | undefined;
  await new Listr(
    [
      {
        title: 'Starting',
        task: async (_context, task) => {
          result = await begin((step, detail = '') => {
            if (step === '') task.output = detail;
            else task.title = titleOf(step, detail);
          });
          task.title = 'Ready';
        },
      },
    ],
    { rendererOptions: { showErrorMessage: false } },
  ).run();
  if (result === undefined) throw new StartFailure('Payonce did not start.');
  return result;
}

function titleOf(step: string, detail = ''): string {
  return detail === '' ? step : `${step}: ${detail}`;
}

async function stayInForeground(emulator: Emulator, state: StateFile): Promise<void> {
  const asked = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => asked.abort());
  console.log('The logs of the functions follow. Press Ctrl-C to stop Payonce.\n');
  await followLogs(
    emulator.access,
    () => Date.now() + state.clockOffsetMs(),
    ({ timestampMs, functionName, text }) => {
      console.log(`${new Date(timestampMs).toISOString().slice(11, 23)}  ${functionName.padEnd(12)}  ${text}`);
    },
    AbortSignal.any([asked.signal, emulator.ended]),
  );
  if (asked.signal.aborted) console.log('\nStopping…');
  await stopKept(state.read()?.lab?.keeperPid ?? 0);
  await emulator.stop();
  state.remove();
  // The emulator was ended by `npm stop` or by a failure.
  if (!asked.signal.aborted)
    console.log('\nThe local AWS has stopped. If you did not run "npm stop", see emulator.log.');
}
