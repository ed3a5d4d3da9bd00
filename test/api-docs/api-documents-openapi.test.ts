import { describe, expect, test } from '@jest/globals';
import Ajv2020 from '@redocly/ajv/dist/2020.js';
import * as z from 'zod';
import { processorProtocol } from '../../docs/generate/processor-protocol.ts';
import captured from '../../generated/api-examples.json' with { type: 'json' };
import { ENDPOINTS } from '../../lambdas/api-docs/endpoints.ts';
import { MEANINGS } from '../../lambdas/api-docs/problem-meanings.ts';
import { problem } from '../../lambdas/api-docs/problem-schema.ts';
import { PROBLEMS, type ProblemCode } from '../../lambdas/http/problems.ts';
import { JOBS } from '../../lambdas/jobs/contract/jobs.ts';
import { type PaymentId, tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { activityList } from '../../lambdas/operators/http/activity-answers.ts';
import { dryRun } from '../../lambdas/operators/http/effect-answers.ts';
import { order } from '../../lambdas/orders/http/order-object.ts';
import { payment, refund } from '../../lambdas/payments/http/payment-objects.ts';
import { partId } from '../../lambdas/payments/ids.ts';
import { mismatchList } from '../../lambdas/reconciliation/http/mismatch-answers.ts';
import { entryId } from '../../lambdas/views/http/entry-id.ts';
import { balanceList, ledgerEntryList, volumeList } from '../../lambdas/views/http/list-answers.ts';
import { inTurn } from '../support/slice.ts';
import { document, mismatch, type Node, numbersIn, operations, resolved } from './described-api.ts';

const routes = ENDPOINTS.map(({ method, path, scope, role }) => [`${method} ${path}`, [scope, role]] as const);

describe('the API description', () => {
  inTurn(test, { place: 1, of: 4, otherwise: test.skip })('passes the linter', async () => {
    const { createConfig, lintFromString } = await import('@redocly/openapi-core');
    const config = await createConfig({ extends: ['recommended'] });
    const problems = await lintFromString({ source: JSON.stringify(document), absoluteRef: '/openapi.json', config });

    expect(problems.map(({ ruleId, message }) => [ruleId, message])).toEqual([]);
  });

  test('contains only valid JSON Schema 2020-12', () => {
    const ajv = new Ajv2020.default({ strict: false, validateFormats: false });
    const schemas = [
      ...Object.values(document.components.schemas),
      ...operations.flatMap(({ parameters, requestBody, responses }) => [
        ...parameters.map(({ schema }) => schema),
        ...(requestBody === undefined ? [] : [requestBody.content['application/json'].schema]),
        ...Object.values(responses).flatMap(({ content }) => Object.values(content).map(({ schema }) => schema)),
      ]),
    ];
    expect(schemas.length).toBeGreaterThan(500);
    expect([...new Set(schemas)].filter((schema) => ajv.validateSchema(schema) !== true)).toEqual([]);
  });

  test.each([
    ['the API', document],
    ['a processor of your own', JSON.parse(processorProtocol()) as Node],
  ])('gives each number of %s a format that fits its range; amounts and times have 64 bits', (_of, described) => {
    const numbers = numbersIn(described);
    expect(numbers.length).toBeGreaterThan(15);
    const small = numbers.flatMap(([place, { format, minimum, maximum, const: only }]) => {
      if (format !== 'int32') return [];
      const [least, most] = [minimum ?? only, maximum ?? only];
      expect([place, Number(least) >= -(2 ** 31), Number(most) < 2 ** 31]).toEqual([place, true, true]);
      return [place.split('/').at(-1) === 'schema' ? place : (place.split('/properties/').at(-1) ?? '')];
    });
    expect(numbers.filter(([, { format }]) => !['int32', 'int64', 'double'].includes(String(format)))).toEqual([]);
    expect(
      small.filter((place) => /amount|fee|balance|sum|total|created|_from|_to|until|expires(?!_in)/.test(place)),
    ).toEqual([]);
  });

  test('lists all routes and no others, each with its scope and role if the route has them', () => {
    const described = operations.map(({ method, path, security }) => {
      const [scope, role] = ['apiKey', 'operator'].map((kind) => security.find((each) => kind in each)?.[kind]?.[0]);
      return [`${method} ${path}`, [scope, role]] as const;
    });

    expect(new Map(described)).toEqual(new Map(routes));
    expect(described).toHaveLength(routes.length);
  });

  test('lists `processor_unavailable` for each route that changes a payment at its processor, and keys in progress for the routes of operators', () => {
    const changing = operations.filter(({ path }) => /\/(?:refunds|capture|cancel|approve)$/.test(path));
    const asked = changing.filter(({ method }) => method === 'POST');
    expect(asked.map(({ path }) => path).length).toBeGreaterThanOrEqual(7);
    const without = asked.filter(
      ({ responses }) =>
        responses['503']?.content['application/problem+json']?.examples['processor_unavailable'] === undefined,
    );
    expect(without.map(({ path }) => path)).toEqual([]);
    const ofOperators = asked.filter(({ path }) => path.startsWith('/v1/admin/payments/'));
    for (const { responses } of ofOperators)
      expect(responses['409']?.content['application/problem+json']?.examples).toHaveProperty(
        'idempotency_key_in_progress',
      );
  });

  test('lists every problem code with its meaning, under its status', () => {
    for (const [code, { status }] of Object.entries(PROBLEMS)) {
      const meaning = MEANINGS[code as ProblemCode];
      const described = operations.map(({ responses }) => responses[status]?.description ?? '');
      expect([code, described.some((text) => text.includes(`- \`${code}\`: ${meaning}`))]).toEqual([code, true]);
    }
  });

  test('declares the header Retry-After for each response with status 429 or 503', () => {
    const limited = operations.flatMap(({ operationId, responses }) =>
      ['429', '503'].flatMap((status) =>
        status in responses ? [[operationId, status, responses[status]] as const] : [],
      ),
    );
    expect(limited.length).toBeGreaterThan(100);
    for (const [operation, status, response] of limited)
      expect([operation, status, response]).toMatchObject([operation, status, { headers: { 'Retry-After': {} } }]);
  });

  test('restricts integers by bounds, days by format, ids by pattern and event types to `*` or a set', () => {
    const parameter = (id: string, name: string) =>
      operations.find(({ operationId }) => operationId === id)?.parameters.find((each) => each.name === name)?.schema;

    expect(parameter('listPayments', 'limit')).toMatchObject({ type: 'integer', minimum: 1, maximum: 100 });
    expect(parameter('listEvents', 'created_from')).toMatchObject({ type: 'integer', minimum: 0 });
    expect(parameter('listLedgerEntries', 'day')).toMatchObject({ type: 'string', format: 'date' });
    expect(parameter('listPayments', 'starting_after')).toMatchObject({ pattern: '^pay_[a-z2-7]{32}$' });
    expect(document.components.schemas['CreateWebhookEndpoint']).toMatchObject({
      properties: { events: { oneOf: [{ items: { const: '*' } }, { type: 'array', uniqueItems: true }] } },
    });
  });

  test('accepts the longest possible ids as cursors', () => {
    const paymentId = `pay_${'a'.repeat(32)}` as PaymentId;
    const latest = { occurredAtMs: 999_999_999_999_999, paymentId, sequence: 999_999, leg: 9_999 };
    const owner = { tenantId: tenantId('ten_a'), mode: 'test' } as const;
    const runs = JOBS.map(({ id }) => `${id}:9999-12-31T23:59:59Z`);
    const longest: Readonly<Record<string, readonly string[]>> = {
      // Ids assigned by processors have at most 255 characters (lambdas/processors/event-body.ts).
      listDisputes: [partId('dispute', paymentId, '~'.repeat(255))],
      listLedgerEntries: [entryId(systemDigest, owner, latest)],
      listJobRuns: runs,
      listMismatches: [`mis_${Number.MAX_SAFE_INTEGER.toString(36).slice(0, 10)}_${'a'.repeat(26)}`],
    };
    for (const [operation, ids] of Object.entries(longest)) {
      const { parameters = [] } = operations.find(({ operationId }) => operationId === operation) ?? {};
      const cursors = parameters.filter(({ name }) => name === 'starting_after' || name === 'ending_before');
      expect([operation, cursors.length]).not.toEqual([operation, 0]);
      for (const { schema } of cursors)
        for (const id of ids) expect([operation, mismatch(schema, id)]).toEqual([operation, undefined]);
    }
  });

  test('declares no header that the gateway renames', () => {
    expect(JSON.stringify(document).toLowerCase()).not.toContain('www-authenticate');
  });
});

/** The schemas reject unknown fields. */
const DECLARED: Readonly<Record<string, z.ZodType>> = Object.fromEntries(
  ENDPOINTS.flatMap(({ body, docs }) => [body, ...Object.values(docs.answers).map(({ schema }) => schema)]).flatMap(
    (schema) => {
      const name = schema?.meta()?.id;
      if (schema === undefined || name === undefined) return [];
      return [[name, schema instanceof z.ZodObject ? schema.strict() : schema]];
    },
  ),
);

type Content = Readonly<
  Record<
    string,
    {
      readonly schema: { readonly $ref?: string };
      readonly examples: Readonly<Record<string, { readonly value: unknown }>>;
    }
  >
>;

interface Described {
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}

function nameOf({ $ref }: Content[string]['schema']): string {
  if ($ref === undefined) throw new Error('the schema has no name: add .meta({ id })');
  return $ref.replace('#/components/schemas/', '');
}

describe('every body in the API description', () => {
  const schemas: Readonly<Record<string, z.ZodType>> = {
    ...DECLARED,
    Problem: problem.strict(),
    CreateExport: z.looseObject({ kind: z.string() }),
    Callback: z.looseObject({ id: z.string() }),
    Resolved: z.union([payment.strict(), refund.strict(), dryRun.strict()]),
  };
  const described = document.paths as unknown as Readonly<Record<string, Readonly<Record<string, Described>>>>;
  const contents = operations.flatMap(({ operationId, path, method }) => {
    const { requestBody, responses }: Described = described[path]?.[method.toLowerCase()] ?? { responses: {} };
    return [
      ...Object.values(requestBody?.content ?? {}).map((each) => [`${operationId} request`, each] as const),
      ...Object.entries(responses).flatMap(([status, { content = {} }]) =>
        Object.values(content).map((each) => [`${operationId} ${status}`, each] as const),
      ),
    ];
  });

  test.each(contents)(
    'has at least one example, and each of its examples matches its schema: %s',
    (_where, { schema, examples }) => {
      const name = nameOf(schema);

      expect(Object.keys(examples)).not.toEqual([]);
      for (const { value } of Object.values(resolved(examples) as typeof examples)) {
        expect(schemas[name]?.parse(value)).toEqual(value);
      }
    },
  );

  test('has only problem examples that match their code and status', () => {
    for (const { responses } of operations) {
      for (const [status, response] of Object.entries(responses)) {
        for (const [code, { value }] of Object.entries(response.content['application/problem+json']?.examples ?? {})) {
          expect(value).toMatchObject({ code, status: Number(status) });
        }
      }
    }
  });
});

describe('the captured responses', () => {
  const inside = { payment: payment.strict(), refund: refund.strict(), order: order.strict() };
  const problems: Readonly<Record<string, Readonly<Record<string, unknown>>>> = captured.problems;

  test.each(Object.keys(problems))('contain only documented fields: %s', (code) => {
    const body = problems[code] ?? {};

    expect(problem.strict().parse(body)).toEqual(body);
    for (const [name, schema] of Object.entries(inside))
      if (name in body) expect(schema.parse(body[name])).toEqual(body[name]);
  });

  const { getVolumes, listActivity, listLedgerEntries, listBalances, listMismatches } = captured.operations;
  test.each([
    ['entries', ledgerEntryList.strict(), listLedgerEntries[200].payment],
    ['balances', balanceList.strict(), listBalances[200].merchant],
    ['volumes', volumeList.strict(), getVolumes[200].day],
    ['mismatches', mismatchList.strict(), listMismatches[200].open],
    ['activity', activityList.strict(), listActivity[200].correction],
  ] as const)('contain all documented fields of each item in the list of %s', (_what, schema, { value }) => {
    expect(value.data.map((each) => Object.keys(each))).toEqual(
      value.data.map(() => Object.keys(schema.shape.data.element.shape)),
    );
  });
});
