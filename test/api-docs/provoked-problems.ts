import type { ProblemCode } from '../../lambdas/http/problems.ts';
import { MAX_BODY_BYTES } from '../../lambdas/kernel/contract/limits.ts';
import { AmbiguousError, RetryableError, TerminalError } from '../../lambdas/kernel/faults.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import type { OrderTools } from '../../lambdas/orders/use/order-calls.ts';
import type { PaymentStore } from '../../lambdas/payments/use/payment-store.ts';
import type { NoProcessor } from '../../lambdas/payments/use/pinned-processor.ts';
import type { Processor } from '../../lambdas/payments/use/processor.ts';
import { TenantAdministration } from '../../lambdas/tenants/store/tenant-administration.ts';
import { MAX_ENDPOINTS } from '../../lambdas/webhooks/domain/webhook-endpoint.ts';
import { CallbacksClient } from '../callbacks/callbacks-client.ts';
import { MemoryMessages } from '../operators/memory-messages.ts';
import { PROVOKED_CHANGES } from '../payments/provoked-changes.ts';
import { API_KEY, Api, OPERATOR_KEY, type Reply } from '../world/api.ts';
import type { Stores } from '../world/stores.ts';
import { TABLES } from '../world/tables.ts';
import { World } from '../world/world.ts';

/** Problems that the gateway returns without invoking the function. */
export const GATEWAY_CODES = ['forbidden', 'rate_limited', 'timeout'] as const;
type GatewayCode = (typeof GATEWAY_CODES)[number];
type Provoked = Pick<Reply, 'body'>;

export function apiAtSandbox(processor: Partial<Processor> = {}): Api {
  const harness = new Api();
  return harness.with({ processor: { ...harness.processor, name: 'sandbox', ...processor } });
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

const BEN = 'ok_benbenbenbenbenbenbenben00';

/** Amounts above 10.00 EUR need the approval of a second operator, Ben. */
export async function waitingApproval() {
  const api = new Api({ approvals: { aboveMinor: { EUR: 1000 }, lifetimeMs: 72 * 60 * MINUTE } });
  api.registerOperator(BEN, { operator: 'Ben Example', role: 'approver' });
  const payment = await api.paid('k', { capture: 'manual' });
  const postings = [leg('refunds', 'debit', 2000), leg('fees', 'credit', 2000)];
  const asked = await api.correct('c', { payment, postings });
  return {
    api,
    payment,
    asked,
    waiting: String(asked.body['id']),
    ben: { headers: { Authorization: `Bearer ${BEN}` } },
  };
}

const WEB_SHOP = { mode: 'live', name: 'Web shop', scopes: ['payments:read', 'payments:write'] };

export async function keyOfTenant(wanted: Readonly<Record<string, unknown>> = WEB_SHOP) {
  const api = new Api();
  const { client } = api.store.database;
  const tenant = await new TenantAdministration(client, TABLES, 'ada').createTenant('Web shop');
  const body = { ...wanted, tenant };
  const made = await api.write('/v1/admin/keys', 'k', body);
  return { api, tenant, body, made, id: String(made.body['id']) };
}

const failingLedger = (fault: Error) =>
  new Api({ ledger: { entries: () => Promise.reject(fault), balances: () => Promise.reject(fault) } });

async function letGo(): Promise<Reply> {
  const harness = new Api();
  const processor = { ...harness.processor, name: 'sandbox' };
  const dying: PaymentStore = new Proxy(harness.store, {
    get: (store, name: keyof Stores) => {
      if (name === 'commit') return () => Promise.reject(new Error('the process crashed'));
      const own: unknown = store[name];
      return typeof own === 'function' ? (own.bind(store) as unknown) : own;
    },
  });
  await harness.with({ processor, store: dying }).pay('k', { capture: 'manual' });
  const [{ chargeId, paymentId } = {}] = harness.processor.inside.all;
  invariant(chargeId !== undefined && paymentId !== undefined, 'the processor received no request');
  await harness.processor.inside.expire(chargeId);
  await harness.world.learn(paymentId);
  harness.clock.advance(MINUTE);
  return harness.with({ processor }).pay('k', { capture: 'manual' });
}

const MINUTE = 60_000;

const GONE = { items: [{ sku: 'sku_none', quantity: 2 }] };

const PROVOKED_ORDERS = {
  out_of_stock: () => new Api().order('k', GONE),
  testmode_not_available: () => new Api({ ordersOf: 'live' }).order('k'),
  order_not_attempted: notAttempted,
  order_canceled: givenUp,
} as const;

async function notAttempted(): Promise<Reply> {
  const api = new Api();
  await api.order('k', { source: 'tok_unauthorized' });
  api.clock.advance(16 * 60_000);
  return api.order('k', { source: 'tok_unauthorized' });
}

async function givenUp(): Promise<Reply> {
  const harness = new World();
  const { stock } = harness.shop;
  const away: OrderTools['stock'] = {
    ...stock,
    reserve: async (...call) => {
      await stock.reserve(...call);
      throw new AmbiguousError('shop_timeout', 'No answer in time.');
    },
  };
  const orders: OrderTools['orders'] = {
    claimOrder: (claim) => harness.store.claimOrder(claim),
    commitOrder: () => Promise.reject(new Error('the process crashed')),
    appendToOrder: (append) => harness.store.appendToOrder(append),
    listOrderTransitions: (id, page) => harness.store.listOrderTransitions(id, page),
    openOrders: (due) => harness.store.openOrders(due),
    postponeOrder: (...next) => harness.store.postponeOrder(...next),
    closeOrder: (open) => harness.store.closeOrder(open),
  };
  await new Api({ orders, stock: away }, harness).order('k');
  harness.clock.advance(61 * 60_000);
  return new Api({}, harness).order('k');
}

const PROVOKED_WEBHOOKS = {
  url_not_allowed: () => new Api().create('k', { url: 'https://169.254.169.254/latest' }),
  webhook_endpoint_limit: async () => {
    const harness = new Api();
    for (let made = 0; made < MAX_ENDPOINTS; made += 1) await harness.create(`k-${made}`);
    return harness.create('k');
  },
  webhook_endpoint_disabled: async () => {
    const harness = new Api();
    const { body } = await harness.create('k');
    const path = `/${String(body['id'])}`;
    await harness.send('PATCH', path, undefined, { enabled: false });
    return harness.send('POST', `${path}/replay`, 'r', { created_from: 0, created_to: 10 });
  },
  too_many_exports: async () => {
    const harness = new Api({ startWriter: async () => undefined });
    const body = { kind: 'entries', from: '2026-03-01', to: '2026-03-01' };
    for (const key of ['a', 'b', 'c', 'd', 'e']) await harness.write('/v1/exports', key, body);
    return harness.write('/v1/exports', 'f', body);
  },
  webhook_replay_running: async () => {
    const harness = new Api();
    const { body } = await harness.create('k');
    const path = `/${String(body['id'])}/replay`;
    await harness.send('POST', path, 'r', { created_from: 0, created_to: 10 });
    return harness.send('POST', path, 's', { created_from: 0, created_to: 10 });
  },
};

const unrouted = (why: NoProcessor) => new Api({ choose: () => why }).pay('k');

export const PROVOKED: Readonly<Record<Exclude<ProblemCode, GatewayCode>, () => Promise<Provoked>>> = {
  ...PROVOKED_CHANGES,
  ...PROVOKED_ORDERS,
  ...PROVOKED_WEBHOOKS,
  invalid_json: () => apiAtSandbox().post('{"amount":1000,"amount":1000}'),
  invalid_request: () => apiAtSandbox().pay('k', { amount: 10.5 }),
  unknown_field: () => apiAtSandbox().pay('k', { status: 'succeeded' }),
  unknown_parameter: () => apiAtSandbox().get('/v1/payments/x?expand=charge'),
  card_number_not_allowed: () => apiAtSandbox().pay('k', { metadata: { note: '4242 4242 4242 4242' } }),
  secret_not_allowed: () => apiAtSandbox().pay('k', { description: 'sk_live_0123456789abcdefghijkl' }),
  unbalanced: async () => {
    const harness = new Api();
    const payment = await harness.paid('k');
    return harness.correct('c', { payment, postings: [leg('refunds', 'debit', 12), leg('fees', 'credit', 10)] });
  },
  missing_idempotency_key: () => apiAtSandbox().pay(''),
  invalid_idempotency_key: () => apiAtSandbox().pay('two words'),
  unauthorized: () => apiAtSandbox().get('/v1/payments/x', { headers: { Authorization: 'Bearer nonsense' } }),
  invalid_signature: () => {
    const site = new CallbacksClient();
    return site.deliver('{}', { headers: { 'Sandbox-Signature': site.sign(Buffer.from('{}'), 'another secret') } });
  },
  payment_canceled: letGo,
  payment_failed: () => apiAtSandbox().pay('k', { source: 'tok_declined' }),
  insufficient_scope: () => {
    const harness = apiAtSandbox();
    harness.registerKey(API_KEY, { scopes: [] });
    return harness.pay('k');
  },
  insufficient_role: () => {
    const harness = new Api();
    harness.registerOperator(OPERATOR_KEY, { role: 'viewer' });
    return harness.run('k');
  },
  livemode_not_available: () => unrouted('livemode_not_available'),
  no_processor_for_payment: () => unrouted('no_processor_for_payment'),
  no_processor_configured: () => unrouted('no_processor_configured'),
  not_found: () => apiAtSandbox().get('/v1/payments/x'),
  method_not_allowed: () => apiAtSandbox().ask('DELETE', '/v1/payments'),
  idempotency_key_in_progress: async () => {
    const rival = Promise.withResolvers<Reply>();
    const asked = new Api();
    const first = asked.with({
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
    const harness = new Api();
    await harness.pay('k');
    harness.clock.advance(30 * 24 * 60 * MINUTE);
    return harness.pay('k');
  },
  already_reversed: async () => {
    const harness = new Api();
    const payment = await harness.paid('k');
    await harness.correct('c-1', { payment, reverses: 2 });
    return harness.correct('c-2', { payment, reverses: 2 });
  },
  own_approval: async () => {
    const { api, waiting } = await waitingApproval();
    return api.approve(waiting);
  },
  approval_ended: async () => {
    const { api, waiting, ben } = await waitingApproval();
    await api.reject(waiting, ben);
    return api.approve(waiting, ben);
  },
  approval_outdated: async () => {
    const { api, waiting, ben, payment } = await waitingApproval();
    await api.change(`${payment}/capture`, 'r', {});
    return api.approve(waiting, ben);
  },
  key_ended: async () => {
    const { api, id } = await keyOfTenant();
    await api.write(`/v1/admin/keys/${id}/roll`, 'r-1', {});
    return api.write(`/v1/admin/keys/${id}/roll`, 'r-2', {});
  },
  last_owner_key: async () => {
    const api = new Api();
    return api.revoke(await api.storeOperatorKey(`ok_${'x'.repeat(22)}`, { operator: 'Ada Example', role: 'owner' }));
  },
  nothing_to_redrive: async () => {
    const api = new Api();
    const messages = new MemoryMessages(api.clock);
    return api.with({ messages }).write('/v1/admin/queues/Webhooks-Tasks-DeadLetters/redrive', 'r');
  },
  reference_already_used: async () => {
    const harness = apiAtSandbox();
    await harness.pay('k', { reference: 'order-6735' });
    return harness.pay('another', { reference: 'order-6735' });
  },
  payment_not_attempted: async () => {
    const harness = new Api();
    const named = { ...harness.processor, name: 'sandbox' };
    await harness.with({ processor: { ...named, ...refusing } }).pay('k');
    harness.clock.advance(60 * MINUTE);
    return harness.with({ processor: named }).pay('k');
  },
  body_too_large: () => apiAtSandbox().post('x'.repeat(MAX_BODY_BYTES + 1)),
  unsupported_media_type: () => apiAtSandbox().post('{}', { headers: { 'Content-Type': 'text/plain' } }),
  idempotency_key_payload_mismatch: async () => {
    const harness = apiAtSandbox();
    await harness.pay('k');
    return harness.pay('k', { amount: 2000 });
  },
  internal_error: () => new Api({ store: failingStore(new Error('a bug')) }).pay('k'),
  balance_too_large: () => failingLedger(new TerminalError('balance_too_large', 'beyond')).get('/v1/balances'),
  processor_unavailable: () => apiAtSandbox(refusing).pay('k'),
  temporarily_unavailable: () =>
    new Api({ store: failingStore(new RetryableError('store_unavailable', 'throttled')) }).pay('k'),
};
