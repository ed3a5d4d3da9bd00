import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { Stripe } from 'stripe';
import type { SignedCallback } from '../../lambdas/processors/signatures/signature.ts';
import { sign as signAsSandbox } from '../../sandbox/signature.ts';
import {
  hmac,
  SCHEMES,
  SIGNATURE_SCHEMES,
  SIGNERS,
  type SignatureSchemeName,
  type SignedHeaders,
} from './signature-schemes.ts';

type Headers = Readonly<Record<string, string | readonly string[]>>;

const NOW_S = 1_772_366_400;
const MSG_ID = 'msg_p5jXN8AQM9LWM0D4loKWxJek';

const bytes = (...parts: readonly (string | readonly number[])[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from([...part]))));

const BOM = [0xef, 0xbb, 0xbf];
const BODY = bytes('{"id":"evt_1","object":"event"}');
const NOT_TEXT = bytes(BOM, '{"n":"', [0xff, 0xfe], '"}');

const hexadecimal = (key: string, seconds: number, body: Buffer) => hmac(key, `${seconds}.`, body).digest('hex');
const base64 = (secret: string, seconds: number, body: Buffer) =>
  hmac(Buffer.from(secret.replace('whsec_', ''), 'base64'), `${MSG_ID}.${seconds}.`, body).digest('base64');

const webhookHeaders = (seconds: number, signatures: string): SignedHeaders => ({
  'webhook-id': MSG_ID,
  'webhook-timestamp': String(seconds),
  'webhook-signature': signatures,
});

const signAs = (name: SignatureSchemeName, secret: string, seconds: number, body: Buffer): SignedHeaders =>
  SIGNERS[name].sign({ secret, id: MSG_ID, atS: seconds, body });

const callback = (headers: Headers, body: Uint8Array = BODY): SignedCallback => ({
  body,
  header: (name) => [headers[name] ?? []].flat(),
});

/** Also sets the system clock, because the Standard Webhooks package reads it. */
async function verdict(
  name: SignatureSchemeName,
  headers: Headers,
  { body = BODY, secrets = SIGNERS[name].secrets, nowMs = NOW_S * 1_000 }: Partial<Situation> = {},
): Promise<string> {
  jest.spyOn(Date, 'now').mockReturnValue(nowMs);
  const result = await SCHEMES[name].verify(callback(headers, body), secrets, nowMs);
  return result.kind === 'valid' ? 'valid' : result.reason;
}

interface Situation {
  readonly body: Buffer;
  readonly secrets: readonly string[];
  readonly nowMs: number;
}

beforeEach(() => {
  jest.spyOn(Date, 'now').mockReturnValue(NOW_S * 1_000);
});

afterEach(() => {
  jest.restoreAllMocks();
});

describe('known signatures', () => {
  // Computed with Python's hmac, except the JSON vector of Standard Webhooks, which is from the specification.
  const VECTORS: readonly (readonly [SignatureSchemeName, string, Headers, string, number, Buffer])[] = [
    [
      'sandbox',
      'JSON',
      { 'sandbox-signature': 't=1772366400,v1=ac6e6b418c1867931ad3877e251793f563ca90482226db4d50d9535c049ad399' },
      'sandbox-secret',
      1_772_366_400,
      BODY,
    ],
    [
      'sandbox',
      'bytes that are not text',
      { 'sandbox-signature': 't=1772366400,v1=83254ae0799ef72a5577ffeab4998b67596044166cbde45e1e72868f070a51f8' },
      'sandbox-secret',
      1_772_366_400,
      NOT_TEXT,
    ],
    [
      'stripe',
      'JSON',
      { 'stripe-signature': 't=1492774577,v1=654b43d3508ecadb3f8cefc4bc7d3d2bdc5ba9e03bf2c89b2d0657a8e24e4543' },
      'whsec_test_secret',
      1_492_774_577,
      BODY,
    ],
    [
      'stripe',
      'bytes that are not text',
      { 'stripe-signature': 't=1492774577,v1=fee8c2f61384860fc3220563b62d326f311b2f7d8af638a293f507402ef4746c' },
      'whsec_test_secret',
      1_492_774_577,
      NOT_TEXT,
    ],
    [
      'standard-webhooks',
      'JSON',
      webhookHeaders(1_614_265_330, 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='),
      'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
      1_614_265_330,
      bytes('{"test": 2432232314}'),
    ],
    [
      'standard-webhooks',
      'bytes that are not text',
      webhookHeaders(1_614_265_330, 'v1,9aQSJqpKg3LVlUep5AK0RE17q9GvEFMq+47yQ1GPwOw='),
      'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
      1_614_265_330,
      NOT_TEXT,
    ],
  ];

  test.each(VECTORS)('are accepted by the scheme %s: %s', async (name, _what, headers, secret, seconds, body) => {
    expect(await verdict(name, headers, { secrets: [secret], nowMs: seconds * 1_000, body })).toBe('valid');
  });

  test('are accepted by the scheme sandbox if the sandbox itself computed them', async () => {
    const body = '{"note":"Zoë, 東京"}';
    const headers = { 'sandbox-signature': signAsSandbox('old-sandbox-secret', NOW_S, body) };

    expect(await verdict('sandbox', headers, { body: Buffer.from(body) })).toBe('valid');
  });
});

describe.each(SIGNATURE_SCHEMES)('%s', (name) => {
  const [old, fresh] = SIGNERS[name].secrets;
  const sign = signAs.bind(undefined, name);
  const good = sign(old, NOW_S, BODY);

  test('accepts a callback that is at most 300 s late or early, and rejects later and earlier callbacks', async () => {
    const at = (seconds: number, milliseconds = 0) =>
      verdict(name, good, { nowMs: (NOW_S + seconds) * 1_000 + milliseconds });

    expect([await at(0), await at(300), await at(300, 999), await at(-300)]).toEqual(Array(4).fill('valid'));
    expect([await at(301), await at(-301), await at(-300, -1)]).toEqual(['expired', 'ahead', 'ahead']);
  });

  test('accepts a signature with any active secret, and with no other secret', async () => {
    const signedBy = async (secret: string, secrets: readonly string[]) =>
      verdict(name, sign(secret, NOW_S, BODY), { secrets });

    expect([
      await signedBy(old, [old, fresh]),
      await signedBy(fresh, [old, fresh]),
      await signedBy(old, [fresh]),
      await signedBy(fresh, [old]),
      await signedBy(old, []),
    ]).toEqual(['valid', 'valid', 'mismatch', 'mismatch', 'mismatch']);
  });

  test('ignores a malformed secret, and still matches a valid one', async () => {
    const broken = ['', ' ', '\n', 'whsec_', 'whsec_====', 'whsec_*', 'whsec_a', '\ud800', '{}', '\0'];
    for (const one of broken) expect(await verdict(name, good, { secrets: [one] })).toBe('mismatch');

    expect(await verdict(name, good, { secrets: [...broken, old, ...broken] })).toBe('valid');
  });

  test('rejects an empty key, with which every sender could sign', async () => {
    const key = name === 'standard-webhooks' ? 'whsec_' : ' ';

    expect(await verdict(name, sign('', NOW_S, BODY), { secrets: [''] })).toBe('mismatch');
    expect(await verdict(name, sign(key, NOW_S, BODY), { secrets: [key] })).toBe('mismatch');
  });

  test.each(Object.keys(good))('rejects a callback without %s or with two values of this header', async (header) => {
    const value = good[header] ?? '';
    const { [header]: _left, ...without } = good;

    expect(await verdict(name, without)).toBe('missing');
    expect(await verdict(name, { ...good, [header]: [value, `${value}0`] })).toBe('repeated');
    expect(await verdict(name, { ...good, [header]: '' })).toBe('malformed');
  });

  test('signs in a header that no other scheme reads', async () => {
    for (const other of SIGNATURE_SCHEMES.filter((one) => one !== name)) {
      expect(await verdict(other, good, { secrets: [old] })).toBe('missing');
    }
  });

  test('checks the form, the time and the secret in this order', async () => {
    const late = { nowMs: (NOW_S + 301) * 1_000, secrets: [] };
    const broken = Object.fromEntries(Object.keys(good).map((header) => [header, 'x']));

    expect([await verdict(name, broken, late), await verdict(name, good, late)]).toEqual(['malformed', 'expired']);
  });
});

describe('the sandbox header', () => {
  const hex = hexadecimal('old-sandbox-secret', NOW_S, BODY);

  test.each([
    ['two signatures', `t=${NOW_S},v1=${hex},v1=${hex}`],
    ['two times', `t=${NOW_S},t=${NOW_S},v1=${hex}`],
    ['the reverse order', `v1=${hex},t=${NOW_S}`],
    ['upper-case digits', `t=${NOW_S},v1=${hex.toUpperCase()}`],
    ['an additional field', `t=${NOW_S},v1=${hex},v0=${hex}`],
    ['a space', `t=${NOW_S}, v1=${hex}`],
    ['a trailing space', `t=${NOW_S},v1=${hex} `],
    ['a trailing line break', `t=${NOW_S},v1=${hex}\n`],
    ['another version', `t=${NOW_S},v2=${hex}`],
    ['a time with a leading zero', `t=0${NOW_S},v1=${hex}`],
    ['a time with a fraction', `t=${NOW_S}.0,v1=${hex}`],
    ['a negative time', `t=-${NOW_S},v1=${hex}`],
    ['a time of 400 digits', `t=${'9'.repeat(400)},v1=${hex}`],
    ['no time', `v1=${hex}`],
    ['one digit less', `t=${NOW_S},v1=${hex.slice(1)}`],
  ])('is malformed with %s', async (_what, value) => {
    expect(await verdict('sandbox', { 'sandbox-signature': value })).toBe('malformed');
  });
});

describe('the Stripe header', () => {
  const hex = hexadecimal('whsec_newStripeSecret', NOW_S, BODY);
  const other = hexadecimal('whsec_otherStripeSecret', NOW_S, BODY);
  const inHeader = (value: string, secrets = SIGNERS.stripe.secrets) =>
    verdict('stripe', { 'stripe-signature': value }, { secrets });

  test('may contain several signatures, and at least one must match under v1', async () => {
    expect(await inHeader(`t=${NOW_S},v1=${other},v1=${hex},v0=${other}`)).toBe('valid');
    expect(await inHeader(`t=${NOW_S},v1=${other},v0=${hex}`)).toBe('mismatch');
    expect(await inHeader(`t=${NOW_S},v0=${hex}`)).toBe('mismatch');
    expect(await inHeader(`t=${NOW_S},v1=${hex.toUpperCase()}`)).toBe('mismatch');
  });

  test.each([
    ['two times', `t=1,t=${NOW_S},v1=${hex}`],
    ['a time followed by a letter', `t=${NOW_S}x,v1=${hex}`],
    ['a space', `t=${NOW_S}, v1=${hex}`],
    ['a field without a value', `t=${NOW_S},v1=${hex},x`],
    ['text after a signature', `t=${NOW_S},v1=${hex}=x`],
    ['an empty signature', `t=${NOW_S},v1=${hex},v1=`],
    ['no signature', `t=${NOW_S}`],
    ['no time', `v1=${hex}`],
  ])('is malformed with %s', async (_what, value) => {
    expect(await inHeader(value)).toBe('malformed');
  });

  test('is verified over the bytes of the body, whereas Stripe’s package uses text', async () => {
    const marked = bytes(BOM, BODY.toString());
    const header = `t=${NOW_S},v1=${hex}`;

    expect(Stripe.webhooks.signature?.verifyHeader(marked, header, 'whsec_newStripeSecret')).toBe(true);
    expect(await verdict('stripe', { 'stripe-signature': header }, { body: marked })).toBe('mismatch');
  });

  test('is never valid for an empty body, which Stripe does not send', async () => {
    const body = Buffer.alloc(0);

    expect(await verdict('stripe', signAs('stripe', 'whsec_newStripeSecret', NOW_S, body), { body })).toBe('mismatch');
  });
});

describe('the Standard Webhooks headers', () => {
  const [old, fresh] = SIGNERS['standard-webhooks'].secrets;
  const signature = base64(fresh, NOW_S, BODY);
  const other = base64('whsec_AAAA', NOW_S, BODY);
  const given = (changes: Headers) =>
    verdict('standard-webhooks', { ...webhookHeaders(NOW_S, `v1,${signature}`), ...changes });

  test('may contain several signatures, and at least one must match under v1', async () => {
    const signed = (value: string) => given({ 'webhook-signature': value });

    expect(await signed(`v1,${other} v1a,${other} v1,${signature}`)).toBe('valid');
    expect([await signed(`v1,${other} v1a,${signature}`), await signed(`v2,${signature}`)]).toEqual([
      'mismatch',
      'mismatch',
    ]);
  });

  test('are verified with a generated secret, with or without the prefix whsec_', async () => {
    const generated = 'LZuRkqsGMernnGSTAGENcganY3PdO5qh';
    const headers = webhookHeaders(NOW_S, `v1,${base64(`whsec_${generated}`, NOW_S, BODY)}`);
    for (const secret of [generated, `whsec_${generated}`])
      expect(await verdict('standard-webhooks', headers, { secrets: [secret] })).toBe('valid');
    expect(await verdict('standard-webhooks', headers, { secrets: [generated.toLowerCase()] })).toBe('mismatch');
  });

  test.each([
    ['two signatures without a space', { 'webhook-signature': `v1,${signature},v1,${signature}` }],
    ['a signature followed by other text', { 'webhook-signature': `v1,${signature},x` }],
    ['two spaces', { 'webhook-signature': `v1,${signature}  v1,${signature}` }],
    ['a bare signature', { 'webhook-signature': signature }],
    ['a time followed by a letter', { 'webhook-timestamp': `${NOW_S}x` }],
    ['a time with a fraction', { 'webhook-timestamp': `${NOW_S}.0` }],
    ['a space in the id', { 'webhook-id': `${MSG_ID} ` }],
  ])('are malformed with %s', async (_what, changes) => {
    expect(await given(changes)).toBe('malformed');
  });

  test('are rejected if the same signed text is split differently into id, time and body', async () => {
    const body = bytes(`{"note":"x.${NOW_S}.{}"}`);
    const value = `v1,${base64(old, NOW_S, body)}`;
    const id = `${MSG_ID}.${NOW_S}.{"note":"x`;
    const moved = { 'webhook-id': id, 'webhook-timestamp': String(NOW_S), 'webhook-signature': value };
    const rest = bytes('{}"}');

    expect(new Webhook(old).verify(rest, moved, { jsonParse: false })).toBeUndefined();
    expect(await verdict('standard-webhooks', moved, { body: rest })).toBe('malformed');
  });

  test('are verified over the bytes of the body, whereas the Standard Webhooks package uses text', async () => {
    const replaced = bytes('{"n":"', [0xef, 0xbf, 0xbd], '"}');
    const invalid = bytes('{"n":"', [0xff], '"}');
    const headers = webhookHeaders(NOW_S, `v1,${base64(old, NOW_S, replaced)}`);

    expect(new Webhook(old).verify(invalid, { ...headers }, { jsonParse: false })).toBeUndefined();
    expect(await verdict('standard-webhooks', headers, { body: replaced })).toBe('valid');
    expect(await verdict('standard-webhooks', headers, { body: invalid })).toBe('mismatch');
  });

  test('must also be recent according to the system clock', async () => {
    const headers = webhookHeaders(NOW_S, `v1,${signature}`);
    jest.spyOn(Date, 'now').mockReturnValue((NOW_S + 301) * 1_000);

    expect(await SCHEMES['standard-webhooks'].verify(callback(headers), [fresh], NOW_S * 1_000)).toEqual({
      kind: 'refused',
      reason: 'mismatch',
    });
  });
});
