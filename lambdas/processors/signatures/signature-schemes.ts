import type { SignatureSchemeName } from '../../kernel/contract/environment.ts';
import { sandboxSignature } from '../sandbox/sandbox-signature.ts';
import { stripeSignature } from '../stripe/stripe-signature.ts';
import type { SignatureScheme } from './signature.ts';
import { standardWebhooksSignature } from './standard-webhooks-signature.ts';

const SCHEMES: Readonly<Record<SignatureSchemeName, SignatureScheme>> = {
  sandbox: sandboxSignature,
  stripe: stripeSignature,
  'standard-webhooks': standardWebhooksSignature,
};

export function signatureScheme(name: SignatureSchemeName): SignatureScheme {
  return SCHEMES[name];
}
