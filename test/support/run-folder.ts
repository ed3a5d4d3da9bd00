import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PROJECT } from '../../local/directories.ts';
import { runningProcesses } from '../../local/processes.ts';

/** Environment variables with the system's temporary folder: the first for Unix, the others for Windows. */
const VARIABLES = ['TMPDIR', 'TMP', 'TEMP'] as const;

/**
 * Time in milliseconds after which a process that was asked to end is reported as left behind. Any process ends sooner,
 * even on a busy machine.
 */
const PROCESSES_GONE_WITHIN_MS = 600_000;
const POLL_MS = 200;

/**
 * Temporary resources of one Jest run. Each project of the run opens the folder. The last project that closes the
 * folder checks for leftovers.
 */
interface RunFolder {
  readonly path: string;
  readonly bundlesBefore: readonly string[];
  open: number;
}

let run: RunFolder | undefined;

/**
 * Gives the run its own temporary folder, in its environment and in the environment of every process that it starts.
 */
export function openRunFolder(): void {
  run ??= { path: mkdtempSync(join(tmpdir(), 'payonce-run-')), bundlesBefore: bundles(), open: 0 };
  // PostgreSQL refuses to run as root. If the tests run as root, PostgreSQL runs as another user, who must reach its
  // data in this folder.
  chmodSync(run.path, 0o711);
  run.open += 1;
  for (const name of VARIABLES) process.env[name] = run.path;
}

/** @throws Error if the run left a file, a bundle or a process behind */
export async function closeRunFolder(): Promise<void> {
  if (run === undefined) return;
  run.open -= 1;
  if (run.open > 0) return;
  const { path, bundlesBefore } = run;
  run = undefined;
  const processes = await processesLeftIn(path);
  const files = readdirSync(path);
  rmSync(path, { recursive: true, force: true });
  const left = [
    ...processes.map((each) => `process ${each}`),
    ...files.map((each) => `temporary file ${each}`),
    ...bundles().flatMap((each) =>
      bundlesBefore.includes(each) || isOfRunning(each) || !bundles().includes(each) ? [] : [`bundle dist/${each}`],
    ),
  ];
  if (left.length > 0) throw new Error(`the run left behind: ${left.join(', ')}`);
}

function bundles(): readonly string[] {
  const dist = join(PROJECT, 'dist');
  return existsSync(dist) ? readdirSync(dist) : [];
}

/** If the process that created the bundle is still running, the bundle may belong to another active run. */
function isOfRunning(bundle: string): boolean {
  const pid = Number(/-(\d+)$/.exec(bundle)?.[1]);
  return runningProcesses().some((each) => each.pid === pid);
}

async function processesLeftIn(path: string): Promise<readonly string[]> {
  const find = (): readonly string[] =>
    runningProcesses().flatMap(({ pid, commandLine }) =>
      commandLine.includes(path) ? [`${pid} (${commandLine})`] : [],
    );
  const untilMs = Date.now() + PROCESSES_GONE_WITHIN_MS;
  while (find().length > 0 && Date.now() < untilMs) await sleep(POLL_MS);
  return find();
}
