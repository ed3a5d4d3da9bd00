import type { StackName } from '../../lambdas/kernel/contract/api.ts';

/** Environment variable with the URL of the synth server, set by the run's global setup. */
export const SYNTH_URL = 'PAYONCE_TEST_SYNTH_URL';

export type Templates = Partial<Record<keyof typeof StackName, Record<string, unknown>>>;

export async function requestTemplates(context: Record<string, unknown>): Promise<Templates> {
  const url = process.env[SYNTH_URL];
  if (url === undefined)
    throw new Error('the synth server is not available: run this test through Jest, whose global setup starts it');
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(context) });
  if (!response.ok) throw new Error(`the synth failed: ${await response.text()}`);
  return (await response.json()) as Templates;
}
