import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunningLocalAws } from '../../local/local-aws.ts';
import { startLocalAws } from '../../local/local-aws.ts';

declare global {
  /** Handed from setup to teardown, which run in one process. */
  var runningLocalAws: RunningLocalAws | undefined;
}

/** One for each project, as they run at the same time; beside the port that people use, so that no run takes it from them. */
const TEST_PORTS = new Map([
  ['stores', 14_566],
  ['deployed', 14_567],
]);

/** One local AWS for all tests of the run, with the stacks on it. It ends with this process, however that ends. */
export default async function globalSetup(
  _run: unknown,
  { displayName }: { readonly displayName?: { readonly name: string } },
): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'payonce-test-'));
  const begunMs = Date.now();
  const running = await startLocalAws({
    directory,
    port: TEST_PORTS.get(displayName?.name ?? '') ?? 0,
    persist: false,
    report: (step, detail) => {
      if (step !== '') process.stderr.write(`${step}${detail === undefined ? '' : `: ${detail}`}\n`);
    },
  });
  globalThis.runningLocalAws = running;
  const file = join(directory, 'local.json');
  writeFileSync(file, JSON.stringify(running.aws), { mode: 0o600 });
  process.env['PAYONCE_TEST_LOCAL_JSON'] = file;
  process.stderr.write(`Ready after ${Math.round((Date.now() - begunMs) / 1000)} s\n`);
}
