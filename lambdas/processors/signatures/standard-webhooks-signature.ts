import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { refused, type SignatureScheme, soleValue, UNIX_SECONDS, verifySignature } from './signature.ts';

/** The names of the headers (Standard Webhooks 1.0.0, "Webhook headers"). */
const ID = 'webhook-id';
const TIMESTAMP = 'webhook-timestamp';
const SIGNATURE = 'webhook-signature';

/**
 * Form of an id: visible ASCII without the full stop, which separates the signed parts. With a full stop in the id, the
 * beginning of the body could be taken for the end of the id (Standard Webhooks 1.0.0, "Signature scheme").
 */
const ID_FORM = /^[!--/-~]{1,256}$/;
const TIMESTAMP_FORM = new RegExp(`^${UNIX_SECONDS}$`);
/**
 * Format of the header: a list of signatures, because a sender signs with two secrets during a rotation. Only `v1`
 * signatures are accepted.
 */
const SIGNATURES_FORM = /^v[0-9]+[a-z]*,[0-9A-Za-z+/]+=*(?: v[0-9]+[a-z]*,[0-9A-Za-z+/]+=*)*$/;
/**
 * Prefix of secrets that other systems issue. Secrets that a CloudFormation template generates have no prefix, for
 * example the secrets that sign Payonce's own requests.
 */
const SECRET_PREFIX = 'whsec_';

/**
 * Signs the received bytes. The package `standardwebhooks` itself would decode the body to text and map all invalid
 * UTF-8 to the same character, so different bodies would have the same signature. The package still checks headers and
 * time, and compares signatures in constant time.
 */
class RawBodyWebhook extends Webhook {
  readonly #key: Buffer;

  /** @throws when the key is empty */
  constructor(key: Buffer) {
    super(key, { format: 'raw' });
    this.#key = key;
  }

  override sign(id: string, timestamp: Date, body: string | Buffer): string {
    const hmac = createHmac('sha256', this.#key)
      .update(`${id}.${timestamp.getTime() / 1_000}.`)
      .update(body);
    return `v1,${hmac.digest('base64')}`;
  }
}

/**
 * Verifies signatures with the package `standardwebhooks`, which also checks the time by the system clock. A callback
 * must be in time by both `nowMs` and the system clock. If it is in time by `nowMs` but not by the system clock, the
 * result is `mismatch`.
 */
export const standardWebhooksSignature: SignatureScheme<'standard-webhooks'> = {
  name: 'standard-webhooks',
  verify: (callback, secrets, nowMs) => {
    const id = soleValue(callback, ID);
    if (typeof id !== 'string') return id;
    const timestamp = soleValue(callback, TIMESTAMP);
    if (typeof timestamp !== 'string') return timestamp;
    const signatures = soleValue(callback, SIGNATURE);
    if (typeof signatures !== 'string') return signatures;
    if (!ID_FORM.test(id) || !TIMESTAMP_FORM.test(timestamp) || !SIGNATURES_FORM.test(signatures)) {
      return refused('malformed');
    }
    const body = Buffer.from(callback.body);
    const headers = { [ID]: id, [TIMESTAMP]: timestamp, [SIGNATURE]: signatures };
    return verifySignature({ atSeconds: Number(timestamp), nowMs, secrets }, (secret) => {
      const key = decodedKey(secret);
      if (key === undefined) return false;
      // Throws if no signature matches.
      new RawBodyWebhook(key).verify(body, headers, { jsonParse: false });
      return true;
    });
  },
};

/**
 * Decodes canonical base64 only, and returns undefined for any other text. The package itself would ignore trailing
 * characters.
 */
function decodedKey(secret: string): Buffer | undefined {
  const base64 = secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : secret;
  const key = Buffer.from(base64, 'base64');
  return key.toString('base64') === base64 ? key : undefined;
}
