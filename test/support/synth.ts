import { Template } from 'aws-cdk-lib/assertions';
import type { StackName } from '../../lambdas/kernel/contract/api.ts';
import { requestTemplates } from './synth-requests.ts';

type Synthesized = Record<keyof typeof StackName, Template | undefined>;

const made = new Map<string, Promise<Synthesized>>();

/**
 * Returns the templates that a deployment with these context values would use, but without the functions' code. Test
 * files that share a module registry (test/run/entries.ts) share the templates.
 */
export function synthesize(context: Record<string, unknown> = {}): Promise<Synthesized> {
  const key = JSON.stringify(context);
  const synthesized = made.get(key) ?? read(context);
  made.set(key, synthesized);
  return synthesized;
}

async function read(context: Record<string, unknown>): Promise<Synthesized> {
  const templates = await requestTemplates(context);
  const templateOf = (name: keyof typeof StackName): Template | undefined => {
    const template = templates[name];
    return template === undefined ? undefined : Template.fromJSON(template);
  };
  return {
    archive: templateOf('archive'),
    data: templateOf('data'),
    service: templateOf('service'),
    sandbox: templateOf('sandbox'),
  };
}
