import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundle } from '../lib/lambda-code.ts';
import { startSize } from '../test/support/start-size.ts';

const FUNCTIONS = ['payments', 'api-documents', 'sandbox-processor'];

/**
 * Bundles functions as for a deployment, and returns the size of the code that each reads at its start, in kilobytes of
 * 1,000 bytes, by the function's folder.
 */
export function measureWeight(): ReadonlyMap<string, number> {
  const directory = mkdtempSync(join(tmpdir(), 'payonce-weight-'));
  try {
    bundle(directory);
    return new Map(FUNCTIONS.map((name) => [name, startSize(join(directory, name)) / 1000]));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
