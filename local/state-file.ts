import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import type { Authority } from '../lambdas/authority/contract.ts';
import { clockOffsetMs } from './clock.ts';
import { makeDirectory } from './directories.ts';
import { isHealthy, STATE_DIRECTORY } from './emulator.ts';
import { StartFailure } from './failure.ts';
import { isKeeperRunning } from './kept-process.ts';
import type { LocalAws, LocalKeys } from './local-aws.ts';
import { POSTGRES_DIRECTORY } from './postgres-files.ts';
import { type RunningProcess, runningProcesses } from './processes.ts';

/** Allows for a busy machine. */
const ANSWERS_WITHIN_MS = 15_000;
const POLL_MS = 250;

const keys = z.object({ tenantId: z.string(), apiKey: z.string(), operatorKey: z.string() });
const localAws = keys.extend({
  awsEndpoint: z.url(),
  accessKeyId: z.string(),
  region: z.string(),
  apiUrl: z.url(),
  sandboxUrl: z.url(),
  sandboxSecret: z.string(),
  tables: z.object({ idempotency: z.string(), ledger: z.string(), registry: z.string(), views: z.string() }),
  paymentsFunction: z.string(),
  callbacksFunction: z.string(),
  paymentJobsFunction: z.string(),
  ordersFunction: z.string(),
  keeperPid: z.int(),
  postgres: z.object({ url: z.string(), keeperPid: z.int() }).optional(),
  lab: z.object({ url: z.url(), keeperPid: z.int() }).optional(),
});

/** `local.json` exists while the local AWS is running. `keys.json` passes the keys to the next run. */
export class StateFile {
  readonly #local: string;
  readonly #keys: string;
  readonly #claim: string;
  readonly #directory: string;
  /** Directories with the tables and stacks of earlier runs. */
  readonly #saved: readonly string[];

  constructor(directory: string) {
    this.#directory = directory;
    this.#saved = [STATE_DIRECTORY, POSTGRES_DIRECTORY].map((name) => join(directory, name));
    this.#local = join(directory, 'local.json');
    this.#keys = join(directory, 'keys.json');
    this.#claim = join(directory, 'starting.pid');
  }

  write(aws: LocalAws): void {
    const { tenantId, apiKey, operatorKey } = aws;
    writePrivately(this.#local, aws);
    writePrivately(this.#keys, { tenantId, apiKey, operatorKey });
  }

  /**
   * Two emulators would corrupt the shared state.
   *
   * @throws StartFailure when another process is starting
   */
  claim(): void {
    makeDirectory(this.#directory);
    const holder = existsSync(this.#claim) ? Number(readFileSync(this.#claim, 'utf8')) : 0;
    const isStarting = ({ pid, commandLine }: RunningProcess): boolean =>
      pid === holder && commandLine.includes('local/start');
    if (holder !== process.pid && runningProcesses().some(isStarting)) {
      throw new StartFailure(`Process ${holder} is starting Payonce. Wait until it has finished.`);
    }
    // A killed process may have left its claim file.
    rmSync(this.#claim, { force: true });
    try {
      writeFileSync(this.#claim, String(process.pid), { flag: 'wx' });
    } catch {
      throw new StartFailure('Another process is starting Payonce. Wait until it has finished.');
    }
  }

  release(): void {
    rmSync(this.#claim, { force: true });
  }

  /** The content may be outdated; undefined when the file is absent or invalid. */
  read(): LocalAws | undefined {
    return readJson(this.#local, localAws);
  }

  /**
   * Undefined if the processes have ended or the local AWS does not respond in time (`isKept` distinguishes the two
   * cases).
   */
  async running(withinMs = ANSWERS_WITHIN_MS): Promise<LocalAws | undefined> {
    const untilMs = Date.now() + withinMs;
    for (;;) {
      const aws = this.read();
      if (aws === undefined || !isKeeperRunning(aws.keeperPid)) return undefined;
      if (await isHealthy(aws.awsEndpoint)) return aws;
      if (Date.now() >= untilMs) return undefined;
      await sleep(POLL_MS);
    }
  }

  /** Also true if the processes do not respond. */
  isKept(): boolean {
    return isKeeperRunning(this.read()?.keeperPid ?? 0);
  }

  keys(): LocalKeys | undefined {
    return readJson(this.#keys, keys);
  }

  /** A restart keeps this offset. */
  clockOffsetMs(): number {
    return clockOffsetMs(join(this.#directory, STATE_DIRECTORY));
  }

  remove(): void {
    rmSync(this.#local, { force: true });
  }

  /** Undefined if there is no earlier run. */
  earlierAuthority(): Authority | undefined {
    if (!existsSync(join(this.#directory, STATE_DIRECTORY))) return undefined;
    return existsSync(join(this.#directory, POSTGRES_DIRECTORY)) ? 'postgres' : 'dynamodb';
  }

  /** Call it only while nothing is running. */
  removeEarlierState(): void {
    for (const path of [...this.#saved, this.#keys, this.#local]) {
      rmSync(path, { recursive: true, force: true });
    }
  }
}

/** The file contains keys. */
function writePrivately(path: string, value: unknown): void {
  rmSync(path, { force: true });
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
}

function readJson<Value>(path: string, schema: z.ZodType<Value>): Value | undefined {
  if (!existsSync(path)) return undefined;
  try {
    return schema.safeParse(JSON.parse(readFileSync(path, 'utf8'))).data;
  } catch {
    return undefined;
  }
}
