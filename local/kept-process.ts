import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runningProcesses, signalProcess } from './processes.ts';

const POLL_MS = 100;
/** A little longer than the keeper itself grants. Milliseconds. */
const STOPPED_WITHIN_MS = 25_000;
const KEEPER = join(import.meta.dirname, 'keeper.ts');

interface KeptCommand {
  /** The program and its arguments. */
  readonly command: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  readonly directory: string;
  /** Standard output and standard error. */
  readonly output: 'pipe' | number;
}

/** Starts a command under a keeper: it ends with this process, however this process ends. */
export function startKept({ command, environment, directory, output }: KeptCommand): ChildProcess {
  const stdio: StdioOptions = ['pipe', output, output];
  const keeper = spawn(process.execPath, [KEEPER, directory, ...command], {
    cwd: directory,
    // A group of its own: ended as one, and out of reach of the terminal's Ctrl-C, which is ours to answer.
    detached: true,
    stdio,
    env: environment,
  });
  // It may have ended before it reads "detach"; that it has is seen elsewhere.
  keeper.stdin?.on('error', () => undefined);
  return keeper;
}

/**
 * Runs a command under a keeper to its end.
 *
 * @returns its exit code and what it printed, in lines
 */
export async function runKept(
  command: Omit<KeptCommand, 'output'>,
  report: (line: string) => void = () => undefined,
): Promise<{ readonly code: number; readonly lines: readonly string[] }> {
  const keeper = startKept({ ...command, output: 'pipe' });
  const lines: string[] = [];
  for (const stream of [keeper.stdout, keeper.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      for (const line of text.split('\n').filter(Boolean)) {
        lines.push(line);
        report(line);
      }
    });
  }
  const code = await new Promise<number | null>((resolve, reject) => {
    keeper.on('error', reject);
    keeper.on('close', resolve);
  });
  return { code: code ?? 1, lines };
}

/** Whether a keeper, or anything that it kept, is there. A number alone may have been given to somebody else since. */
export function isKept(keeperPid: number): boolean {
  return runningProcesses().some(
    ({ group, commandLine }) => group === keeperPid && /keeper\.ts|-m ministack|ministack-lambda/.test(commandLine),
  );
}

/** Ends a keeper, and waits until it is gone with everything that it kept. */
export async function stopKept(keeperPid: number): Promise<void> {
  if (!isKept(keeperPid)) return;
  signalProcess(keeperPid, 'SIGTERM');
  const untilMs = Date.now() + STOPPED_WITHIN_MS;
  // Without its keeper (killed outright) nobody else ends the group.
  while (isKept(keeperPid) && isAlive(keeperPid) && Date.now() < untilMs) await sleep(POLL_MS);
  if (isKept(keeperPid)) signalProcess(-keeperPid, 'SIGKILL');
}

function isAlive(pid: number): boolean {
  return runningProcesses().some((found) => found.pid === pid);
}
