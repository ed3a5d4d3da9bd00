import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App } from 'aws-cdk-lib';

/** An app with the sandbox, unless the context says otherwise, and without its functions' code, for a test of one construct. Its folder goes with the room. */
export function testApp(context: Record<string, unknown> = {}): App {
  const outdir = mkdtempSync(join(tmpdir(), 'payonce-app-'));
  atEnd(() => rmSync(outdir, { recursive: true, force: true }));
  return new App({ outdir, context: { 'aws:cdk:bundling-stacks': [], 'payonce:sandbox': 'true', ...context } });
}
