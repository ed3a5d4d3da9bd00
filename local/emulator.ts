import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CREDENTIALS, emulatorEnvironment } from './emulator-environment.ts';
import { StartFailure } from './failure.ts';

/** A cold Python on a busy machine takes some seconds; a minute means that it never will. Milliseconds. */
const READY_WITHIN_MS = 60_000;
const POLL_MS = 100;
const STOPPED_WITHIN_MS = 15_000;

export interface EmulatorOptions {
  readonly python: string;
  readonly port: number;
  /** Where it keeps its log and, when asked to, its state. */
  readonly directory: string;
  /** Whether its state outlives it. */
  readonly persist: boolean;
}

export interface Emulator {
  readonly endpoint: string;
  /** The process that keeps it and all its workers. */
  readonly keeperPid: number;
  readonly logFile: string;
  /** Lets it live on after this process. */
  detach(): void;
  stop(): Promise<void>;
}

/** @throws StartFailure when it does not come up */
export async function startEmulator(options: EmulatorOptions): Promise<Emulator> {
  const endpoint = `http://localhost:${options.port}`;
  const logFile = join(options.directory, 'emulator.log');
  const temporary = join(options.directory, 'tmp');
  mkdirSync(temporary, { recursive: true });
  // The workers' launcher is CommonJS: below this project it would else be taken for a module.
  writeFileSync(join(temporary, 'package.json'), '{"type":"commonjs"}\n');
  const keeper = spawn(
    process.execPath,
    [join(import.meta.dirname, 'keeper.ts'), logFile, options.python, '-m', 'ministack'],
    {
      cwd: options.directory,
      // A group of its own: ended as one.
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
      env: {
        ...emulatorEnvironment(endpoint),
        AWS_ENDPOINT_URL: undefined,
        AWS_ENDPOINT_URL_S3: undefined,
        AUTH: 'true',
        BIND_HOST: '127.0.0.1',
        GATEWAY_PORT: String(options.port),
        AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
        AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
        PERSIST_STATE: options.persist ? '1' : '0',
        STATE_DIR: join(options.directory, 'state'),
        TMPDIR: temporary,
        PYTHONUNBUFFERED: '1',
      },
    },
  );
  await ready(endpoint, keeper, logFile);
  return {
    endpoint,
    keeperPid: keeper.pid ?? 0,
    logFile,
    detach: () => {
      keeper.stdin?.write('detach\n');
      keeper.stdin?.end();
      keeper.unref();
    },
    stop: async () => {
      await stopKeeper(keeper.pid ?? 0);
    },
  };
}

async function ready(endpoint: string, keeper: ChildProcess, logFile: string): Promise<void> {
  const untilMs = Date.now() + READY_WITHIN_MS;
  while (Date.now() < untilMs) {
    if (keeper.exitCode !== null || keeper.signalCode !== null) break;
    if (await isHealthy(endpoint)) return;
    await sleep(POLL_MS);
  }
  await stopKeeper(keeper.pid ?? 0);
  throw new StartFailure(`The local AWS did not come up; its last words are: ${lastLine(logFile)} (see ${logFile})`);
}

export async function isHealthy(endpoint: string): Promise<boolean> {
  try {
    const answer = await fetch(`${endpoint}/_ministack/health`, { signal: AbortSignal.timeout(2_000) });
    await answer.body?.cancel();
    return answer.ok;
  } catch {
    return false;
  }
}

/** Ends a keeper and waits until it is gone, with everything that it kept. */
export async function stopKeeper(pid: number): Promise<void> {
  if (!isAlive(pid)) return;
  signal(pid, 'SIGTERM');
  const untilMs = Date.now() + STOPPED_WITHIN_MS;
  while (isAlive(pid) && Date.now() < untilMs) await sleep(POLL_MS);
  if (isAlive(pid)) signal(-pid, 'SIGKILL');
}

/** Whether a process is there that is a keeper: a number alone may have been given to somebody else since. */
export function isAlive(pid: number): boolean {
  if (pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return isKeeper(pid);
}

function isKeeper(pid: number): boolean {
  if (process.platform !== 'linux') return true;
  try {
    const state = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const commandLine = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    return commandLine.includes('keeper.ts') && !/\) Z /.test(state);
  } catch {
    return false;
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // Gone already.
  }
}

function lastLine(logFile: string): string {
  try {
    return readFileSync(logFile, 'utf8').trim().split('\n').at(-1) ?? '';
  } catch {
    return 'none';
  }
}
