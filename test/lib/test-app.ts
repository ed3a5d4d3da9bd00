import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from '@jest/globals';
import { App } from 'aws-cdk-lib';

// Without the rules for templates, whose engine each suite would load anew. `npm run synth` applies them; a plugin that a test adds is applied here.
process.env['CDK_VALIDATION'] = 'false';

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
