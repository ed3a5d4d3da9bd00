import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundle } from '../lib/lambda-code.ts';
import { paymentsEnvironment } from '../test/support/payments-environment.ts';
import { startOf, startSize } from '../test/support/start-size.ts';
import { bytesByOwner, type Owner } from './profile.ts';

const PAYMENTS = 'payments';
const OTHERS = ['api-documents', 'sandbox-processor'];

export interface Weight {
  /** Kilobytes are 1,000 bytes. Only code that a function reads at its start counts, keyed by the function's folder. */
  readonly kilobytes: ReadonlyMap<string, number>;
  readonly files: number;
  readonly owners: Readonly<Record<Owner, number>>;
}

/** The payments function uses the sandbox processor. */
export function measureWeight(): Weight {
  const directory = mkdtempSync(join(tmpdir(), 'payonce-weight-'));
  try {
    bundle(directory);
    const folder = join(directory, PAYMENTS);
    const { files } = startOf(folder, paymentsEnvironment('http://127.0.0.1:1'));
    const bytes = files.reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);
    const others = OTHERS.map((name) => [name, startSize(join(directory, name)) / 1000] as const);
    return {
      kilobytes: new Map([[PAYMENTS, bytes / 1000], ...others]),
      files: files.length,
      owners: bytesByOwner(folder, files),
    };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
