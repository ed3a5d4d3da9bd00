import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { closeRunFolder } from './run-folder.ts';

export default async function globalTeardown(): Promise<void> {
  for (const server of globalThis.runningServers ?? []) {
    if (server.exitCode !== null) continue;
    const gone = once(server, 'exit');
    server.disconnect();
    await gone;
  }
  await globalThis.runningEmulator?.stop();
  const file = process.env['PAYONCE_TEST_LOCAL_JSON'];
  if (file !== undefined) rmSync(dirname(file), { recursive: true, force: true });
  await closeRunFolder();
}
