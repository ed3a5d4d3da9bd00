import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { StackName } from '../../lambdas/kernel/contract/api.ts';
import { buildStacks } from '../../lib/stacks.ts';

const { context: flags } = JSON.parse(readFileSync(new URL('../../cdk.json', import.meta.url), 'utf8')) as {
  context: Record<string, unknown>;
};

/** The stacks as they would be deployed with these context values, without their code. */
export function synthesize(
  context: Record<string, unknown> = {},
): Record<keyof typeof StackName, Template | undefined> {
  const outdir = mkdtempSync(join(tmpdir(), 'payonce-synth-'));
  try {
    const app = new App({ outdir, context: { ...flags, 'aws:cdk:bundling-stacks': [], ...context } });
    buildStacks(app);
    const assembly = app.synth();
    const templateOf = (name: string): Template | undefined => {
      const stack = assembly.stacks.find(({ stackName }) => stackName === name);
      return stack === undefined ? undefined : Template.fromJSON(stack.template as Record<string, unknown>);
    };
    return {
      data: templateOf(StackName.data),
      service: templateOf(StackName.service),
      sandbox: templateOf(StackName.sandbox),
    };
  } finally {
    rmSync(outdir, { recursive: true, force: true });
  }
}
