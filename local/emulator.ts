import { randomBytes } from 'node:crypto';
import { closeSync, linkSync, openSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CLOCK_OFFSET } from '../lambdas/kernel/platform/platform.ts';
import { clockOffsetMs } from './clock.ts';
import { makeDirectory } from './directories.ts';
import { credentialVariables, type EmulatorAccess, isolatedEnvironment } from './emulator-environment.ts';
import { StartFailure } from './failure.ts';
import { freePort } from './free-port.ts';
import { detachKept, startUnderKeeper, stopKept } from './kept-process.ts';

/** A cold start on a busy machine takes several seconds. */
const READY_WITHIN_MS = 60_000;
const POLL_MS = 100;
const LAUNCHER = join(import.meta.dirname, 'emulator.py');
/** Every function process preloads this Node module. */
const FUNCTION_ADDRESSES = join(import.meta.dirname, 'function-addresses.cjs');
/** The state in this subdirectory is kept after a stop. */
export const STATE_DIRECTORY = 'state';

/** Another process can take a port after it was found to be free. */
const MAX_PORTS = 5;

interface EmulatorOptions {
  readonly python: string;
  /** The preferred port; another port is used if this one is taken. */
  readonly port: number;
  readonly directory: string;
  readonly state: string;
  readonly persist: boolean;
}

export interface Emulator {
  readonly access: EmulatorAccess;
  /** The keeper runs the emulator and its workers. */
  readonly keeperPid: number;
  readonly ended: AbortSignal;
  /** Lets the emulator outlive this process. */
  detach(): void;
  /** @throws StartFailure when some of the state could not be saved */
  save(): Promise<void>;
  stop(): Promise<void>;
}

export async function startEmulator(options: EmulatorOptions): Promise<Emulator> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await startAt({ ...options, port: await freePort(options.port) });
    } catch (error) {
      if (!(error instanceof PortTaken) || tried === MAX_PORTS) throw error;
    }
  }
}

class PortTaken extends StartFailure {}

/** @throws PortTaken when another process has taken the port, StartFailure for any other reason */
async function startAt(options: EmulatorOptions): Promise<Emulator> {
  const { directory, port } = options;
  const logFile = join(directory, 'emulator.log');
  const temporary = join(directory, 'tmp');
  // Removes the files of a killed run, including the functions' code.
  rmSync(temporary, { recursive: true, force: true });
  makeDirectory(temporary);
  // The launcher of the workers is CommonJS. Without this file, this project's package.json would make it an ES module.
  writeFileSync(join(temporary, 'package.json'), '{"type":"commonjs"}\n');
  keepNode(temporary);
  const log = openSync(logFile, 'w', 0o600);
  const accessKeyId = `PAYONCE${randomBytes(16).toString('hex').toUpperCase()}`;
  const keeper = startUnderKeeper({
    command: [options.python, LAUNCHER],
    environment: environmentOf(options, temporary, accessKeyId),
    directory,
    output: log,
  });
  closeSync(log);
  const ended = new AbortController();
  keeper.once('exit', () => ended.abort());
  const keeperPid = keeper.pid ?? 0;
  const endpoint = `http://127.0.0.1:${port}`;
  if (!(await isReady(endpoint, logFile, ended.signal))) {
    await stopKept(keeperPid);
    const isTaken = /already in use/i.test(readFileSync(logFile, 'utf8'));
    throw new (isTaken ? PortTaken : StartFailure)(
      `The local AWS did not start. Its last log line: ${lastLine(logFile)} (see ${logFile})`,
    );
  }
  const access = { awsEndpoint: endpoint, accessKeyId };
  return {
    access,
    keeperPid,
    ended: ended.signal,
    detach: () => detachKept(keeper),
    save: () => save(access),
    stop: () => stopKept(keeperPid),
  };
}

/** "npm ci" may remove the project's Node while the stack runs. */
function keepNode(directory: string): void {
  const node = join(directory, 'node');
  try {
    linkSync(process.execPath, node);
  } catch {
    // Linking failed: the directory is on another file system, or Node belongs to the system.
    symlinkSync(process.execPath, node);
  }
}

function environmentOf(
  { port, persist, state }: EmulatorOptions,
  temporary: string,
  accessKeyId: string,
): NodeJS.ProcessEnv {
  const environment = isolatedEnvironment();
  return {
    ...environment,
    ...credentialVariables(accessKeyId),
    PATH: `${temporary}${delimiter}${environment['PATH']}`,
    AUTH: 'true',
    BIND_HOST: '127.0.0.1',
    GATEWAY_PORT: String(port),
    PERSIST_STATE: '1',
    KEEP_STATE: persist ? '1' : '0',
    STATE_DIR: state,
    [CLOCK_OFFSET]: String(clockOffsetMs(state)),
    TMPDIR: temporary,
    // The functions inherit this variable.
    NODE_OPTIONS: `--require ${JSON.stringify(FUNCTION_ADDRESSES)}`,
    PYTHONUNBUFFERED: '1',
    // Keeps compiled files out of the source tree.
    PYTHONDONTWRITEBYTECODE: '1',
  };
}

async function isReady(endpoint: string, logFile: string, ended: AbortSignal): Promise<boolean> {
  const untilMs = Date.now() + READY_WITHIN_MS;
  while (Date.now() < untilMs && !ended.aborted) {
    // If another emulator took the port, that emulator would pass the health check.
    if (readFileSync(logFile, 'utf8').includes(`Running on ${endpoint}`) && (await isHealthy(endpoint))) return true;
    await sleep(POLL_MS);
  }
  return false;
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

async function save({ awsEndpoint, accessKeyId }: EmulatorAccess): Promise<void> {
  const headers = { authorization: `AWS4-HMAC-SHA256 Credential=${accessKeyId}/` };
  const answer = await fetch(`${awsEndpoint}/_payonce/save`, { method: 'POST', headers });
  const detail = await answer.text();
  if (!answer.ok) throw new StartFailure(`The local AWS could not save its state: ${detail}`);
}

function lastLine(logFile: string): string {
  return readFileSync(logFile, 'utf8').trim().split('\n').at(-1) || 'none';
}
