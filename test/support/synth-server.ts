/**
 * Synthesizes the stacks once for each requested context, and keeps the templates for the complete run. Runs as a
 * separate process, so that Node loads the CDK once instead of Jest loading it for every suite. Ends with the process
 * that started it.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Templates } from './synth-requests.ts';

// Disables the template rules, which take half of a synth. `npm run synth` applies them.
process.env['CDK_VALIDATION'] = 'false';

const made = new Map<string, Promise<Templates>>();

async function synthesize(context: Record<string, unknown>): Promise<Templates> {
  // The first request loads these modules, so that a run without template tests does not wait for them.
  const { StackName, stackNameOf } = await import('../../lambdas/kernel/contract/api.ts');
  const { flagsOf, synthesizedStacks } = await import('../../lib/synthesized.ts');
  const stacks = synthesizedStacks(context, flagsOf());
  return Object.fromEntries(
    (Object.keys(StackName) as (keyof typeof StackName)[]).flatMap((name) => {
      const template = stacks.get(stackNameOf(name, context['payonce:environment'] as string | undefined));
      return template === undefined ? [] : [[name, { ...template }]];
    }),
  );
}

const server = createServer((request, response) => {
  // Without this header, a keep-alive connection would be closed as idle while a synth blocks this process.
  response.setHeader('connection', 'close');
  void (async () => {
    const asked = JSON.parse(await text(request)) as Record<string, unknown>;
    const context: Record<string, unknown> = { 'payonce:sandbox': 'true', ...asked };
    // Sorted, so that requests with the same settings in another order share one synth.
    const settings = Object.keys(context).toSorted();
    const key = JSON.stringify(settings.map((name) => [name, context[name]]));
    const templates = made.get(key) ?? synthesize(context);
    made.set(key, templates);
    response.end(JSON.stringify(await templates));
  })().catch((error: unknown) => {
    response.statusCode = 500;
    response.end(error instanceof Error ? error.message : String(error));
  });
});
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.once('disconnect', () => process.exit());
