import type { Mode } from '../../../lambdas/kernel/ids.ts';
import type { Payment } from '../../../lambdas/payments/domain/payment.ts';
import { describeProcessor, type ProcessorDescriptor } from '../../../lambdas/processors/descriptor.ts';
import { sandboxContract } from '../../../lambdas/processors/sandbox/contract.ts';
import { abilitiesWithout } from '../../../lambdas/processors/sandbox/sandbox-abilities.ts';
import { createSandboxBooks } from '../../../lambdas/processors/sandbox/sandbox-books.ts';
import { createSandboxClient } from '../../../lambdas/processors/sandbox/sandbox-client.ts';
import { readSandboxEvent } from '../../../lambdas/processors/sandbox/sandbox-event.ts';
import { sandboxSignature } from '../../../lambdas/processors/sandbox/sandbox-signature.ts';

export const NOT_FOUND = JSON.stringify({ error: { code: 'not_found', message: 'There is no such charge.' } });
export const UNAUTHORIZED = JSON.stringify({ error: { code: 'unauthorized', message: 'The secret is wrong.' } });
/**
 * Path of a read of one charge. During the problem `charges of …`, such reads get a 404, while searches still find the
 * charge.
 */
export const ONE_CHARGE = /\/charges\/[^/]+$/;

const LAG_MS = 60_000;

/**
 * Descriptor without dynamic imports. The sandbox's own descriptor would import its code at each cold start of a
 * function, tens of times in a history.
 */
const sandbox = describeProcessor(sandboxContract, {
  client: async () => createSandboxClient,
  books: async () => createSandboxBooks,
  signature: async () => sandboxSignature,
  readEvent: async () => readSandboxEvent,
});

/** Its look-ups lag. It also accepts live payments, in separate books. */
const second: ProcessorDescriptor = {
  ...sandbox,
  name: 'second',
  modes: ['test', 'live'],
  secrets: { accessKey: { ...sandboxContract.secrets.accessKey, variable: 'SECOND_ACCESS_SECRET_ID' } },
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

/** @param list as in the setting `processorWithout` */
export function registryWithout(list: string): readonly ProcessorDescriptor[] {
  return REGISTRY.map((processor): ProcessorDescriptor => {
    const abilities = { ...abilitiesWithout(list), lookup: processor.abilities.lookup };
    return {
      ...processor,
      abilities,
      connect: async (configured) => {
        const { client, books } = await processor.connect(configured);
        return { client: { ...client, abilities }, books };
      },
    };
  });
}

/**
 * Minimum age of a hold that the job `expire-authorizations` processes: the shortest validity of a hold plus a margin,
 * in milliseconds.
 */
export const HOLD_DUE_MS = Math.min(...REGISTRY.map(({ abilities }) => abilities.holdValidityMs)) + 2 * 3_600_000;

export const BOOKS = {
  sandbox: { processor: sandbox, mode: 'test' },
  second: { processor: second, mode: 'test' },
  live: { processor: second, mode: 'live' },
} as const satisfies Readonly<Record<string, { readonly processor: ProcessorDescriptor; readonly mode: Mode }>>;

/** Whether a trouble affects a key of `BOOKS`. @param of `Trouble.of` */
export function isAbout(of: string, books: string): boolean {
  const mode = BOOKS[books as keyof typeof BOOKS]?.mode;
  return of === books || of.endsWith(` of ${books}`) || of === `secret of ${mode}` || of.startsWith('all');
}

export function booksOf({ processorName, mode }: Pick<Payment, 'processorName' | 'mode'>): string {
  return mode === 'live' ? 'live' : processorName;
}
