import type { ProcessorDescriptor } from './descriptor.ts';
import { external, sandbox } from './sandbox/descriptor.ts';
import { stripe } from './stripe/descriptor.ts';

/**
 * The processors that a deployment may use. A deployment uses each processor in the modes for which the deployment has
 * settings.
 */
export const PROCESSORS: readonly ProcessorDescriptor[] = [sandbox, external, stripe];
