import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { judge, refused, type SignatureScheme, soleValue, UNIX_SECONDS } from './signature.ts';

/** Standard Webhooks 1.0.0, "Webhook headers". */
const ID = 'webhook-id';
const TIMESTAMP = 'webhook-timestamp';
const SIGNATURE = 'webhook-signature';

/**
 * Visible ASCII without a full stop, which divides what is signed: with one in the id, the beginning of a body could be
 * passed off as the end of an id ("Signature scheme").
 */
const ID_FORM = /^[!--/-~]{1,256}$/;
const TIMESTAMP_FORM = new RegExp(`^${UNIX_SECONDS}$`);
/** Several, while a secret is rotated; only `v1` is ever taken. */
const SIGNATURES_FORM = /^v[0-9]+[a-z]*,[0-9A-Za-z+/]+=*(?: v[0-9]+[a-z]*,[0-9A-Za-z+/]+=*)*$/;
/** Without it a text may be anything, for example another scheme's secret. */
const SECRET_PREFIX = 'whsec_';

/**
 * The package decodes a body into text, which makes all invalid UTF-8 the same: bodies that differ would share a
 * signature. So the bytes are signed here; the headers, the time and the comparison, in constant time, are the package's.
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
 * The package judges the time as well, by the machine's clock, which no caller can set: a callback must be in time by
 * `nowMs` and by that one. Late by that one alone, it is a `mismatch`.
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
    return judge({ atSeconds: Number(timestamp), nowMs, secrets }, (secret) => {
      const key = decodedKey(secret);
      if (key === undefined) return false;
      // It throws unless one matches.
      new RawBodyWebhook(key).verify(body, headers, { jsonParse: false });
      return true;
    });
  },
};

/** Of base64 in its one spelling; the package overlooks what may follow it. */
function decodedKey(secret: string): Buffer | undefined {
  const base64 = secret.slice(SECRET_PREFIX.length);
  const key = Buffer.from(base64, 'base64');
  return secret.startsWith(SECRET_PREFIX) && key.toString('base64') === base64 ? key : undefined;
}
