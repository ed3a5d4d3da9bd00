import type { ProcessorDescriptor } from '../../../lambdas/processors/descriptor.ts';
import { sandbox } from '../../../lambdas/processors/sandbox/descriptor.ts';
import { readSandboxEvent } from '../../../lambdas/processors/sandbox/sandbox-event.ts';

const LAG_MS = 60_000;

/** A further processor with the sandbox's API, whose look-ups lag. */
const second: ProcessorDescriptor = {
  ...sandbox,
  name: 'second',
  settings: { url: { context: 'secondUrl', variable: 'SECOND_URL', form: 'address' } },
  abilities: { ...sandbox.abilities, lookup: { kind: 'eventual', maxLagMs: LAG_MS } },
  connect: async (configured) => {
    const { client, books } = await sandbox.connect(configured);
    const named = { name: 'second', account: 'second' };
    return { client: { ...client, ...named, abilities: second.abilities }, books: { ...books, ...named } };
  },
  eventReader: async (mode) => (body) => readSandboxEvent({ processorName: 'second', mode }, body),
};

export const REGISTRY: readonly ProcessorDescriptor[] = [sandbox, second];

export const PROCESSOR_ABILITIES = { sandbox: sandbox.abilities, second: second.abilities } as const;
