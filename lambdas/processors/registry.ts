import type { ProcessorDescriptor } from './descriptor.ts';
import { external, sandbox } from './sandbox/descriptor.ts';
import { stripe } from './stripe/descriptor.ts';

/** The processors that a deployment may use. It uses each processor in the modes for which it has settings. */
export const PROCESSORS: readonly ProcessorDescriptor[] = [sandbox, external, stripe];
