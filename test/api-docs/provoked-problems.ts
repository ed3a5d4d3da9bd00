import type { ProblemCode } from '../../lambdas/http/problems.ts';
import { MAX_BODY_BYTES } from '../../lambdas/kernel/contract/limits.ts';
import { AmbiguousError, RetryableError, TerminalError } from '../../lambdas/kernel/faults.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import type { PaymentStore } from '../../lambdas/payments/use/payment-store.ts';
import type { Processor } from '../../lambdas/payments/use/processor.ts';
import { CallbacksSite } from '../support/callbacks-site.ts';
import { LedgerDesk } from '../support/ledger-desk.ts';
import { PROVOKED_ORDERS } from '../support/orders-desk.ts';
import { API_KEY, PaymentsDesk, type Reply } from '../support/payments-desk.ts';
import { PROVOKED_CHANGES } from '../support/provoked-changes.ts';
import { PROVOKED_WEBHOOKS } from '../support/webhook-desk.ts';

/** Problems that the gateway answers before the function is called. */
export const GATEWAY_CODES = ['forbidden', 'rate_limited', 'timeout'] as const;
type GatewayCode = (typeof GATEWAY_CODES)[number];
type Provoked = Pick<Reply, 'body'>;

/** The API with a processor that has the name of the sandbox's. */
export function deskAtSandbox(processor: Partial<Processor> = {}): PaymentsDesk {
  const desk = new PaymentsDesk();
  return new PaymentsDesk({
    store: desk.store,
    clock: desk.clock,
    processor: { ...desk.processor, name: 'sandbox', ...processor },
  });
}

export const silent: Partial<Processor> = {
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

const MINUTE = 60_000;

/** Requests that are answered with each problem, except those that the gateway itself answers. */
export const PROVOKED: Readonly<Record<Exclude<ProblemCode, GatewayCode>, () => Promise<Provoked>>> = {
  ...PROVOKED_CHANGES,
  ...PROVOKED_ORDERS,
  ...PROVOKED_WEBHOOKS,
  invalid_json: () => deskAtSandbox().post('{"amount":1000,"amount":1000}'),
  invalid_request: () => deskAtSandbox().pay('k', { amount: 10.5 }),
  unknown_field: () => deskAtSandbox().pay('k', { status: 'succeeded' }),
  unknown_parameter: () => deskAtSandbox().get('/v1/payments/x?expand=charge'),
  card_number_not_allowed: () => deskAtSandbox().pay('k', { metadata: { note: '4242 4242 4242 4242' } }),
  secret_not_allowed: () => deskAtSandbox().pay('k', { description: 'sk_live_0123456789abcdefghijkl' }),
  unbalanced: async () => {
    const desk = new LedgerDesk();
    const payment = await desk.paid('k');
    return desk.correct('c', { payment, postings: [leg('refunds', 'debit', 12), leg('fees', 'credit', 10)] });
  },
  missing_idempotency_key: () => deskAtSandbox().pay(''),
  invalid_idempotency_key: () => deskAtSandbox().pay('two words'),
  unauthorized: () => deskAtSandbox().get('/v1/payments/x', { headers: { Authorization: 'Bearer nonsense' } }),
  invalid_signature: () => {
    const site = new CallbacksSite();
    return site.deliver('{}', { headers: { 'Sandbox-Signature': site.sign(Buffer.from('{}'), 'another secret') } });
  },
  payment_canceled: letGo,
  payment_failed: () => deskAtSandbox().pay('k', { source: 'tok_declined' }),
  insufficient_scope: () => {
    const desk = deskAtSandbox();
    desk.registerKey(API_KEY, { scopes: [] });
    return desk.pay('k');
  },
  not_found: () => deskAtSandbox().get('/v1/payments/x'),
  method_not_allowed: () => deskAtSandbox().ask('DELETE', '/v1/payments'),
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
    const desk = deskAtSandbox();
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
  body_too_large: () => deskAtSandbox().post('x'.repeat(MAX_BODY_BYTES + 1)),
  unsupported_media_type: () => deskAtSandbox().post('{}', { headers: { 'Content-Type': 'text/plain' } }),
  idempotency_key_payload_mismatch: async () => {
    const desk = deskAtSandbox();
    await desk.pay('k');
    return desk.pay('k', { amount: 2000 });
  },
  internal_error: () => new PaymentsDesk({ store: failingStore(new Error('a bug')) }).pay('k'),
  balance_too_large: () => failingLedger(new TerminalError('balance_too_large', 'beyond')).get('/v1/balances'),
  processor_unavailable: () => deskAtSandbox(refusing).pay('k'),
  temporarily_unavailable: () =>
    new PaymentsDesk({ store: failingStore(new RetryableError('store_unavailable', 'throttled')) }).pay('k'),
};
