import { describe, expect, test } from '@jest/globals';
import {
  cancelExamples,
  cancelRequestExamples,
  captureExamples,
  captureRequestExamples,
  refundExamples,
  refundListExamples,
  refundRequestExamples,
  unknownHoldExamples,
  unknownRefundExamples,
} from '../../lambdas/api-docs/change-examples.ts';
import {
  creationExamples,
  paymentExamples,
  transitionExamples,
  unknownOutcomeExamples,
} from '../../lambdas/api-docs/examples.ts';
import {
  balanceExamples,
  correctionExamples,
  correctionRequestExamples,
  decisionExamples,
  decisionRequestExamples,
  entryExamples,
  mismatchExamples,
} from '../../lambdas/api-docs/ledger-examples.ts';
import { eventExamples, eventListExamples, paymentListExamples } from '../../lambdas/api-docs/list-examples.ts';
import { orderExamples, orderRequestExamples, unknownOrderExamples } from '../../lambdas/api-docs/order-examples.ts';
import { problemExample } from '../../lambdas/api-docs/problem-examples.ts';
import { callbacksApi } from '../../lambdas/callbacks/callbacks-api.ts';
import type { ProblemCode } from '../../lambdas/http/problems.ts';
import { MAX_BODY_BYTES } from '../../lambdas/kernel/contract/limits.ts';
import { AmbiguousError, RetryableError, TerminalError } from '../../lambdas/kernel/faults.ts';
import { parsePaymentId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest, systemEntropy } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import type { PaymentStore } from '../../lambdas/payments/use/payment-store.ts';
import type { Processor } from '../../lambdas/payments/use/processor.ts';
import { readSandboxEvent } from '../../lambdas/processors/sandbox/sandbox-event.ts';
import { sandboxSignature } from '../../lambdas/processors/sandbox/sandbox-signature.ts';
import { EventsDesk } from '../support/events-desk.ts';
import { sameAs, withoutNames } from '../support/example-texts.ts';
import { dataOf, LedgerDesk } from '../support/ledger-desk.ts';
import { OrdersDesk, PROVOKED_ORDERS } from '../support/orders-desk.ts';
import { API_KEY, gatewayEvent, PaymentsDesk, type Reply } from '../support/payments-desk.ts';
import { ProjectedViews } from '../support/projected-views.ts';
import { ChangedPayment, held, PROVOKED_CHANGES, taken } from '../support/provoked-changes.ts';
import { synthesize } from '../support/synth.ts';
import { PROVOKED_WEBHOOKS } from '../support/webhook-desk.ts';

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
  change: async () => {
    throw new AmbiguousError('processor_timeout', 'no answer');
  },
  findChange: async () => {
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

const leg = (account: string, direction: string, amount: number) => ({ account, direction, amount });

const failingLedger = (fault: Error) =>
  new LedgerDesk({ ledger: { entries: () => Promise.reject(fault), balances: () => Promise.reject(fault) } });

/** The owner dies before it commits; meanwhile the processor lets go of what it had accepted. */
async function letGo(): Promise<Reply> {
  const desk = new PaymentsDesk();
  const processor = { ...desk.processor, name: 'sandbox' };
  const tools = { store: desk.store, clock: desk.clock, processor };
  const dying: PaymentStore = new Proxy(desk.store, {
    get: (store, name: keyof PaymentStore) =>
      name === 'commit' ? () => Promise.reject(new Error('the process is gone')) : store[name].bind(store),
  });
  await new PaymentsDesk({ ...tools, store: dying }).pay('k', { source: 'tok_async' });
  const [charge] = desk.processor.inside.all;
  invariant(charge !== undefined, 'the processor was asked');
  desk.processor.inside.change(charge.chargeId, { status: 'voided', cancelReason: 'expired' });
  await new LedgerDesk({}, desk).learn(charge.paymentId);
  desk.clock.advance(MINUTE);
  return new PaymentsDesk(tools).pay('k', { source: 'tok_async' });
}

/** What a callback with a bad signature is answered. */
async function forgedCallback(): Promise<Reply> {
  const desk = new PaymentsDesk();
  const api = callbacksApi({
    sources: [
      {
        name: 'memory',
        scheme: 'sandbox',
        secretId: 'a-secret',
        signature: sandboxSignature,
        readEvent: (body) => readSandboxEvent('memory', body),
        books: desk.processor,
      },
    ],
    secrets: { active: async () => ['right'], renewed: async () => ['right'] },
    effects: desk.store,
    runner: idempotentRunner,
    telemetry: { request: () => undefined, run: () => undefined, fault: () => undefined },
    clock: desk.clock,
    entropy: systemEntropy,
    digest: systemDigest,
  });
  const headers = { 'sandbox-signature': `t=${desk.clock.nowMs() / 1000},v1=${'0'.repeat(64)}` };
  const result = await api({ ...gatewayEvent('POST', '/callbacks/memory', headers), body: '{}' });
  const body = JSON.parse(result.body) as Record<string, unknown>;
  return { status: result.statusCode, headers: {}, text: result.body, body };
}

const MINUTE = 60_000;
const good = creationExamples.smallest.value;

/** How to be answered with each problem; those of the gateway before the function are not ours to provoke. */
const PROVOKED: Readonly<Record<Exclude<ProblemCode, GatewayCode>, () => Promise<Reply>>> = {
  ...PROVOKED_CHANGES,
  ...PROVOKED_ORDERS,
  ...PROVOKED_WEBHOOKS,
  invalid_json: () => deskWith().post('{"amount":1000,"amount":1000}'),
  invalid_request: () => deskWith().pay('k', { amount: 10.5 }),
  unknown_field: () => deskWith().pay('k', { status: 'succeeded' }),
  unknown_parameter: () => deskWith().get('/v1/payments/x?expand=charge'),
  card_number_not_allowed: () => deskWith().pay('k', { metadata: { note: '4242 4242 4242 4242' } }),
  secret_not_allowed: () => deskWith().pay('k', { description: 'sk_live_0123456789abcdefghijkl' }),
  unbalanced: async () => {
    const desk = new LedgerDesk();
    const payment = await desk.paid('k');
    return desk.correct('c', { payment, postings: [leg('refunds', 'debit', 12), leg('fees', 'credit', 10)] });
  },
  missing_idempotency_key: () => deskWith().pay(''),
  invalid_idempotency_key: () => deskWith().pay('two words'),
  unauthorized: () => deskWith().get('/v1/payments/x', { headers: { Authorization: 'Bearer nonsense' } }),
  invalid_signature: forgedCallback,
  payment_canceled: letGo,
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
  already_reversed: async () => {
    const desk = new LedgerDesk();
    const payment = await desk.paid('k');
    await desk.correct('c-1', { payment, reverses: 2 });
    return desk.correct('c-2', { payment, reverses: 2 });
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
  balance_too_large: () => failingLedger(new TerminalError('balance_too_large', 'beyond')).get('/v1/balances'),
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

  test('of lists and events are what is answered to such a payment', async () => {
    const behind = new PaymentsDesk();
    const { store, clock, processor } = behind;
    const named = { ...processor, name: 'sandbox' };
    const desk = new PaymentsDesk({ store, clock, views: new ProjectedViews(store), processor: named });
    const events = new EventsDesk(behind);
    await desk.pay('k-1');
    const list = await events.get('/v1/events');
    const [event] = dataOf(list);
    await desk.pay('k-2');

    const payments = await desk.get('/v1/payments?limit=1');

    expect(withoutNames(payments.text)).toEqual(sameAs(paymentListExamples.page.value));
    expect(withoutNames(list.text)).toEqual(sameAs(eventListExamples.page.value));
    const shown = await events.get(`/v1/events/${String(event?.['id'])}`);
    expect(withoutNames(shown.text)).toEqual(sameAs(eventExamples.completed.value));
  });

  test('of an outcome that is not known are what is answered then', async () => {
    const reply = await deskWith(silent).pay('k');

    expect(reply.status).toBe(202);
    expect(withoutNames(reply.text)).toEqual(sameAs(unknownOutcomeExamples.processing.value));
  });

  test('of a payer who must act first are what is answered then', async () => {
    const reply = await deskWith().pay('k', { source: 'tok_action' });

    expect(reply.status).toBe(202);
    expect(withoutNames(reply.text)).toEqual(sameAs(unknownOutcomeExamples.requires_action.value));
  });

  test('of entries, balances and mismatches are what is answered to such payments', async () => {
    const desk = new LedgerDesk();
    const payment = parsePaymentId(String((await desk.payments.pay('k')).body['id']));
    invariant(payment !== undefined, 'it was paid');
    const { inside } = desk.payments.processor;
    const [charge] = inside.all;
    invariant(charge !== undefined, 'it was charged');

    const entries = await desk.get('/v1/ledger/entries');
    expect(withoutNames(entries.text)).toEqual(sameAs(entryExamples.payment.value));
    const agreeing = await desk.get('/v1/admin/mismatches');
    expect(withoutNames(agreeing.text)).toEqual(sameAs(mismatchExamples.none.value));

    const whole = new LedgerDesk();
    const paid = await whole.paid('k');
    const [other] = whole.payments.processor.inside.all;
    whole.payments.processor.inside.change(other?.chargeId ?? '', { feeMinor: 59 });
    whole.payments.processor.inside.refund(other?.chargeId ?? '', 400);
    await whole.learn(paid);
    const balances = await whole.get('/v1/balances');
    expect(withoutNames(balances.text)).toEqual(sameAs(balanceExamples.merchant.value));
  });

  test.each(['reversal', 'postings'] as const)('of a correction (%s) are what is answered to it', async (which) => {
    const desk = new LedgerDesk();
    const { id } = (await desk.payments.pay('k')).body;

    const reply = await desk.correct('c', { ...correctionRequestExamples[which].value, payment: id });

    expect(reply.status).toBe(201);
    expect(withoutNames(reply.text)).toEqual(sameAs(correctionExamples[which].value));
  });

  test.each(['whole', 'part'] as const)('of a capture (%s) are what is answered to it', async (which) => {
    const reply = await (await held()).change('capture', captureRequestExamples[which].value);

    expect(reply.status).toBe(200);
    expect(withoutNames(reply.text)).toEqual(sameAs(captureExamples[which].value));
  });

  test('of a cancellation are what is answered to it', async () => {
    const reply = await (await held()).change('cancel', cancelRequestExamples.all.value);

    expect(reply.status).toBe(200);
    expect(withoutNames(reply.text)).toEqual(sameAs(cancelExamples.canceled.value));
  });

  test('of refunds are what is answered to them, and to who asks for them later', async () => {
    const whole = await (await taken()).change('refunds', refundRequestExamples.rest.value);
    const payment = await taken();
    const part = await payment.change('refunds', refundRequestExamples.part.value);
    const shown = await payment.desk.get(`/v1/refunds/${String(part.body['id'])}`);
    payment.inside.refund(payment.chargeId, 200);
    await payment.learn();
    const list = await payment.desk.get(`/v1/payments/${payment.id}/refunds`);

    expect([whole.status, part.status, shown.status, list.status]).toEqual([201, 201, 200, 200]);
    expect(withoutNames(whole.text)).toEqual(sameAs(refundExamples.rest.value));
    expect(withoutNames(part.text)).toEqual(sameAs(refundExamples.part.value));
    expect(shown.text).toBe(part.text);
    expect(withoutNames(list.text)).toEqual(sameAs(refundListExamples.both.value));
  });

  test('of changes whose outcome is not known are what is answered then', async () => {
    const [hold, money] = [await held(), await taken()];
    const capture = await hold.deskWith(silent).change(`${hold.id}/capture`, 'c', {});
    const refund = await money.deskWith(silent).change(`${money.id}/refunds`, 'c', refundRequestExamples.part.value);

    expect([capture.status, refund.status]).toEqual([202, 202]);
    expect(withoutNames(capture.text)).toEqual(sameAs(unknownHoldExamples.unchanged.value));
    expect(withoutNames(refund.text)).toEqual(sameAs(unknownRefundExamples.pending.value));
  });

  test('of orders are what is answered to them', async () => {
    const body = orderRequestExamples.whole.value;
    const desk = new OrdersDesk();
    const completed = await desk.order('k-1', body);
    desk.desk.mailer.trouble = 'down';
    const late = await desk.order('k-2', body);
    const unknown = await desk.order('k-3', { ...body, source: 'tok_async' });

    expect([completed.status, late.status, unknown.status]).toEqual([201, 201, 202]);
    expect(withoutNames(completed.text)).toEqual(sameAs(orderExamples.completed.value));
    expect(withoutNames(late.text)).toEqual(sameAs(orderExamples.late.value));
    expect(withoutNames(unknown.text)).toEqual(sameAs(unknownOrderExamples.processing.value));
  });

  test.each(['failed', 'succeeded'] as const)('of a decision (%s) are what is answered to it', async (which) => {
    const payment = await ChangedPayment.of({ source: 'tok_async' });
    payment.inside.succeed(payment.chargeId, 999);
    await payment.learn();

    const reply = await payment.decide('d', decisionRequestExamples[which].value);

    expect(reply.status).toBe(200);
    expect(withoutNames(reply.text)).toEqual(sameAs(decisionExamples[which].value));
  });

  test.each(Object.entries(PROVOKED))('of %s are what is answered then', async (code, provoke) => {
    const reply = await provoke();

    expect(reply.body).toMatchObject({ code });
    expect(withoutNames(reply.text)).toEqual(sameAs(problemExample(code as ProblemCode).value));
  });

  test('of the gateway’s own problems are what it is told to answer', async () => {
    const responses = (await synthesize()).service?.findResources('AWS::ApiGateway::GatewayResponse') ?? {};
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
