import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App } from 'aws-cdk-lib';

/**
 * Builds an app for the test of one construct. The app contains no function code, but contains the sandbox unless the
 * context disables it. The output directory is removed after the test run.
 */
export function testApp(context: Record<string, unknown> = {}): App {
  const outdir = mkdtempSync(join(tmpdir(), 'payonce-app-'));
  atEnd(() => rmSync(outdir, { recursive: true, force: true }));
  return new App({ outdir, context: { 'aws:cdk:bundling-stacks': [], 'payonce:sandbox': 'true', ...context } });
}
