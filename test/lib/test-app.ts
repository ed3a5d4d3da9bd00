import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from '@jest/globals';
import { App } from 'aws-cdk-lib';

const outdirs: string[] = [];

afterAll(() => {
  for (const outdir of outdirs) rmSync(outdir, { recursive: true, force: true });
});

/** An app with the sandbox, unless the context says otherwise, and without its functions' code, for a test of one construct. Its folder goes with the suite. */
export function testApp(context: Record<string, unknown> = {}): App {
  const outdir = mkdtempSync(join(tmpdir(), 'payonce-app-'));
  outdirs.push(outdir);
  return new App({ outdir, context: { 'aws:cdk:bundling-stacks': [], 'payonce:sandbox': 'true', ...context } });
}
