import { describe, expect, test } from '@jest/globals';
import {
  creationExamples,
  paymentExamples,
  problemExample,
  transitionExamples,
  unknownOutcomeExamples,
} from '../../lambdas/api-documents/examples.ts';
import type { PaymentStore, Processor } from '../../lambdas/app/ports.ts';
import { MAX_BODY_BYTES } from '../../lambdas/contract/limits.ts';
import { AmbiguousError, RetryableError } from '../../lambdas/core/faults.ts';
import type { ProblemCode } from '../../lambdas/runtime/problems.ts';
import { API_KEY, PaymentsDesk, type Reply } from '../support/payments-desk.ts';
import { synthesize } from '../support/synth.ts';

/** The API with a processor that has the name of the sandbox's. */
function deskWith(processor: Partial<Processor> = {}): PaymentsDesk {
  const desk = new PaymentsDesk();
  return new PaymentsDesk({
    store: desk.store,
    clock: desk.clock,
    processor: { ...desk.processor, name: 'sandbox', ...processor },
  });
}

const silent: Partial<Processor> = {
  charge: async () => {
    throw new AmbiguousError('processor_timeout', 'no answer');
  },
  findCharge: async () => {
    throw new RetryableError('processor_unavailable', 'no answer');
  },
};

const refusing: Partial<Processor> = {
  charge: async () => {
    throw new RetryableError('processor_unauthorized', 'not now');
  },
};

const failingStore = (error: Error) =>
  new Proxy({} as PaymentStore, {
    get: () => async () => {
      throw error;
    },
  });

/** The same text with the names that differ from run to run made the same. */
const withoutNames = (text: string): unknown =>
  JSON.parse(
    text
      .replaceAll(/pay_[a-z2-7]{32}/g, 'pay_x')
      .replaceAll(/"request_id":"[^"]+"/g, '"request_id":"x"')
      .replaceAll(/"ch_[^"]+"/g, '"ch_x"'),
  );

const sameAs = (example: unknown) => withoutNames(JSON.stringify(example));

const MINUTE = 60_000;
const good = creationExamples.smallest.value;

/** How to be answered with each problem; those of the gateway before the function are not ours to provoke. */
const PROVOKED: Readonly<Record<Exclude<ProblemCode, GatewayCode>, () => Promise<Reply>>> = {
  invalid_json: () => deskWith().post('{"amount":1000,"amount":1000}'),
  invalid_request: () => deskWith().pay('k', { amount: 10.5 }),
  unknown_field: () => deskWith().pay('k', { status: 'succeeded' }),
  unknown_parameter: () => deskWith().get('/v1/payments/x?expand=charge'),
  card_number_not_allowed: () => deskWith().pay('k', { metadata: { note: '4242 4242 4242 4242' } }),
  secret_not_allowed: () => deskWith().pay('k', { description: 'sk_live_0123456789abcdefghijkl' }),
  missing_idempotency_key: () => deskWith().pay(''),
  invalid_idempotency_key: () => deskWith().pay('two words'),
  unauthorized: () => deskWith().get('/v1/payments/x', { headers: { Authorization: 'Bearer nonsense' } }),
  payment_failed: () => deskWith().pay('k', { source: 'tok_declined' }),
  insufficient_scope: () => {
    const desk = deskWith();
    desk.registerKey(API_KEY, { scopes: [] });
    return desk.pay('k');
  },
  not_found: () => deskWith().get('/v1/payments/x'),
  method_not_allowed: () => deskWith().ask('DELETE', '/v1/payments'),
  idempotency_key_in_progress: async () => {
    const rival = Promise.withResolvers<Reply>();
    const asked = new PaymentsDesk();
    const first = new PaymentsDesk({
      store: asked.store,
      clock: asked.clock,
      processor: {
        ...asked.processor,
        charge: async (order, limit) => {
          rival.resolve(await asked.pay('k'));
          return asked.processor.charge(order, limit);
        },
      },
    });
    await first.pay('k');
    return rival.promise;
  },
  idempotency_key_expired: async () => {
    const desk = new PaymentsDesk();
    await desk.pay('k');
    desk.clock.advance(30 * 24 * 60 * MINUTE);
    return desk.pay('k');
  },
  reference_already_used: async () => {
    const desk = deskWith();
    await desk.pay('k', { reference: 'order-6735' });
    return desk.pay('another', { reference: 'order-6735' });
  },
  payment_not_attempted: async () => {
    const desk = new PaymentsDesk();
    const tools = { store: desk.store, clock: desk.clock };
    const named = { ...desk.processor, name: 'sandbox' };
    await new PaymentsDesk({ ...tools, processor: { ...named, ...refusing } }).pay('k');
    desk.clock.advance(60 * MINUTE);
    return new PaymentsDesk({ ...tools, processor: named }).pay('k');
  },
  body_too_large: () => deskWith().post('x'.repeat(MAX_BODY_BYTES + 1)),
  unsupported_media_type: () => deskWith().post('{}', { headers: { 'Content-Type': 'text/plain' } }),
  idempotency_key_payload_mismatch: async () => {
    const desk = deskWith();
    await desk.pay('k');
    return desk.pay('k', { amount: 2000 });
  },
  internal_error: () => new PaymentsDesk({ store: failingStore(new Error('a bug')) }).pay('k'),
  processor_unavailable: () => deskWith(refusing).pay('k'),
  temporarily_unavailable: () =>
    new PaymentsDesk({ store: failingStore(new RetryableError('store_unavailable', 'throttled')) }).pay('k'),
};

const GATEWAY_CODES = ['forbidden', 'rate_limited', 'timeout'] as const;
type GatewayCode = (typeof GATEWAY_CODES)[number];

describe('the examples in the documents', () => {
  test('of what is asked are answered with the payments that are shown', async () => {
    const desk = deskWith();

    const smallest = await desk.post(JSON.stringify(good), { headers: { 'Idempotency-Key': 'k-1' } });
    const whole = await desk.post(JSON.stringify(creationExamples.whole.value), {
      headers: { 'Idempotency-Key': 'k-2' },
    });
    const list = await desk.get(`/v1/payments/${String(smallest.body['id'])}/transitions`);

    expect([smallest.status, whole.status, list.status]).toEqual([201, 201, 200]);
    expect(withoutNames(smallest.text)).toEqual(sameAs(paymentExamples.succeeded.value));
    expect(withoutNames(whole.text)).toEqual(sameAs(paymentExamples.requires_capture.value));
    expect(withoutNames(list.text)).toEqual(sameAs(transitionExamples.succeeded.value));
  });

  test('of an outcome that is not known are what is answered then', async () => {
    const reply = await deskWith(silent).pay('k');

    expect(reply.status).toBe(202);
    expect(withoutNames(reply.text)).toEqual(sameAs(unknownOutcomeExamples.processing.value));
  });

  test.each(Object.entries(PROVOKED))('of %s are what is answered then', async (code, provoke) => {
    const reply = await provoke();

    expect(reply.body).toMatchObject({ code });
    expect(withoutNames(reply.text)).toEqual(sameAs(problemExample(code as ProblemCode).value));
  });

  test('of the gateway’s own problems are what it is told to answer', () => {
    const responses = synthesize().service?.findResources('AWS::ApiGateway::GatewayResponse') ?? {};
    const bodies = Object.values(responses).map((each) => withoutNames(templateOf(each)));

    for (const code of GATEWAY_CODES) expect(bodies).toContainEqual(sameAs(problemExample(code).value));
  });
});

function templateOf(response: { [name: string]: unknown }): string {
  const { Properties: properties } = response as {
    Properties: { ResponseTemplates: { 'application/json': string } };
  };
  return properties.ResponseTemplates['application/json'];
}
