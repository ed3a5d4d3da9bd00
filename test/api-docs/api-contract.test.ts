/** Tests the guarantee "strict requests". */
import { beforeEach, describe, expect, test } from '@jest/globals';
import { CURRENCIES, largestAmountMinor } from '../../lambdas/kernel/currency.ts';
import { fc } from '../support/properties.ts';
import { sliceOf, whole } from '../support/slice.ts';
import { Api, OPERATOR_KEY } from '../world/api.ts';
import { type DescribedOperation, mismatch, type Node, operations } from './described-api.ts';

interface Sent {
  readonly path: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly header: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
}

/** All other codes depend on state, on the rules below, or on the meaning of the body. */
const REFUSED_FORM = new Set([
  'invalid_request',
  'unknown_field',
  'unknown_parameter',
  'invalid_json',
  'missing_idempotency_key',
  'invalid_idempotency_key',
  'unsupported_media_type',
  'body_too_large',
]);

/** Only the signature over the whole body of a callback is checked. */
const checked = operations.filter(({ operationId }) => operationId !== 'receiveCallback');

// ------------------------------------------------------------------------------------- rules beyond the schemas

type Body = Record<string, unknown>;

interface Rule {
  readonly described: RegExp;
  /** @default body */
  readonly of?: 'query';
  readonly keep: (part: Body, nowSeconds: number, header: Sent['header']) => Body;
}

const LARGEST: Rule = {
  described: /at most 10 digits for currencies without decimals, 12 for the others/,
  keep: (body) => ({
    ...body,
    amount: Math.min(Number(body['amount']), largestAmountMinor(String(body['currency'])) ?? 1),
  }),
};
const METADATA: Rule = {
  described: /together at most 2048 bytes/,
  keep: ({ metadata, ...body }) =>
    metadata === undefined || Buffer.byteLength(JSON.stringify(metadata)) > 2_048 ? body : { ...body, metadata },
};
const RANGE: Rule = {
  described: /at most 31 days after `created_from`/,
  keep: (body) => {
    const from = Math.min(Number(body['created_from']), 9_999_999_998);
    const seconds = 1 + (Number(body['created_to']) % (31 * 86_400));
    return { ...body, created_from: from, created_to: Math.min(from + seconds, 9_999_999_999) };
  },
};
const PAST: Rule = {
  described: /at most 30 days ago/,
  keep: ({ scheduled_for: time, ...body }, nowSeconds) =>
    time === undefined ? body : { ...body, scheduled_for: nowSeconds - (Number(time) % (30 * 86_400)) },
};
const SHORT_RANGE: Rule = {
  of: 'query',
  described: /needs `created_from` and `created_to`, at most 31 days after `created_from`/,
  keep: (query) => {
    if (query['amount'] === undefined) return query;
    return { ...query, created_from: 1, created_to: 1 + (Number(query['created_to'] ?? 0) % (31 * 86_400)) };
  },
};
const ONE_LOOKUP: Rule = {
  of: 'query',
  described: /Cannot be combined with `reference`/,
  keep: ({ charge_id: charge, ...query }) =>
    charge === undefined || query['reference'] !== undefined ? query : { ...query, charge_id: charge },
};
const KEY_OR_DRY_RUN: Rule = {
  described: /Required unless `dry_run` is true/,
  keep: (body, _nowSeconds, header) => ({ ...body, ...('Idempotency-Key' in header ? {} : { dry_run: true }) }),
};
const OWNER_OF_KEY: Rule = {
  of: 'query',
  described: /Required for the paths of operators, and not allowed for others/,
  keep: ({ tenant, mode, operator, ...query }) =>
    String(query['path']).startsWith('/v1/admin/')
      ? { ...query, operator: operator ?? 'Ada Example' }
      : { ...query, tenant: tenant ?? 'ten_desk', ...(mode === undefined ? {} : { mode }) },
};
const SEARCHED_RANGE: Rule = {
  of: 'query',
  described: /at least `amount_from`. The filter needs `created_from` and `created_to`, at most 31 days after/,
  keep: ({ amount_to: _most, ...query }) => ({
    ...query,
    created_from: 1,
    created_to: 1 + (Number(query['created_to'] ?? 0) % (31 * 86_400)),
  }),
};
const TENANT_OF_SEARCH: Rule = {
  of: 'query',
  described: /Required except with `status=needs_review`/,
  keep: ({ q: _text, tenant = 'ten_desk', ...query }) => ({ ...query, tenant }),
};
const DAY_OR_DAYS: Rule = {
  of: 'query',
  described: /Cannot be combined with `from` or `to`/,
  keep: ({ day, from, to, ...query }) =>
    day !== undefined || from === undefined
      ? { ...query, ...(day === undefined ? {} : { day }) }
      : { ...query, from, ...(Date.parse(to as string) >= Date.parse(from as string) ? { to } : {}) },
};
const DAYS: Rule = {
  of: 'query',
  described: /The range can include at most 92 days/,
  keep: (query) => {
    const span = Date.parse(String(query['to'])) - Date.parse(String(query['from']));
    return span >= 0 && span < 92 * 86_400_000 ? query : { ...query, to: query['from'] };
  },
};

const EXPORTED: Rule = {
  described: /The range can include at most 366 days/,
  keep: ({ kind, from, to, currency }) => {
    const span = Date.parse(String(to)) - Date.parse(String(from));
    const last = span >= 0 && span < 366 * 86_400_000 ? to : from;
    return { kind, from, to: last, ...(currency === undefined ? {} : { currency }) };
  },
};

const ENABLED_BY_OPERATOR: Rule = {
  described: /An operator can only set `enabled`/,
  keep: (body, _nowSeconds, header) => ('Payonce-Tenant' in header ? { enabled: body['enabled'] ?? true } : body),
};
const BOTH_NULL: Rule = {
  described: /Null, together with `burst`/,
  keep: (body) => (body['rate'] === null || body['burst'] === null ? { ...body, rate: null, burst: null } : body),
};

const RULES: Readonly<Record<string, readonly Rule[]>> = {
  createExport: [EXPORTED],
  createPayment: [LARGEST, METADATA],
  listLedgerEntries: [DAY_OR_DAYS],
  listPayments: [ONE_LOOKUP, SHORT_RANGE],
  createOrder: [LARGEST],
  getVolumes: [DAYS],
  searchPayments: [SEARCHED_RANGE, TENANT_OF_SEARCH],
  findIdempotencyRecord: [OWNER_OF_KEY],
  createCorrection: [KEY_OR_DRY_RUN],
  resolvePayment: [KEY_OR_DRY_RUN],
  replayWebhooks: [RANGE],
  startJobRun: [PAST],
  setLimit: [BOTH_NULL],
  updateWebhookEndpoint: [ENABLED_BY_OPERATOR],
};
/**
 * A cursor must be the id of an existing object, and a request may have only one cursor, so valid generated requests
 * contain none.
 */
const CURSORS = new Set(['starting_after', 'ending_before']);

// ------------------------------------------------------------------------------------------- generated requests

/** Any character except U+0000, and U+D800 to U+FFFF (surrogates, private use, and U+FFFD, among others). */
const character = fc
  .oneof(
    fc.integer({ min: 0x20, max: 0x7e }),
    fc.integer({ min: 1, max: 0xd7_ff }),
    fc.integer({ min: 0x1_00_00, max: 0x10_ff_ff }),
  )
  .map((point) => String.fromCodePoint(point));

/** Knows the JSON Schema keywords that the document uses. */
function valueOf(schema: Node): fc.Arbitrary<unknown> {
  const {
    type,
    items,
    properties = {},
    required = [],
    additionalProperties,
    propertyNames,
  } = schema as {
    readonly type?: string | readonly string[];
    readonly items?: Node;
    readonly properties?: Readonly<Record<string, Node>>;
    readonly required?: readonly string[];
    readonly additionalProperties?: Node | false;
    readonly propertyNames?: Node;
  };
  const choices = (type === 'object' ? undefined : (schema['oneOf'] ?? schema['anyOf'])) as readonly Node[] | undefined;
  if (choices !== undefined) return fc.oneof(...choices.map(valueOf));
  if ('const' in schema) return fc.constant(schema['const']);
  if (Array.isArray(schema['enum'])) return fc.constantFrom(...(schema['enum'] as readonly unknown[]));
  switch (String(type)) {
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'integer':
      return fc.integer({ min: Number(schema['minimum'] ?? 0), max: Number(schema['maximum'] ?? 1_000_000) });
    case 'string':
      return textOf(schema);
    case 'array':
      return fc.array(valueOf(items ?? {}), {
        minLength: Number(schema['minItems'] ?? 0),
        maxLength: Number(schema['maxItems'] ?? 5),
      });
    case 'object': {
      const named = Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, valueOf(each)]));
      if (typeof additionalProperties !== 'object') return fc.record(named, { requiredKeys: [...required] });
      return fc.dictionary(valueOf({ type: 'string', ...propertyNames }).map(String), valueOf(additionalProperties), {
        maxKeys: Number(schema['maxProperties'] ?? 5),
        noNullPrototype: true,
      });
    }
    default:
      throw new Error(`no generator for the schema ${JSON.stringify(schema)}`);
  }
}

const YEARS = { min: new Date('1970-01-01T00:00:00Z'), max: new Date('9999-12-31T00:00:00Z') };

function textOf(schema: Node): fc.Arbitrary<string> {
  const {
    format,
    pattern,
    minLength = 0,
    maxLength = 20,
  } = schema as {
    readonly format?: string;
    readonly pattern?: string;
    readonly minLength?: number;
    readonly maxLength?: number;
  };
  if (format === 'email') return fc.emailAddress().filter((email) => mismatch(schema, email) === undefined);
  if (format === 'date')
    return fc.date({ ...YEARS, noInvalidDate: true }).map((date) => date.toISOString().slice(0, 10));
  if (format === 'uri') return fc.webUrl({ validSchemes: ['https'] });
  const isFree = pattern === undefined || pattern.startsWith('^[^');
  const known = new RegExp(isFree ? (pattern ?? '') : '');
  const each = character.filter((one) => known.test(`x${one}`));
  const free = fc.array(each, { minLength, maxLength }).map((characters) => characters.join(''));
  if (pattern === undefined) return free;
  return isFree ? free.map((text) => `x${Array.from(text).slice(1).join('')}`) : fc.stringMatching(new RegExp(pattern));
}

function requestOf({ parameters, requestBody }: DescribedOperation): fc.Arbitrary<Sent> {
  const part = (place: string) => {
    const own = parameters.filter((each) => each.in === place && !CURSORS.has(each.name));
    return fc.record(Object.fromEntries(own.map(({ name, schema }) => [name, valueOf(schema)])), {
      requiredKeys: own.filter(({ required }) => required === true).map(({ name }) => name),
    });
  };
  const parts = { path: part('path'), query: part('query'), header: part('header') };
  if (requestBody === undefined) return fc.record(parts);
  const { schema } = requestBody.content['application/json'];
  const body = valueOf(schema).filter((value) => mismatch(schema, value) === undefined);
  return fc.record({ ...parts, body }, { requiredKeys: ['path', 'query', 'header', ...bodyKey(requestBody.required)] });
}

const bodyKey = (required: boolean): readonly 'body'[] => (required ? ['body'] : []);

// --------------------------------------------------------------------------------------------------------------- tests

let api: Api;
let keys = 0;

beforeEach(() => {
  api = new Api();
  keys = 0;
});

/** The text is empty unless the request was refused as malformed or the server failed. */
async function send({ method, path }: DescribedOperation, sent: Sent): Promise<readonly [number, string]> {
  const address = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(String(sent.path[name])));
  const query = new URLSearchParams(
    Object.fromEntries(Object.entries(sent.query).map(([name, value]) => [name, String(value)])),
  );
  const headers = Object.fromEntries(Object.entries(sent.header).map(([name, value]) => [name, String(value)]));
  const body = sent.body === undefined ? null : JSON.stringify(sent.body);
  const type = body === null ? {} : { 'Content-Type': 'application/json' };
  const reply = await api.ask(method, query.size === 0 ? address : `${address}?${query.toString()}`, {
    headers: {
      ...type,
      ...headers,
      ...('Payonce-Tenant' in headers ? { Authorization: `Bearer ${OPERATOR_KEY}` } : {}),
    },
    event: { body },
  });
  const { code = '' } = reply.body as { readonly code?: string };
  return [
    reply.status,
    REFUSED_FORM.has(code) || reply.status >= 500
      ? `${code}: ${String(reply.body['param'])}: ${String(reply.body['detail'])}`
      : '',
  ];
}

function kept({ operationId }: DescribedOperation, sent: Sent): Sent {
  const rules = RULES[operationId] ?? [];
  const nowSeconds = Math.floor(api.clock.nowMs() / 1000);
  const keep = (of: Rule['of'], part: Body) =>
    rules.filter((rule) => rule.of === of).reduce((left, rule) => rule.keep(left, nowSeconds, sent.header), part);
  const query = keep('query', sent.query);
  return sent.body === undefined
    ? { ...sent, query }
    : { ...sent, query, body: rules.length === 0 ? sent.body : keep(undefined, sent.body as Body) };
}

const named = checked.map((operation) => [operation.operationId, operation] as const);

describe.each(sliceOf(named, 5))('%s', (operationId, operation) => {
  test('accepts every request that the document allows', async () => {
    await fc.assert(
      fc.asyncProperty(requestOf(operation), async (sent) => {
        keys += 1;
        const key = 'Idempotency-Key' in sent.header ? { 'Idempotency-Key': `${keys}` } : {};
        const own = keys % 2 === 0 ? sent : { ...sent, header: { ...sent.header, ...key } };
        expect((await send(operation, kept(operation, own)))[1]).toBe('');
      }),
      { numRuns: whole(40, { slice: 2 }) },
    );
  });

  test('responds with 400 to requests that the document forbids', async () => {
    const [sample] = fc.sample(requestOf(operation), { numRuns: 1, seed: 7 });
    if (sample === undefined) throw new Error('no sample');
    const valid = kept(operation, sample);
    for (const [what, sent] of faultsIn(operation, valid)) {
      expect([what, (await send(operation, sent))[0]]).toEqual([what, 400]);
    }
  });

  test('documents each rule that a schema cannot express', () => {
    for (const { described } of RULES[operationId] ?? []) expect(JSON.stringify(operation)).toMatch(described);
  });
});

/** Each copy has exactly one fault. */
function* faultsIn(operation: DescribedOperation, valid: Sent): Generator<readonly [string, Sent]> {
  const { parameters, requestBody, method } = operation;
  if (method === 'GET') yield ['an unknown parameter', { ...valid, query: { ...valid.query, no_such: '1' } }];
  for (const { name, in: place, required = false, schema } of parameters) {
    if (place === 'path' || name === 'Prefer') continue;
    if (required || name === 'Idempotency-Key') {
      const { [name]: _left, ...others } = valid[place];
      yield [`no ${name}`, { ...withoutDryRun(valid), [place]: others }];
    }
    for (const wrong of wrongTexts(schema))
      yield [`${name} ${wrong}`, { ...withoutDryRun(valid), [place]: { ...valid[place], [name]: wrong } }];
  }
  if (requestBody === undefined) return;
  const { schema } = requestBody.content['application/json'];
  const body = (valid.body ?? {}) as Body;
  yield ['an unknown field', { ...valid, body: { ...body, no_such: 1 } }];
  for (const [name, field] of Object.entries((schema['properties'] ?? {}) as Readonly<Record<string, Node>>)) {
    for (const wrong of [...wrongTexts(field), 1.5, true, {}, [], ['no such'], null, undefined]) {
      const changed = { ...body, [name]: wrong };
      const sent = JSON.parse(JSON.stringify(changed)) as unknown;
      if (mismatch(schema, sent) !== undefined) yield [`${name} ${JSON.stringify(wrong)}`, { ...valid, body: sent }];
    }
  }
}

/** A dry run needs no idempotency key. */
function withoutDryRun(sent: Sent): Sent {
  if (sent.body === undefined) return sent;
  const { dry_run: _dry, ...body } = sent.body as Body;
  return { ...sent, body };
}

/** The values are malformed, or just outside the bounds. */
function wrongTexts(schema: Node): readonly (string | number)[] {
  const { type, minimum, maximum, maxLength } = schema as Readonly<Record<string, number | string | undefined>>;
  if (type === 'integer') return [Number(minimum) - 1, Number(maximum) + 1, 'x', '1.5', '', '01'];
  const long = maxLength === undefined ? [] : ['x'.repeat(Number(maxLength) + 1), '😀'.repeat(Number(maxLength) + 1)];
  return ['', '!', 'é', 'no such thing', '2026-02-30', ...long].filter((text) => mismatch(schema, text) !== undefined);
}

test('text lengths are counted in code points', async () => {
  const operation = checked.find((each) => each.operationId === 'createPayment');
  if (operation === undefined) throw new Error('no such operation');
  const texts = { reference: '😀'.repeat(255), description: '😀'.repeat(500) };
  const body = { amount: 1, currency: CURRENCIES[0], source: 'tok_ok', ...texts };
  expect((await send(operation, { path: {}, query: {}, header: { 'Idempotency-Key': 'k' }, body }))[1]).toBe('');
});
