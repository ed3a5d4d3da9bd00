import { PROCESSORS } from '../../lambdas/processors/registry.ts';
import type { SignatureScheme } from '../../lambdas/processors/signatures/signature.ts';
import { signatureScheme } from '../../lambdas/processors/signatures/verify-callback.ts';

/** All signature schemes for callbacks. `test/processors/registry.test.ts` checks that the list is complete. */
export const SIGNATURE_SCHEMES = ['sandbox', 'stripe', 'standard-webhooks'] as const;
export type SignatureSchemeName = (typeof SIGNATURE_SCHEMES)[number];

const load = (name: SignatureSchemeName): Promise<SignatureScheme> => signatureScheme(name, PROCESSORS);

export const SCHEMES: Readonly<Record<SignatureSchemeName, SignatureScheme>> = {
  sandbox: await load('sandbox'),
  stripe: await load('stripe'),
  'standard-webhooks': await load('standard-webhooks'),
};
