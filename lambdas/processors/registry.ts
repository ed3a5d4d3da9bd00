import type { ProcessorDescriptor } from './descriptor.ts';
import { sandbox } from './sandbox/descriptor.ts';
import { stripe } from './stripe/descriptor.ts';

/**
 * The processors that a deployment may call. The first takes the payments that no rule sends elsewhere, so every deployment
 * calls it; another one is called where its settings are given.
 */
export const PROCESSORS: readonly ProcessorDescriptor[] = [sandbox, stripe];
