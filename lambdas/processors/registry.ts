import type { ProcessorDescriptor } from './descriptor.ts';
import { sandbox } from './sandbox/descriptor.ts';
import { stripe } from './stripe/descriptor.ts';

/**
 * The processors that a deployment may call. The first is the default: it gets the payments that no routing rule matches, so
 * every deployment calls it. A deployment calls another one if it has settings for it.
 */
export const PROCESSORS: readonly ProcessorDescriptor[] = [sandbox, stripe];
