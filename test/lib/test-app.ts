import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App } from 'aws-cdk-lib';

/**
 * Builds an app to test one construct. The app has no function code, and includes the sandbox unless the context
 * disables it. The test run removes the output directory.
 */
export function testApp(context: Record<string, unknown> = {}): App {
  const outdir = mkdtempSync(join(tmpdir(), 'payonce-app-'));
  atEnd(() => rmSync(outdir, { recursive: true, force: true }));
  return new App({ outdir, context: { 'aws:cdk:bundling-stacks': [], 'payonce:sandbox': 'true', ...context } });
}
