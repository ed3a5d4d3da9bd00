import { Template } from 'aws-cdk-lib/assertions';
import type { StackName } from '../../lambdas/kernel/contract/api.ts';
import { SYNTH_URL } from './synth-url.ts';

/** The templates of the stacks that a context asks for. */
export type Templates = Partial<Record<keyof typeof StackName, Record<string, unknown>>>;

/** The stacks as they would be deployed with these context values and, unless they say otherwise, with the sandbox, without their code. Made once in a run, and shared. */
export async function synthesize(
  context: Record<string, unknown> = {},
): Promise<Record<keyof typeof StackName, Template | undefined>> {
  const url = process.env[SYNTH_URL];
  if (url === undefined) throw new Error('templates are made by the global setup of jest');
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(context) });
  if (!response.ok) throw new Error(`the synth failed: ${await response.text()}`);
  const templates = (await response.json()) as Templates;
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
