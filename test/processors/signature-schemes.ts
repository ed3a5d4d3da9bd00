import { createHmac } from 'node:crypto';
import { PROCESSORS } from '../../lambdas/processors/registry.ts';
import type { SignatureScheme } from '../../lambdas/processors/signatures/signature.ts';
import { signatureScheme } from '../../lambdas/processors/signatures/verify-callback.ts';
import { tillhouse } from './tillhouse/descriptor.ts';

export interface Signing {
  readonly secret: string;
  readonly id: string;
  /** Time of the signature, in Unix seconds. */
  readonly atS: number;
  readonly body: Buffer;
}

export type SignedHeaders = Readonly<Record<string, string>>;

interface SignerExample {
  /** An old and a new secret, which are both active during a rotation. */
  readonly secrets: readonly [string, string];
  /** Writes a random key in the form of the scheme's secrets. */
  readonly secretOf: (key: Buffer) => string;
  /** Signs as the scheme is documented, independently of the code that verifies. */
  readonly sign: (signing: Signing) => SignedHeaders;
}

export const hmac = (key: string | Buffer, start: string, body: Buffer, algorithm = 'sha256') =>
  createHmac(algorithm, key).update(Buffer.concat([Buffer.from(start), body]));
const inHexadecimal = ({ secret, atS, body }: Signing) => `t=${atS},v1=${hmac(secret, `${atS}.`, body).digest('hex')}`;
const withPrefix = (key: Buffer) => `whsec_${key.toString('base64')}`;
const withoutPrefix = (secret: string) => Buffer.from(secret.replace('whsec_', ''), 'base64');

/**
 * All signature schemes for callbacks, as they are documented: lambdas/processors/sandbox/sandbox-api.ts, Stripe's
 * "Verify webhook signatures manually", and Standard Webhooks 1.0.0. The signature tests run for each entry.
 */
const DECLARED = {
  sandbox: {
    secrets: ['old-sandbox-secret', 'new-sandbox-secret'],
    secretOf: withPrefix,
    sign: (signing) => ({ 'sandbox-signature': inHexadecimal(signing) }),
  },
  stripe: {
    secrets: ['whsec_oldStripeSecret', 'whsec_newStripeSecret'],
    secretOf: withPrefix,
    sign: (signing) => ({ 'stripe-signature': inHexadecimal(signing) }),
  },
  // The scheme of Tillhouse, a processor that exists only in tests. Its header contains no version, and its name does
  // not contain the word "signature".
  'tillhouse-seal': {
    secrets: ['old-seal', 'new-seal'],
    secretOf: (key) => key.toString('hex'),
    sign: ({ secret, atS, body }) => ({
      'till-seal': `${atS}.${hmac(secret, `${atS}\n`, body, 'sha512').digest('base64url')}`,
    }),
  },
  'standard-webhooks': {
    secrets: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'],
    secretOf: withPrefix,
    sign: ({ secret, id, atS, body }) => ({
      'webhook-id': id,
      'webhook-timestamp': String(atS),
      'webhook-signature': `v1,${hmac(withoutPrefix(secret), `${id}.${atS}.`, body).digest('base64')}`,
    }),
  },
} as const satisfies Readonly<Record<string, SignerExample>>;

export type SignatureSchemeName = keyof typeof DECLARED;

export const SIGNATURE_SCHEMES = Object.keys(DECLARED) as readonly SignatureSchemeName[];

export const SIGNERS: Readonly<Record<SignatureSchemeName, SignerExample>> = DECLARED;

const loaded = async (name: SignatureSchemeName): Promise<[SignatureSchemeName, SignatureScheme]> => [
  name,
  await signatureScheme(name, [...PROCESSORS, tillhouse]),
];

export const SCHEMES = Object.fromEntries(await Promise.all(SIGNATURE_SCHEMES.map(loaded))) as Readonly<
  Record<SignatureSchemeName, SignatureScheme>
>;
