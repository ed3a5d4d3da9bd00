import { beforeEach, describe, expect, test } from '@jest/globals';
import { type Node, operations } from '../api-docs/described-api.ts';
import { Api } from '../world/api.ts';

/** Includes the first and the last character of each range: control characters, separators, and direction marks. */
const FORGING = Array.from(
  '\u0000\t\n\r\u001b\u001f\u007f\u0080\u0085\u009f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069',
);

interface Text {
  readonly where: string;
  readonly schema: Node;
}

/** Includes the names of free-form fields. */
function textsIn(where: string, schema: Node): readonly Text[] {
  const {
    properties = {},
    additionalProperties,
    propertyNames,
    items,
    oneOf = [],
    anyOf = [],
  } = schema as {
    readonly properties?: Readonly<Record<string, Node>>;
    readonly additionalProperties?: unknown;
    readonly propertyNames?: Node;
    readonly items?: Node;
    readonly oneOf?: readonly Node[];
    readonly anyOf?: readonly Node[];
  };
  const isNode = (node: unknown): node is Node => typeof node === 'object' && node !== null;
  return [
    ...([schema['type']].flat().includes('string') ? [{ where, schema }] : []),
    ...Object.entries(properties).flatMap(([name, each]) => textsIn(`${where}.${name}`, each)),
    ...(isNode(propertyNames) ? textsIn(`${where}.names`, { type: 'string', ...propertyNames }) : []),
    ...(isNode(additionalProperties) ? textsIn(`${where}.values`, additionalProperties) : []),
    ...[items].filter(isNode).flatMap((each) => textsIn(`${where}.items`, each)),
    ...[...oneOf, ...anyOf].flatMap((each) => textsIn(where, each)),
  ];
}

/**
 * Paths and `Prefer` are excluded because they are not stored: an unknown path gets a 404, and unknown preferences are
 * ignored.
 */
const TEXTS = operations.flatMap(({ operationId, parameters, requestBody }) => [
  ...parameters
    .filter((each) => each.in === 'query' || each.name === 'Idempotency-Key')
    .flatMap(({ name, schema }) => textsIn(`${operationId} ${name}`, schema)),
  ...(requestBody === undefined ? [] : textsIn(operationId, requestBody.content['application/json'].schema)),
]);

/** Return URLs are parsed (a test below checks this), and callbacks are protected by the processor's signature. */
const BY_RULE = /^create(?:Payment|Order)\.return_url$|^receiveCallback\./;

/** They contain the merchant's own data, which is never part of a header, e-mail or log. */
const OF_LINES = /\.metadata\.values$/;

function takes({ schema }: Text, character: string): boolean {
  if ('enum' in schema || 'const' in schema || ['email', 'date'].includes(String(schema['format']))) return false;
  const { pattern = '' } = schema as { readonly pattern?: string };
  const allowed = new RegExp(pattern);
  return [character, `a${character}b`, `a${character}`, `${character}b`].some((text) => allowed.test(text));
}

let api: Api;
beforeEach(() => {
  api = new Api();
});

const post = (path: string, key: string, body: object) =>
  api.ask('POST', path, {
    headers: { 'Content-Type': 'application/json', 'Idempotency-Key': key },
    event: { body: JSON.stringify(body) },
  });

const PAYMENT = { amount: 1_000, currency: 'EUR', source: 'tok_ok' };

describe('a text in a request', () => {
  test('is a single line according to the API documents, except for metadata values, return URLs and callbacks', () => {
    const open = TEXTS.filter(
      (text) =>
        !BY_RULE.test(text.where) &&
        FORGING.some(
          (character) => !(OF_LINES.test(text.where) && '\t\n'.includes(character)) && takes(text, character),
        ),
    );
    expect(open.map(({ where }) => where)).toEqual([]);
    expect(TEXTS.length).toBeGreaterThan(50);
  });

  const ORDER = { ...PAYMENT, items: [{ sku: 'sku_tea', quantity: 1 }], email: 'ada@example.com' };
  const ENDPOINT = { url: 'https://shop.example.com/hooks', events: ['*'] };
  const BODIES: readonly [string, string, (text: string) => object][] = [
    ['/v1/payments', 'reference', (reference) => ({ ...PAYMENT, reference })],
    ['/v1/payments', 'description', (description) => ({ ...PAYMENT, description })],
    ['/v1/payments', 'source', (source) => ({ ...PAYMENT, source })],
    ['/v1/payments', 'return_url', (text) => ({ ...PAYMENT, return_url: `https://shop.example/${text}` })],
    ['/v1/payments', 'metadata.affiliate', (affiliate) => ({ ...PAYMENT, metadata: { affiliate } })],
    [
      '/v1/payments',
      'metadata.receipt_email',
      (text) => ({ ...PAYMENT, metadata: { receipt_email: `a${text}@b.de` } }),
    ],
    ['/v1/payments', 'metadata.order', (order) => ({ ...PAYMENT, metadata: { order } })],
    ['/v1/payments', 'metadata.order_id', (order_id) => ({ ...PAYMENT, metadata: { order_id } })],
    ['/v1/payments', 'metadata', (name) => ({ ...PAYMENT, metadata: { [name]: '' } })],
    ['/v1/orders', 'referrer', (referrer) => ({ ...ORDER, referrer })],
    ['/v1/orders', 'email', (text) => ({ ...ORDER, email: `ada${text}@example.com` })],
    ['/v1/webhook_endpoints', 'description', (description) => ({ ...ENDPOINT, description })],
    ['/v1/webhook_endpoints', 'url', (text) => ({ ...ENDPOINT, url: `https://shop.example.com/${text}` })],
  ];

  test.each(BODIES)(
    'is refused with a forbidden character, and the error names the field: %s, %s',
    async (path, param, bodyOf) => {
      for (const [index, character] of FORGING.entries()) {
        // JSON that contains U+0000 is refused as a whole, and the error names no field.
        const named = character === '\u0000' ? undefined : param;
        const answer = await post(path, `k-${index}`, bodyOf(`a${character}b`));
        expect({ character, status: answer.status, param: answer.body['param'] }).toEqual({
          character,
          status: 400,
          param: named,
        });
        expect(JSON.stringify(answer.body)).not.toContain(character);
      }
      const last = await post(path, 'k-last', bodyOf('tok_ok'));
      expect(last.status).toBeLessThan(300);
    },
  );
});

test('a metadata value may contain line breaks and tabs, but no other control character', async () => {
  const note = 'To the back door.\n\tRing twice,\r\nplease.';
  const stored = await post('/v1/payments', 'k-note', { ...PAYMENT, metadata: { note } });
  expect([stored.status, stored.body['metadata']]).toEqual([201, { note }]);
  const read = await api.get(`/v1/payments/${String(stored.body['id'])}`);
  expect(read.body['metadata']).toEqual({ note });
  for (const [index, character] of FORGING.filter((each) => !'\t\n\u0000'.includes(each)).entries()) {
    const { status, body } = await post('/v1/payments', `n-${index}`, {
      ...PAYMENT,
      metadata: { note: `a${character}b` },
    });
    expect({ character, status, param: body['param'] }).toEqual({ character, status: 400, param: 'metadata.note' });
  }
});
