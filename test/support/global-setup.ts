import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Emulator } from '../../local/emulator.ts';
import { StartFailure } from '../../local/failure.ts';
import { startLocalAws } from '../../local/local-aws.ts';
import { sliceOfTree } from '../run/tree-slice.ts';
import { startBareAws } from './bare-aws.ts';
import { POSTGRES_URL } from './postgres.ts';
import { openRunFolder } from './run-folder.ts';
import { startServer } from './server-process.ts';
import { SLICE } from './slice.ts';
import { SYNTH_URL } from './synth-requests.ts';

declare global {
  /** Passed from setup to teardown, which run in one process. */
  var runningEmulator: Emulator | undefined;
  var runningServers: ChildProcess[] | undefined;
}

/**
 * First port of each project. Further shards use the following ports, because projects and shards run concurrently.
 * None of the ports is the default port of the local AWS, which a developer may use.
 */
const TEST_PORTS = new Map([
  ['stores', 14_566],
  ['deployed', 14_567],
  ['drills', 14_577],
]);

/**
 * Environment variable with the path of a synthesized assembly. `npm test` and `npm run prove` set it, so that suites
 * with the same settings share the assembly. If a suite runs alone, its local AWS synthesizes the assembly itself.
 */
export const ASSEMBLY = 'PAYONCE_TEST_ASSEMBLY';

/** Environment variable with the authority of the deployed stacks. @default dynamodb */
const AUTHORITY = 'PAYONCE_TEST_AUTHORITY';

/**
 * Starts the shared services of a project: the synth server, for `stores` an emulator, for `deployed` and `drills` a
 * local AWS, and for `stores`, `drills` and `contract` a process that starts PostgreSQL for the first test that needs
 * it.
 */
export default async function globalSetup(
  { shard }: { readonly shard?: { readonly shardIndex: number } },
  { displayName }: { readonly displayName?: { readonly name: string } },
): Promise<void> {
  // Programs that run several suites set the slice for all of them.
  if (process.env[SLICE] === undefined) {
    process.env[SLICE] = String(await sliceOfTree());
    console.error(`Slice ${process.env[SLICE]} (set ${SLICE} to run another slice)`);
  }
  openRunFolder();
  const project = displayName?.name ?? '';
  const first = TEST_PORTS.get(project);
  const isBare = project === 'stores';
  // If an assembly exists, the store tests need no synth server: they read the tables from its files.
  if (!isBare || process.env[ASSEMBLY] === undefined) process.env[SYNTH_URL] = await startForRun('synth-server.ts');
  if (project === 'contract') process.env[POSTGRES_URL] = await startForRun('postgres-server.ts');
  if (first === undefined) return;
  if (project !== 'deployed') process.env[POSTGRES_URL] = await startForRun('postgres-server.ts');
  await startAws(first + (shard?.shardIndex ?? 1) - 1, isBare ? startBareAws : startDeployed).catch(withoutStack);
}

/** Jest would print the stack trace, and the message is sufficient. */
function withoutStack(error: unknown): never {
  if (error instanceof StartFailure) error.stack = error.message;
  throw error;
}

/** The server ends with the run. */
async function startForRun(file: Parameters<typeof startServer>[0]): Promise<string> {
  const { server, url } = await startServer(file);
  globalThis.runningServers = [...(globalThis.runningServers ?? []), server];
  return url;
}

type StartAws = (options: {
  readonly directory: string;
  readonly port: number;
  readonly assembly: string | undefined;
}) => Promise<{ readonly aws: object; readonly emulator: Emulator }>;

const startDeployed: StartAws = ({ directory, port, assembly }) =>
  startLocalAws({
    directory,
    port,
    persist: false,
    authority: process.env[AUTHORITY] === 'postgres' ? 'postgres' : 'dynamodb',
    ...(assembly === undefined ? {} : { app: { command: assembly, context: {} } }),
    report: (step, detail) => {
      if (step !== '') process.stderr.write(`${step}${detail === undefined ? '' : `: ${detail}`}\n`);
    },
  });

/** The AWS ends with this process, even if the process is killed. */
async function startAws(port: number, start: StartAws): Promise<void> {
  if (globalThis.runningEmulator !== undefined)
    throw new StartFailure('A run can test only one of stores, deployed and drills: choose it by --selectProjects.');
  const directory = mkdtempSync(join(tmpdir(), 'payonce-test-'));
  const begunMs = Date.now();
  const { aws, emulator } = await start({ directory, port, assembly: process.env[ASSEMBLY] });
  globalThis.runningEmulator = emulator;
  const file = join(directory, 'local.json');
  writeFileSync(file, JSON.stringify(aws), { mode: 0o600 });
  process.env['PAYONCE_TEST_LOCAL_JSON'] = file;
  process.stderr.write(`Ready after ${Math.round((Date.now() - begunMs) / 1000)} s\n`);
}
