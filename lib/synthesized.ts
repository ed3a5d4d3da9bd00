import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import type { StackTemplate } from './cost/bill.ts';
import { buildStacks } from './stacks.ts';

/**
 * The templates of the stacks that this context selects, by their names, without their code. Nothing is left on the disk.
 *
 * @param context as in `cdk deploy -c`, besides that of cdk.json
 * @throws Error for an invalid setting
 */
export function synthesizedStacks(context: Readonly<Record<string, unknown>>): ReadonlyMap<string, StackTemplate> {
  const { context: flags } = JSON.parse(readFileSync(new URL('../cdk.json', import.meta.url), 'utf8')) as {
    context: Record<string, unknown>;
  };
  const outdir = mkdtempSync(join(tmpdir(), 'payonce-synth-'));
  try {
    const app = new App({ outdir, context: { ...flags, 'aws:cdk:bundling-stacks': [], ...context } });
    buildStacks(app);
    return new Map(app.synth().stacks.map(({ stackName, template }) => [stackName, template as StackTemplate]));
  } finally {
    rmSync(outdir, { recursive: true, force: true });
  }
}
