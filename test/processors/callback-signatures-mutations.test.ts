/** Tests the guarantee "accepted callbacks". */
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { defined } from '../../lambdas/kernel/defined.ts';
import { fc } from '../support/properties.ts';
import { sliceOf, whole } from '../support/slice.ts';
import {
  SCHEMES,
  SIGNATURE_SCHEMES,
  SIGNERS,
  type SignatureSchemeName,
  type SignedHeaders,
  type Signing,
} from './signature-schemes.ts';

interface Presented {
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly body: Buffer;
  readonly secrets: readonly string[];
  /** Current time, in Unix seconds. */
  readonly nowS: number;
}

type HeaderEntry = readonly [string, readonly string[]];

const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

const keys = fc.uint8Array({ minLength: 24, maxLength: 64 }).map((key) => Buffer.from(key));
const json = fc.jsonValue({ stringUnit: 'grapheme' }).map((value) => Buffer.from(JSON.stringify(value)));
// JSON text is included, because random bytes are rarely valid UTF-8.
const bodies = fc.oneof(
  json,
  json.map((body) => Buffer.concat([BOM, body])),
  fc.uint8Array({ minLength: 1, maxLength: 200 }).map((body) => Buffer.from(body)),
);

/** Random input that fast-check can shrink. */
interface Draw extends Signing {
  readonly otherSecret: string;
  readonly offsetS: number;
  /** Used modulo the number of choices. */
  readonly place: number;
  readonly bit: number;
}

const drawsFor = ({ secretOf }: (typeof SIGNERS)[SignatureSchemeName]): fc.Arbitrary<Draw> =>
  fc
    .record({
      secret: keys.map(secretOf),
      otherSecret: keys.map(secretOf),
      id: fc.stringMatching(/^msg_[0-9A-Za-z]{1,40}$/),
      atS: fc.integer({ min: 1_000_000_000, max: 9_000_000_000 }),
      offsetS: fc.integer({ min: -300, max: 300 }),
      body: bodies,
      place: fc.nat(),
      bit: fc.nat(7),
    })
    .filter(({ secret, otherSecret }) => secret !== otherSecret);

function presented(name: SignatureSchemeName, draw: Draw): Presented {
  const headers = Object.entries(SIGNERS[name].sign(draw)).map(([header, value]): HeaderEntry => [header, [value]]);
  return {
    headers: Object.fromEntries(headers),
    body: draw.body,
    secrets: [draw.secret],
    nowS: draw.atS + draw.offsetS,
  };
}

function changeHeader(good: Presented, draw: Draw, change: (value: string) => readonly string[]): Presented {
  const names = Object.keys(good.headers);
  const name = names[draw.place % names.length] ?? '';
  return { ...good, headers: { ...good.headers, [name]: change(good.headers[name]?.[0] ?? '') } };
}

/** Replaces the signature, which is the part of each header that depends on the secret. */
function changeSignature(
  good: Presented,
  draw: Draw,
  name: SignatureSchemeName,
  change: (signature: string) => string,
): Presented {
  const others: SignedHeaders = SIGNERS[name].sign({ ...draw, secret: draw.otherSecret });
  const headers = Object.entries(good.headers).map(([header, values]): HeaderEntry => {
    const changed = (value: string) => {
      const start = Array.from(value).findIndex((character, index) => character !== others[header]?.[index]);
      return start === -1 ? value : value.slice(0, start) + change(value.slice(start));
    };
    return [header, values.map(changed)];
  });
  return { ...good, headers: Object.fromEntries(headers) };
}

function replaceInHeaders(good: Presented, text: string | RegExp, replacement: string): Presented {
  const headers = Object.entries(good.headers).map(
    ([header, values]): HeaderEntry => [header, values.map((value) => value.replace(text, replacement))],
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

/**
 * Proxies that parse bodies may do the same. Adds a space if the body is not JSON, or its bytes would stay the same.
 */
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
  'a bit of the signature flipped': (good, draw, name) =>
    changeSignature(good, draw, name, (signature) => flipText(signature, draw)),
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
  'the signature in the other letter case': (good, draw, name) =>
    changeSignature(good, draw, name, (signature) => signature.toUpperCase()),
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
    const foreign = Object.values(SIGNERS[other].sign(draw)).at(-1) ?? '';
    return changeSignature(good, draw, name, () => foreign);
  },
  'the headers from another scheme': (good, draw, name) => {
    const other =
      SIGNATURE_SCHEMES.filter((scheme) => scheme !== name)[draw.bit % (SIGNATURE_SCHEMES.length - 1)] ?? 'sandbox';
    return { ...good, headers: presented(other, draw).headers };
  },
  'at least 301 s late': (good, { atS, place }) => ({ ...good, nowS: atS + 301 + (place % 2 === 0 ? 0 : place) }),
  'at least 301 s early': (good, { atS, place }) => ({ ...good, nowS: atS - 301 - (place % 2 === 0 ? 0 : place) }),
};

const VERSION = /\bv1(?=[=,])/;

/** Omits a part that the headers do not contain. */
function mutationsOfParts(name: SignatureSchemeName): Readonly<Record<string, Mutation>> {
  const timeIn = ({ atS }: Pick<Draw, 'atS'>) => new RegExp(`\\b${atS}`);
  const sample = { secret: SIGNERS[name].secrets[0], id: 'msg_1', atS: 1_772_366_400, body: Buffer.from('{}') };
  const contains = (pattern: RegExp) => Object.values(SIGNERS[name].sign(sample)).some((value) => pattern.test(value));
  return defined({
    'a different version of the signature': contains(VERSION)
      ? (good: Presented, { bit }: Draw) => replaceInHeaders(good, VERSION, ['v0', 'v2', 'v1a', 'V1'][bit % 4] ?? '')
      : undefined,
    'a later time in the header': contains(timeIn(sample))
      ? (good: Presented, draw: Draw) => replaceInHeaders(good, timeIn(draw), String(draw.atS + 1 + (draw.place % 300)))
      : undefined,
  });
}

/** For example, a change of letter case in a signature without letters changes nothing. */
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

const RUNS = whole(10_000, { slice: 200 });

afterEach(() => {
  jest.restoreAllMocks();
});

describe.each(SIGNATURE_SCHEMES)('%s', (name) => {
  test('accepts a callback only if nothing was changed after it was signed', async () => {
    const mutations = sliceOf(Object.entries({ ...MUTATIONS, ...mutationsOfParts(name) }), 3);
    const seen = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(drawsFor(SIGNERS[name]), fc.constantFrom(...mutations), async (draw, [what, mutate]) => {
        const good = presented(name, draw);
        const bad = mutate(good, draw, name);
        fc.pre(!same(good, bad));
        seen.set(what, (seen.get(what) ?? 0) + 1);

        expect(await accepted(name, good)).toBe(true);
        // The object makes the failure message name the accepted mutation.
        expect({ [what]: await accepted(name, bad) }).toEqual({ [what]: false });
      }),
      { numRuns: RUNS },
    );

    // Each mutation must run often enough for the result to be meaningful.
    const rare = mutations.filter(([what]) => (seen.get(what) ?? 0) <= RUNS / 100).map(([what]) => what);
    expect(rare).toEqual([]);
  });
});
