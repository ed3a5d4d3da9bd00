import { createHmac } from 'node:crypto';
import { Stripe } from 'stripe';
import { invariant } from '../../kernel/invariant.ts';
import { refused, type SignatureScheme, soleValue, UNIX_SECONDS, verifySignature } from '../signatures/signature.ts';

/** The name of the header (Stripe documentation, "Verify webhook signatures manually"). */
const HEADER = 'stripe-signature';
const TIME = new RegExp(`^t=(${UNIX_SECONDS})$`);
/** Pattern of a signature of any scheme. Only `v1` signatures are accepted; the header may contain others, too. */
const SIGNATURE = /^v[0-9]+=[0-9a-zA-Z]+$/;

/**
 * Computes the HMAC of the received bytes. The package itself decodes the body to text, dropping a byte-order mark and
 * mapping all invalid UTF-8 to the same character, so different bodies would have the same signature. Therefore the
 * package gets the bytes as Latin-1 text, one character per byte, and this crypto provider converts them back.
 */
class RawBytes extends Stripe.CryptoProvider {
  override computeHMACSignature(content: string, secret: string): string {
    return createHmac('sha256', secret).update(content, 'latin1').digest('hex');
  }
}

const rawBytes = new RawBytes();

/** Importing the package creates no client and sends no request. */
export const stripeSignature: SignatureScheme<'stripe'> = {
  name: 'stripe',
  verify: (callback, secrets, nowMs) => {
    const value = soleValue(callback, HEADER);
    if (typeof value !== 'string') return value;
    const seconds = signedAt(value);
    if (seconds === undefined) return refused('malformed');
    const { signature } = Stripe.webhooks;
    invariant(signature !== null, 'the Stripe package does not provide the verification of signatures');
    const content = Buffer.from(callback.body).toString('latin1');
    // The package compares in constant time. During a rotation, Stripe sends several `v1` signatures, and the package
    // accepts any of them.
    return verifySignature({ atSeconds: seconds, nowMs, secrets }, (secret) =>
      signature.verifyHeader(content, value, secret, undefined, rawBytes, nowMs),
    );
  },
};

/**
 * Parses the time of the signature, in Unix seconds. This check is stricter than the package, which ignores unknown
 * elements, parses `12x` as 12, uses the last of several times, and accepts times far in the future.
 */
function signedAt(header: string): number | undefined {
  const elements = header.split(',');
  const [time] = elements.flatMap((element) => TIME.exec(element)?.[1] ?? []);
  const signatures = elements.filter((element) => SIGNATURE.test(element));
  // Every element except the time must be a signature.
  const whole = signatures.length > 0 && signatures.length === elements.length - 1;
  return time !== undefined && whole ? Number(time) : undefined;
}
