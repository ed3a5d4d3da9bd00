/** Tests the guarantee "accepted callbacks". */
import { createHmac } from 'node:crypto';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { fc } from '../support/properties.ts';
import { whole } from '../support/slice.ts';
import { SCHEMES, SIGNATURE_SCHEMES, type SignatureSchemeName } from './signature-schemes.ts';

/** The inputs of a verification. */
interface Presented {
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly body: Buffer;
  readonly secrets: readonly string[];
  /** Current time, in Unix seconds. */
  readonly nowS: number;
}

type HeaderEntry = readonly [string, readonly string[]];

interface Signing {
  readonly secret: string;
  readonly id: string;
  readonly atS: number;
  readonly body: Buffer;
}

const hmac = (key: string | Buffer, start: string, body: Buffer) =>
  createHmac('sha256', key).update(Buffer.concat([Buffer.from(start), body]));
const inHexadecimal = ({ secret, atS, body }: Signing) => `t=${atS},v1=${hmac(secret, `${atS}.`, body).digest('hex')}`;
const keyOf = (secret: string) => Buffer.from(secret.slice('whsec_'.length), 'base64');

/**
 * Signature formulas as documented: lambdas/processors/sandbox/sandbox-api.ts, Stripe's "Verify webhook signatures
 * manually", and Standard Webhooks 1.0.0.
 */
const SIGNERS: Readonly<Record<SignatureSchemeName, (signing: Signing) => Readonly<Record<string, string>>>> = {
  sandbox: (signing) => ({ 'sandbox-signature': inHexadecimal(signing) }),
  stripe: (signing) => ({ 'stripe-signature': inHexadecimal(signing) }),
  'standard-webhooks': ({ secret, id, atS, body }) => ({
    'webhook-id': id,
    'webhook-timestamp': String(atS),
    'webhook-signature': `v1,${hmac(keyOf(secret), `${id}.${atS}.`, body).digest('base64')}`,
  }),
};

const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

const secrets = fc
  .uint8Array({ minLength: 24, maxLength: 64 })
  .map((key) => `whsec_${Buffer.from(key).toString('base64')}`);
const json = fc.jsonValue({ stringUnit: 'grapheme' }).map((value) => Buffer.from(JSON.stringify(value)));
const bodies = fc.oneof(
  json,
  json.map((body) => Buffer.concat([BOM, body])),
  // Includes text, because random bytes are rarely valid UTF-8.
  fc.uint8Array({ minLength: 1, maxLength: 200 }).map((body) => Buffer.from(body)),
);

/** Random input of a mutation, which fast-check can shrink. */
interface Draw extends Signing {
  readonly otherSecret: string;
  readonly offsetS: number;
  /** An arbitrary number, used modulo the number of choices. */
  readonly place: number;
  readonly bit: number;
}

const draws: fc.Arbitrary<Draw> = fc
  .record({
    secret: secrets,
    otherSecret: secrets,
    id: fc.stringMatching(/^msg_[0-9A-Za-z]{1,40}$/),
    atS: fc.integer({ min: 1_000_000_000, max: 9_000_000_000 }),
    offsetS: fc.integer({ min: -300, max: 300 }),
    body: bodies,
    place: fc.nat(),
    bit: fc.nat(7),
  })
  .filter(({ secret, otherSecret }) => secret !== otherSecret);

function presented(name: SignatureSchemeName, draw: Draw): Presented {
  const headers = Object.entries(SIGNERS[name](draw)).map(([header, value]): HeaderEntry => [header, [value]]);
  return {
    headers: Object.fromEntries(headers),
    body: draw.body,
    secrets: [draw.secret],
    nowS: draw.atS + draw.offsetS,
  };
}

/** Changes the value of a randomly chosen header. */
function changeHeader(good: Presented, draw: Draw, change: (value: string) => readonly string[]): Presented {
  const names = Object.keys(good.headers);
  const name = names[draw.place % names.length] ?? '';
  return { ...good, headers: { ...good.headers, [name]: change(good.headers[name]?.[0] ?? '') } };
}

function changeSignature(good: Presented, change: (value: string) => string): Presented {
  const headers = Object.entries(good.headers).map(
    ([name, values]): HeaderEntry => [name, name.endsWith('-signature') ? values.map(change) : values],
  );
  return { ...good, headers: Object.fromEntries(headers) };
}

function flipBit(bytes: Buffer, place: number, bit: number): Buffer {
  const flipped = Buffer.from(bytes);
  const index = place % bytes.length;
  flipped.writeUInt8(bytes.readUInt8(index) ^ (1 << bit), index);
  return flipped;
}

const flipText = (text: string, { place, bit }: Draw) =>
  flipBit(Buffer.from(text, 'latin1'), place, bit).toString('latin1');

/** Serializes the JSON value to different bytes, as a parsing proxy may. Adds a space if the body is not JSON. */
function reserialised(body: Buffer): Buffer {
  try {
    const again = Buffer.from(JSON.stringify(JSON.parse(body.toString()), undefined, 1));
    return again.equals(body) ? Buffer.concat([body, Buffer.from(' ')]) : again;
  } catch {
    return Buffer.concat([body, Buffer.from(' ')]);
  }
}

type Mutation = (good: Presented, draw: Draw, name: SignatureSchemeName) => Presented;

const MUTATIONS: Readonly<Record<string, Mutation>> = {
  'a bit of a header flipped': (good, draw) => changeHeader(good, draw, (value) => [flipText(value, draw)]),
  'a bit of the signature flipped': (good, draw) => changeSignature(good, (value) => flipText(value, draw)),
  'a header truncated at its end': (good, draw) =>
    changeHeader(good, draw, (value) => [value.slice(0, draw.place % value.length)]),
  'a header truncated at its start': (good, draw) =>
    changeHeader(good, draw, (value) => [value.slice(1 + (draw.place % value.length))]),
  'a missing header': (good, draw) => changeHeader(good, draw, () => []),
  'an empty header': (good, draw) => changeHeader(good, draw, () => ['']),
  'two values of a header': (good, draw) => changeHeader(good, draw, (value) => [value, flipText(value, draw)]),
  'a header’s value doubled': (good, draw) => changeHeader(good, draw, (value) => [value + value]),
  'a header repeated and joined': (good, draw) => changeHeader(good, draw, (value) => [`${value},${value}`]),
  'a header repeated and joined by a proxy': (good, draw) =>
    changeHeader(good, draw, (value) => [`${value}, ${value}`]),
  'white space around a header': (good, draw) =>
    changeHeader(good, draw, (value) => [draw.bit < 4 ? ` ${value}` : `${value} `]),
  'a different version of the signature': (good, draw) =>
    changeSignature(good, (value) => value.replace('v1', ['v0', 'v2', 'v1a', 'V1'][draw.bit % 4] ?? '')),
  'the signature in the other letter case': (good) =>
    changeSignature(good, (value) => value.replace(/(?<=v1[=,]).+/, (text) => text.toUpperCase())),
  'a later time in the header': (good, draw) => {
    const moved = String(draw.atS + 1 + (draw.place % 300));
    const headers = Object.entries(good.headers).map(
      ([header, values]): HeaderEntry => [
        header,
        header === 'webhook-id' ? values : values.map((value) => value.replace(String(draw.atS), moved)),
      ],
    );
    return { ...good, headers: Object.fromEntries(headers) };
  },
  'a bit of the body flipped': (good, { place, bit }) => ({ ...good, body: flipBit(good.body, place, bit) }),
  'the body truncated': (good, { place }) => ({ ...good, body: good.body.subarray(0, place % good.body.length) }),
  'the body doubled': (good) => ({ ...good, body: Buffer.concat([good.body, good.body]) }),
  'the body re-serialized': (good) => ({ ...good, body: reserialised(good.body) }),
  'a byte-order mark added': (good) => ({ ...good, body: Buffer.concat([BOM, good.body]) }),
  'the body encoded in base64': (good) => ({ ...good, body: Buffer.from(good.body.toString('base64')) }),
  'another secret': (good, { otherSecret }) => ({ ...good, secrets: [otherSecret] }),
  'no secret': (good) => ({ ...good, secrets: [] }),
  'malformed secrets': (good, { secret }) => ({
    ...good,
    secrets: ['', 'whsec_', secret.slice(7), `whsek_${secret.slice(6)}`, `${secret}*`, `${secret}=`],
  }),
  'a signature from another scheme': (good, draw, name) => {
    const other = name === 'standard-webhooks' ? 'stripe' : 'standard-webhooks';
    const foreign = Object.values(SIGNERS[other](draw)).at(-1) ?? '';
    return changeSignature(good, () => foreign);
  },
  'the headers from another scheme': (good, draw, name) => {
    const other = SIGNATURE_SCHEMES.filter((scheme) => scheme !== name)[draw.bit % 2] ?? 'sandbox';
    return { ...good, headers: presented(other, draw).headers };
  },
  'at least 301 s late': (good, { atS, place }) => ({ ...good, nowS: atS + 301 + (place % 2 === 0 ? 0 : place) }),
  'at least 301 s early': (good, { atS, place }) => ({ ...good, nowS: atS - 301 - (place % 2 === 0 ? 0 : place) }),
};

/** Detects a mutation that changes nothing, such as a change of letter case in a signature without letters. */
function same(left: Presented, right: Presented): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

async function accepted(
  name: SignatureSchemeName,
  { headers, body, secrets: active, nowS }: Presented,
): Promise<boolean> {
  // The Standard Webhooks package reads the system clock.
  jest.spyOn(Date, 'now').mockReturnValue(nowS * 1_000);
  const callback = { body, header: (header: string) => headers[header] ?? [] };
  const { kind } = await SCHEMES[name].verify(callback, active, nowS * 1_000);
  return kind === 'valid';
}

/** Number of runs for each scheme. */
const RUNS = whole(10_000, { slice: 600 });

afterEach(() => {
  jest.restoreAllMocks();
});

describe.each(SIGNATURE_SCHEMES)('%s', (name) => {
  test('accepts a callback only if nothing was changed after it was signed', async () => {
    const seen = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(draws, fc.constantFrom(...Object.entries(MUTATIONS)), async (draw, [what, mutate]) => {
        const good = presented(name, draw);
        const bad = mutate(good, draw, name);
        fc.pre(!same(good, bad));
        seen.set(what, (seen.get(what) ?? 0) + 1);

        expect(await accepted(name, good)).toBe(true);
        expect(await accepted(name, bad)).toBe(false);
      }),
      { numRuns: RUNS },
    );

    // Each mutation must run often enough for the result to be meaningful.
    for (const what of Object.keys(MUTATIONS)) expect(seen.get(what)).toBeGreaterThan(RUNS / 100);
  });
});
