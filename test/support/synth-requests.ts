import type { StackName } from '../../lambdas/kernel/contract/api.ts';

/** Where the run's global setup says that templates are to be had. */
export const SYNTH_URL = 'PAYONCE_TEST_SYNTH_URL';

/** The templates of the stacks that a context selects. */
export type Templates = Partial<Record<keyof typeof StackName, Record<string, unknown>>>;

/** Requests templates from the synth server of the run. */
export async function requestTemplates(context: Record<string, unknown>): Promise<Templates> {
  const url = process.env[SYNTH_URL];
  if (url === undefined) throw new Error('templates are made by the global setup of jest');
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(context) });
  if (!response.ok) throw new Error(`the synth failed: ${await response.text()}`);
  return (await response.json()) as Templates;
}
