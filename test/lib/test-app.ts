import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App } from 'aws-cdk-lib';

/**
 * The app contains no function code. It collects no metadata about its constructs, because this would take longer than
 * the test.
 */
export function testApp(context: Record<string, unknown> = {}): App {
  const outdir = mkdtempSync(join(tmpdir(), 'payonce-app-'));
  atEnd(() => rmSync(outdir, { recursive: true, force: true }));
  return new App({
    outdir,
    treeMetadata: false,
    stackTraces: false,
    analyticsReporting: false,
    context: { 'aws:cdk:bundling-stacks': [], 'payonce:sandbox': 'true', ...context },
  });
}
