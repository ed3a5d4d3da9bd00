import { rmSync } from 'node:fs';
import { dirname } from 'node:path';

export default async function globalTeardown(): Promise<void> {
  await globalThis.runningLocalAws?.emulator.stop();
  const file = process.env['PAYONCE_TEST_LOCAL_JSON'];
  if (file !== undefined) rmSync(dirname(file), { recursive: true, force: true });
}
