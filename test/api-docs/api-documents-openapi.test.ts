import { describe, expect, test } from '@jest/globals';
import * as z from 'zod';
import {
  balanceList,
  correction,
  disputesOfPayment,
  dryRun,
  ledgerEntryList,
  mismatchList,
  problem,
  refundList,
  transitionList,
} from '../../lambdas/api-docs/answer-schemas.ts';
import { received } from '../../lambdas/api-docs/callback-path.ts';
import captured from '../../lambdas/api-docs/examples.json' with { type: 'json' };
import { jobList, jobRun, jobRunList } from '../../lambdas/api-docs/job-answers.ts';
import { event, eventList, paymentList } from '../../lambdas/api-docs/list-schemas.ts';
import { openApiDocument } from '../../lambdas/api-docs/openapi.ts';
import * as webhookAnswers from '../../lambdas/api-docs/webhook-answers.ts';
import { PROBLEMS } from '../../lambdas/http/problems.ts';
import { startRunBody } from '../../lambdas/jobs/http/job-schemas.ts';
import { CURRENCIES } from '../../lambdas/kernel/currency.ts';
import { order } from '../../lambdas/orders/http/order-object.ts';
import { createOrderBody } from '../../lambdas/orders/http/order-schemas.ts';
import { createPaymentBody, dispute, payment, refund } from '../../lambdas/payments/http/payment-objects.ts';
import { cancelBody, captureBody, refundBody } from '../../lambdas/payments/http/payment-schemas.ts';
import { correctionBody, decisionBody } from '../../lambdas/reconciling/http/ledger-schemas.ts';
import * as webhookBodies from '../../lambdas/webhooks/http/webhook-schemas.ts';

/** As clients get it: what JSON drops is not there. */
const document: unknown = JSON.parse(JSON.stringify(openApiDocument));

/** The rules of OpenAPI 3.1 for the parts that we use. */
const schemaObject = z.record(z.string(), z.unknown());
const exampleObjects = z.record(z.string(), z.strictObject({ summary: z.string().min(1), value: z.unknown() }));
const content = z.record(
  z.string().regex(/^application\/(problem\+)?json$/),
  z.strictObject({ schema: z.strictObject({ $ref: z.string() }), examples: exampleObjects }),
);
const header = z.strictObject({
  description: z.string().optional(),
  required: z.boolean().optional(),
  schema: schemaObject,
});
const parameter = z.strictObject({
  in: z.enum(['path', 'query', 'header']),
  name: z.string(),
  description: z.string(),
  required: z.boolean().optional(),
  schema: schemaObject,
});
const operation = z.strictObject({
  operationId: z.string().regex(/^[a-zA-Z]+$/),
  summary: z.string().min(1),
  description: z.string().min(1),
  parameters: z.array(parameter).default([]),
  security: z.tuple([]).optional(),
  requestBody: z.strictObject({ required: z.boolean(), description: z.string(), content }).optional(),
  responses: z.record(
    z.string().regex(/^[2-5]\d\d$/),
    z.strictObject({ description: z.string().min(1), headers: z.record(z.string(), header), content }),
  ),
});
const openApi31 = z.strictObject({
  openapi: z.string().regex(/^3\.1\.\d$/),
  info: z.strictObject({
    title: z.string(),
    version: z.string(),
    description: z.string(),
    license: z.strictObject({ name: z.string(), identifier: z.string() }),
  }),
  servers: z.array(z.strictObject({ url: z.string() })),
  security: z.array(z.record(z.string(), z.array(z.string()))),
  paths: z.record(
    z.string().startsWith('/'),
    z.strictObject({
      get: operation.optional(),
      post: operation.optional(),
      patch: operation.optional(),
      delete: operation.optional(),
    }),
  ),
  components: z.strictObject({
    schemas: z.record(z.string(), schemaObject),
    securitySchemes: z.record(
      z.string(),
      z.strictObject({ type: z.literal('http'), scheme: z.literal('bearer'), description: z.string() }),
    ),
  }),
});

const parsed = openApi31.parse(document);
const operations = Object.values(parsed.paths).flatMap((path) =>
  [path.get, path.post, path.patch, path.delete].filter((each) => each !== undefined),
);

/** Every object inside, with its place. */
function* objectsInside(value: unknown, place = '#'): Generator<readonly [string, Record<string, unknown>]> {
  if (typeof value !== 'object' || value === null) return;
  yield [place, value as Record<string, unknown>];
  for (const [key, inner] of Object.entries(value)) yield* objectsInside(inner, `${place}/${key}`);
}

describe('the description of the API', () => {
  test('has each path with its methods, and a unique name for each operation', () => {
    expect(Object.entries(parsed.paths).map(([path, methods]) => [path, Object.keys(methods)])).toEqual([
      ['/v1/payments', ['get', 'post']],
      ['/v1/payments/{id}', ['get']],
      ['/v1/payments/{id}/transitions', ['get']],
      ['/v1/payments/{id}/capture', ['post']],
      ['/v1/payments/{id}/cancel', ['post']],
      ['/v1/payments/{id}/refunds', ['get', 'post']],
      ['/v1/refunds/{id}', ['get']],
      ['/v1/payments/{id}/disputes', ['get']],
      ['/v1/disputes/{id}', ['get']],
      ['/v1/orders', ['post']],
      ['/v1/orders/{id}', ['get']],
      ['/v1/events', ['get']],
      ['/v1/events/{id}', ['get']],
      ['/v1/ledger/entries', ['get']],
      ['/v1/balances', ['get']],
      ['/v1/admin/corrections', ['post']],
      ['/v1/admin/payments/{id}/resolve', ['post']],
      ['/v1/admin/mismatches', ['get']],
      ['/v1/admin/jobs', ['get']],
      ['/v1/admin/jobs/{id}/runs', ['get', 'post']],
      ['/v1/admin/jobs/{id}/runs/{run}', ['get']],
      ['/v1/webhook_endpoints', ['get', 'post']],
      ['/v1/webhook_endpoints/{id}', ['get', 'patch', 'delete']],
      ['/v1/webhook_endpoints/{id}/rotate_secret', ['post']],
      ['/v1/webhook_endpoints/{id}/replay', ['post']],
      ['/v1/webhook_endpoints/{id}/deliveries', ['get']],
      ['/v1/webhook_endpoints/{id}/deliveries/{delivery}/resend', ['post']],
      ['/callbacks/{processor}', ['post']],
    ]);
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
  });

  test('declares each path parameter', () => {
    for (const [path, methods] of Object.entries(parsed.paths)) {
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      for (const { parameters } of Object.values(methods).filter((each) => each !== undefined)) {
        expect(parameters.filter((each) => each.in === 'path').map(({ name }) => name)).toEqual(named);
      }
    }
  });

  test('has no dangling reference', () => {
    const places = new Map(objectsInside(document));
    const references = [...places.values()].map((each) => each['$ref']).filter((each) => typeof each === 'string');

    expect(references.length).toBeGreaterThan(10);
    expect(references.filter((reference) => !places.has(reference))).toEqual([]);
  });

  test('lists every problem code with its meaning under its status', () => {
    for (const [code, { status, meaning }] of Object.entries(PROBLEMS)) {
      const described = operations.map(({ responses }) => responses[status]?.description ?? '');
      expect([code, described.some((text) => text.includes(`- \`${code}\`: ${meaning}`))]).toEqual([code, true]);
    }
  });

  test('describes a body as the validation does', () => {
    const { properties, required } = z
      .object({ properties: z.record(z.string(), schemaObject), required: z.array(z.string()) })
      .parse(parsed.components.schemas['CreatePayment']);

    expect(Object.keys(properties)).toEqual([
      'amount',
      'currency',
      'source',
      'capture',
      'reference',
      'description',
      'metadata',
      'return_url',
    ]);
    expect(required).toEqual(['amount', 'currency', 'source']);
    expect(properties['amount']).toMatchObject({ type: 'integer', minimum: 1, maximum: 999_999_999_999 });
    expect(properties['currency']).toMatchObject({ enum: CURRENCIES });
    expect(parsed.components.schemas['CreatePayment']).toMatchObject({ additionalProperties: false });
  });

  test('makes the bodies of changes optional, and no other', () => {
    const optional = operations.filter(({ requestBody }) => requestBody?.required === false);

    expect(optional.map(({ operationId }) => operationId)).toEqual([
      'capturePayment',
      'cancelPayment',
      'createRefund',
      'startJobRun',
      'rotateWebhookSecret',
    ]);
    for (const [name, fields] of [
      ['CapturePayment', ['amount']],
      ['CancelPayment', []],
      ['RefundPayment', ['amount', 'reason']],
    ] as const) {
      const { properties = {}, ...schema } = parsed.components.schemas[name] ?? {};
      expect([name, Object.keys(properties as object)]).toEqual([name, fields]);
      expect(schema).toMatchObject({ additionalProperties: false });
      expect(schema).not.toHaveProperty('required');
    }
    expect(parsed.components.schemas['RefundPayment']).toMatchObject({
      properties: { amount: { type: 'integer', minimum: 1, maximum: 999_999_999_999 } },
    });
  });

  test('has examples that are valid by the schemas', () => {
    const examples = Object.entries(createPaymentBody.shape).map(([name, schema]) => [
      name,
      schema.meta()?.['example'],
    ]);
    const body = Object.fromEntries(examples.filter(([, example]) => example !== undefined)) as unknown;

    expect(createPaymentBody.parse(body)).toMatchObject({ amount: 1000, currency: 'EUR', source: 'tok_ok' });
    expect(payment.shape.id.parse(payment.shape.id.meta()?.['example'])).toBeDefined();
  });
});

const exact = {
  payment: payment.strict(),
  problem: problem.strict(),
  refund: refund.strict(),
  refundList: refundList.strict(),
  transitionList: transitionList.strict(),
  ledgerEntryList: ledgerEntryList.strict(),
  balanceList: balanceList.strict(),
  correction: correction.strict(),
  mismatchList: mismatchList.strict(),
  order: order.strict(),
  paymentList: paymentList.strict(),
  event: event.strict(),
  eventList: eventList.strict(),
};

const WEBHOOK_SCHEMAS: Readonly<Record<string, z.ZodType>> = {
  CreateWebhookEndpoint: webhookBodies.createEndpointBody,
  UpdateWebhookEndpoint: webhookBodies.updateEndpointBody,
  RotateWebhookSecret: webhookBodies.rotateSecretBody,
  ReplayWebhooks: webhookBodies.replayBody,
  WebhookEndpoint: webhookAnswers.webhookEndpoint.strict(),
  WebhookEndpointWithSecret: webhookAnswers.webhookEndpointWithSecret.strict(),
  WebhookEndpointList: webhookAnswers.webhookEndpointList.strict(),
  DeletedWebhookEndpoint: webhookAnswers.deletedEndpoint.strict(),
  WebhookDelivery: webhookAnswers.webhookDelivery.strict(),
  WebhookDeliveryList: webhookAnswers.webhookDeliveryList.strict(),
  WebhookReplay: webhookAnswers.webhookReplay.strict(),
};

describe('each example of a body', () => {
  const schemas: Readonly<Record<string, z.ZodType>> = {
    CreatePayment: createPaymentBody,
    CapturePayment: captureBody,
    CancelPayment: cancelBody,
    RefundPayment: refundBody,
    ResolvePayment: decisionBody,
    Payment: exact.payment,
    Refund: exact.refund,
    RefundList: exact.refundList,
    Dispute: dispute.strict(),
    DisputesOfPayment: disputesOfPayment.strict(),
    Problem: exact.problem,
    TransitionList: exact.transitionList,
    LedgerEntryList: exact.ledgerEntryList,
    BalanceList: exact.balanceList,
    CreateCorrection: correctionBody,
    Correction: exact.correction,
    DryRun: dryRun.strict(),
    MismatchList: exact.mismatchList,
    CreateOrder: createOrderBody,
    Order: exact.order,
    ...WEBHOOK_SCHEMAS,
    JobList: jobList.strict(),
    JobRun: jobRun.strict(),
    JobRunList: jobRunList.strict(),
    StartJobRun: startRunBody,
    PaymentList: exact.paymentList,
    Event: exact.event,
    EventList: exact.eventList,
    Callback: z.looseObject({ id: z.string() }),
    Received: received.strict(),
  };
  const contents = operations.flatMap(({ operationId, requestBody, responses }) => [
    ...Object.values(requestBody?.content ?? {}).map((each) => [`${operationId} request`, each] as const),
    ...Object.entries(responses).flatMap(([status, response]) =>
      Object.values(response.content).map((each) => [`${operationId} ${status}`, each] as const),
    ),
  ]);

  test.each(contents)('of %s exists and is valid by its schema', (_where, { schema, examples: shown }) => {
    const name = schema.$ref.replace('#/components/schemas/', '');

    expect(Object.keys(shown)).not.toEqual([]);
    for (const { value } of Object.values(shown)) expect(schemas[name]?.parse(value)).toEqual(value);
  });

  test('of a problem is named by its code, under its status', () => {
    for (const { responses } of operations) {
      for (const [status, response] of Object.entries(responses)) {
        for (const [code, { value }] of Object.entries(response.content['application/problem+json']?.examples ?? {})) {
          expect(value).toMatchObject({ code, status: Number(status) });
        }
      }
    }
  });
});

describe('the captured answers', () => {
  const inside = { payment: exact.payment, refund: exact.refund, order: exact.order };
  const problems: Readonly<Record<string, Readonly<Record<string, unknown>>>> = captured.problems;

  test.each(Object.keys(problems))('to %s contain no undescribed field', (code) => {
    const body = problems[code] ?? {};

    expect(exact.problem.parse(body)).toEqual(body);
    for (const [name, schema] of Object.entries(inside))
      if (name in body) expect(schema.parse(body[name])).toEqual(body[name]);
  });

  const { listLedgerEntries, listBalances, listMismatches } = captured.operations;
  test.each([
    ['entries', exact.ledgerEntryList, listLedgerEntries[200].payment],
    ['balances', exact.balanceList, listBalances[200].merchant],
    ['mismatches', exact.mismatchList, listMismatches[200].open],
  ] as const)('of the Ledger’s %s contain every described field', (_what, schema, { value }) => {
    expect(value.data.map((each) => Object.keys(each))).toEqual(
      value.data.map(() => Object.keys(schema.shape.data.element.shape)),
    );
  });
});
