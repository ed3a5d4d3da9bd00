import { createHmac } from 'node:crypto';
import { Stripe } from 'stripe';
import { invariant } from '../../kernel/invariant.ts';
import { judge, refused, type SignatureScheme, soleValue, UNIX_SECONDS } from '../signatures/signature.ts';

/** Stripe, "Verify webhook signatures manually". */
const HEADER = 'stripe-signature';
const TIME = new RegExp(`^t=(${UNIX_SECONDS})$`);
/** `v1` is the scheme in use; others are there beside it and are never taken. */
const SIGNATURE = /^v[0-9]+=[0-9a-zA-Z]+$/;

/**
 * The package decodes a body into text, which drops a byte-order mark and makes all invalid UTF-8 the same: bodies that
 * differ would share a signature. So it is given the bytes as text of one character each, and its own seam for
 * cryptography turns them back before they are signed.
 */
class RawBytes extends Stripe.CryptoProvider {
  override computeHMACSignature(content: string, secret: string): string {
    return createHmac('sha256', secret).update(content, 'latin1').digest('hex');
  }
}

const rawBytes = new RawBytes();

/** The package's own verification. The import makes no client and calls nobody. */
export const stripeSignature: SignatureScheme<'stripe'> = {
  name: 'stripe',
  verify: (callback, secrets, nowMs) => {
    const value = soleValue(callback, HEADER);
    if (typeof value !== 'string') return value;
    const seconds = signedAt(value);
    if (seconds === undefined) return refused('malformed');
    const { signature } = Stripe.webhooks;
    invariant(signature !== null, 'the Stripe package verifies signatures');
    const content = Buffer.from(callback.body).toString('latin1');
    // It compares in constant time and takes any of several `v1`, as there are while a secret is rotated.
    return judge({ atSeconds: seconds, nowMs, secrets }, (secret) =>
      signature.verifyHeader(content, value, secret, undefined, rawBytes, nowMs),
    );
  },
};

/**
 * Stricter than the package, which skips what it does not understand, reads `12x` as 12 and the last of several times,
 * and takes times far ahead.
 */
function signedAt(header: string): number | undefined {
  const elements = header.split(',');
  const [time] = elements.flatMap((element) => TIME.exec(element)?.[1] ?? []);
  const signatures = elements.filter((element) => SIGNATURE.test(element));
  // All but the one time are signatures.
  const whole = signatures.length > 0 && signatures.length === elements.length - 1;
  return time !== undefined && whole ? Number(time) : undefined;
}
