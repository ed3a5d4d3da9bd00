import { describeProcessor } from '../descriptor.ts';
import { externalContract, sandboxContract } from './contract.ts';

const protocol = {
  client: async () => (await import('./sandbox-client.ts')).createSandboxClient,
  books: async () => (await import('./sandbox-client.ts')).createSandboxBooks,
  signature: async () => (await import('./sandbox-signature.ts')).sandboxSignature,
  readEvent: async () => (await import('./sandbox-event.ts')).readSandboxEvent,
};

export const sandbox = describeProcessor(sandboxContract, protocol);

export const external = describeProcessor(externalContract, protocol);
