import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { buildSync } from 'esbuild';
import { PROJECT } from '../../local/directories.ts';
import { emulatorEnvironment } from '../../local/emulator-environment.ts';
import { emulatedAws } from '../support/local-aws.ts';

const begun: ChildProcessByStdio<Writable, Readable, null>[] = [];

export interface MembershipSettings {
  readonly table: string;
  readonly secret: string;
  /** In the format of membership-process.ts. @default none */
  readonly pause?: string;
  /** @default 25 */
  readonly leaseSeconds?: number;
  /** With `simulated`, time advances only by lines that the test sends. @default the system clock */
  readonly clock?: 'simulated';
}

/** Starts the example of docs/guides/services.md in a separate process, on a free port. */
export async function startMembership({ table, secret, pause = '', leaseSeconds = 25, clock }: MembershipSettings) {
  const child = spawn(process.execPath, [bundle()], {
    cwd: PROJECT,
    stdio: ['pipe', 'pipe', 'inherit'],
    env: {
      TABLE: table,
      ...emulatorEnvironment(emulatedAws()),
      SECRET: secret,
      LEASE: String(leaseSeconds),
      PAUSE: pause,
      ...(clock === undefined ? {} : { CLOCK: clock }),
    },
  });
  begun.push(child);
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const untilOutput = async (words: RegExp): Promise<RegExpExecArray> => {
    for (;;) {
      const match = words.exec(said);
      if (match !== null) return match;
      await once(child.stdout, 'data');
    }
  };
  const [, port] = await untilOutput(/listening (\d+)\n/);
  return { child, untilOutput, url: `http://127.0.0.1:${port}`, said: () => said };
}

let bundled: string | undefined;

/** A single file starts three times as fast. */
function bundle(): string {
  if (bundled !== undefined) return bundled;
  bundled = join(mkdtempSync(join(tmpdir(), 'payonce-membership-')), 'process.mjs');
  buildSync({
    entryPoints: [join(PROJECT, 'test', 'services', 'membership-process.ts')],
    outfile: bundled,
    bundle: true,
    platform: 'node',
    format: 'esm',
    mainFields: ['module', 'main'],
    logLevel: 'warning',
  });
  return bundled;
}

/** Call it after all tests of a file. */
export function removeBundle(): void {
  if (bundled !== undefined) rmSync(dirname(bundled), { recursive: true });
}

/** Call it after each test. */
export function endMemberships(): void {
  for (const child of begun.splice(0)) child.kill('SIGKILL');
}
