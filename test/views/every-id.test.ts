import { expect, test } from '@jest/globals';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { parsePaymentId } from '../../lambdas/payments/ids.ts';
import { recordComparison } from '../../lambdas/reconciliation/use/mismatch-view.ts';
import { newDelivery } from '../../lambdas/webhooks/domain/webhook-delivery.ts';
import { webhookMessage } from '../../lambdas/webhooks/use/fan-out-webhooks.ts';
import { comparedPayment, differsBy } from '../reconciliation/mismatch-fixtures.ts';
import { Api, dataOf } from '../world/api.ts';

type Json = Readonly<Record<string, unknown>>;

class Asking {
  readonly api = new Api();
  /** Responses in which the test has not yet looked for ids. */
  readonly shown: unknown[] = [];

  async ask(path: string, body?: Json): Promise<Json> {
    const key = `key-${this.shown.length}`;
    const reply = body === undefined ? await this.api.get(path) : await this.api.write(path, key, body);
    this.shown.push(reply.body);
    return { ...reply.body, http: reply.status };
  }

  async pay(body: Json = {}): Promise<string> {
    const paid = await this.ask('/v1/payments', { amount: 1000, currency: 'EUR', source: 'tok_ok', ...body });
    this.api.clock.advance(1000);
    return String(((paid['payment'] as Json | undefined) ?? paid)['id']);
  }

  async atProcessor(id: string, happen: (chargeId: string) => Promise<unknown>): Promise<void> {
    const paymentId = parsePaymentId(id);
    invariant(paymentId !== undefined, 'the id is not a payment id');
    const [charge] = this.api.processor.charges(paymentId);
    invariant(charge !== undefined, 'the payment has no charge');
    await happen(charge.chargeId);
    await this.api.world.learn(paymentId);
  }
}

async function history(): Promise<Asking> {
  const world = new Asking();
  const { inside } = world.api.processor;
  const operator = { reason: 'Reported by the bank' };
  const paid = await world.pay({ reference: 'order-1', metadata: { name: 'Ada' } });
  await world.ask(`/v1/payments/${paid}/refunds`, { amount: 300 });
  await world.atProcessor(paid, (charge) => inside.refund(charge, 200));
  await world.ask('/v1/admin/corrections', { payment: paid, ...operator, reverses: 2 });
  await world.ask(`/v1/admin/payments/${paid}/annotations`, { ...operator, annotates: 2 });
  const stray = await world.pay();
  const returned = { refundId: `rtn_${stray.slice('pay_'.length)}${'a'.repeat(26)}`, createdAtMs: 0 };
  const amount = { chargeId: 'ch_9', amountMinor: 700 };
  await world.api.world.record(parsePaymentId(stray) as never, {
    kind: 'foreign_charge',
    status: 'captured',
    currency: 'USD',
    ...amount,
  });
  await world.api.world.record(parsePaymentId(stray) as never, {
    kind: 'refund',
    status: 'succeeded',
    ...returned,
    ...amount,
  });
  const disputed = await world.pay();
  await world.atProcessor(disputed, (charge) => inside.dispute(charge, 400));
  const held = await world.pay({ capture: 'manual' });
  await world.ask(`/v1/payments/${held}/capture`, { amount: 300 });
  const released = await world.pay({ capture: 'manual' });
  await world.ask(`/v1/payments/${released}/cancel`, {});
  await world.pay({ source: 'tok_declined' });
  const reviewed = await world.pay({ source: 'tok_async' });
  await world.atProcessor(reviewed, (charge) => inside.correct(charge, { status: 'succeeded', amount_captured: 999 }));
  const decision = { outcome: 'succeeded', amount: 999, ...operator };
  await world.ask(`/v1/admin/payments/${reviewed}/resolve`, decision);

  const order = { amount: 2000, currency: 'EUR', items: [{ sku: 'sku_tea', quantity: 1 }], email: 'ada@example.com' };
  await world.ask('/v1/orders', { ...order, source: 'tok_ok' });
  await world.ask('/v1/orders', { ...order, source: 'tok_declined' });
  await recordComparison({ views: world.api.views, digest: systemDigest }, comparedPayment('k'), differsBy(1250), 1);
  await world.api.run('k', { scheduled_for: 1_772_366_400 });

  const endpoint = await world.ask('/v1/webhook_endpoints', { url: 'https://shop.co.uk/hooks', events: ['*'] });
  const of = { id: String(endpoint['id']) };
  const nowMs = world.api.clock.nowMs();
  for (const event of dataOf({ body: await world.ask('/v1/events?limit=100') })) {
    const owner = { tenantId: tenantId('ten_desk'), mode: 'test' } as const;
    const message = webhookMessage({ tenant: owner.tenantId, mode: owner.mode, occurredAtMs: nowMs, event } as never);
    await world.api.store.webhooks.write({
      deliveries: [{ now: newDelivery(systemDigest, owner, of, message, nowMs) }],
    });
  }
  const range = { created_from: 1, created_to: 1000 };
  await world.ask(`/v1/webhook_endpoints/${of.id}/replay`, range);
  return world;
}

const LISTS = [
  '/v1/payments?limit=100',
  '/v1/orders?limit=100',
  '/v1/disputes?limit=100',
  '/v1/events?limit=100',
  '/v1/ledger/entries',
  '/v1/admin/activity?tenant=ten_desk&mode=test',
  '/v1/admin/mismatches',
  '/v1/admin/jobs',
  '/v1/admin/jobs/close-days/runs',
  '/v1/webhook_endpoints',
];
const LISTS_OF_PAYMENT = ['transitions', 'refunds', 'disputes', 'captures', 'cancellations'];

const PATHS: Readonly<Record<string, string>> = {
  pay: '/v1/payments',
  ord: '/v1/orders',
  ref: '/v1/refunds',
  rtn: '/v1/refunds',
  dsp: '/v1/disputes',
  cap: '/v1/captures',
  can: '/v1/cancellations',
  cor: '/v1/corrections',
  dec: '/v1/decisions',
  ann: '/v1/annotations',
  act: '/v1/admin/activity',
  evt: '/v1/events',
  ent: '/v1/ledger/entries',
  mis: '/v1/admin/mismatches',
  we: '/v1/webhook_endpoints',
};
/** Ids from other systems, and ids without a read route: those of API keys and requests. */
const FOREIGN = /^(ch_|key_|req-|rsv_|tok_|ref_friend$)/;

/** Returns undefined if the text is not an id, or is an id without a read route. */
function pathOf(text: string, within: Json, field: string): string | undefined {
  if (FOREIGN.test(text)) return undefined;
  const [, prefix = ''] = /^([a-z]+)_[A-Za-z0-9]/.exec(text) ?? [];
  const parts: Readonly<Record<string, string>> = { dlv: 'deliveries', rpl: 'replays' };
  if (prefix in parts) {
    // An activity-log entry about a replay also contains the id of the replay's endpoint.
    const { endpoint = (within['about'] as readonly string[]).find((id) => id.startsWith('we_')) } = within;
    return `/v1/webhook_endpoints/${String(endpoint)}/${parts[prefix]}/${text}`;
  }
  if (/^[a-z-]+:\d{4}-\d\d-\d\dT/.test(text)) return `/v1/admin/jobs/${text.split(':')[0]}/runs/${text}`;
  if (within['object'] === 'job' && field === 'id') return `/v1/admin/jobs/${text}`;
  const path = PATHS[prefix];
  const isId = /^(?:act_\d+_[a-z2-7]{16}|[a-z]+_[a-zA-Z0-9_-]{26,})$/.test(text);
  invariant(path !== undefined || field !== 'id', `no path is known for the id ${text}`);
  const chain = prefix === 'act' ? '?tenant=ten_desk&mode=test' : '';
  return path !== undefined && isId ? `${path}/${text}${chain}` : undefined;
}

function idsIn(value: unknown, within: Json = {}, field = ''): readonly (readonly [string, string])[] {
  if (typeof value === 'string') {
    const path = pathOf(value, within, field);
    return path === undefined ? [] : [[path, value]];
  }
  if (Array.isArray(value)) return value.flatMap((each) => idsIn(each, within, field));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => idsIn(inner, value as Json, name));
}

test('every id in a response, an event or a webhook can be read by GET', async () => {
  const world = await history();
  for (const path of LISTS) await world.ask(path);
  for (const payment of dataOf({ body: await world.ask('/v1/payments?limit=100') })) {
    for (const list of ['corrections', 'decisions', 'annotations'])
      await world.ask(`/v1/${list}?payment=${String(payment['id'])}`);
    for (const list of LISTS_OF_PAYMENT) await world.ask(`/v1/payments/${String(payment['id'])}/${list}`);
  }
  for (const endpoint of dataOf({ body: await world.ask('/v1/webhook_endpoints') }))
    await world.ask(`/v1/webhook_endpoints/${String(endpoint['id'])}/deliveries`);

  const followed = new Map<string, unknown>();
  for (let round = 0; round < 10; round += 1) {
    const next = new Map(idsIn(world.shown.splice(0)).filter(([path]) => !followed.has(path)));
    if (next.size === 0) break;
    for (const [path, id] of next) {
      const answer = await world.ask(path);
      followed.set(path, id);
      expect([path, answer['http'], answer['id']]).toEqual([path, 200, id]);
    }
  }
  const kinds = new Set([...followed.values()].map((id) => /^([a-z]+)_/.exec(String(id))?.[1]));
  expect([...kinds]).toEqual(expect.arrayContaining([...Object.keys(PATHS), 'dlv', 'rpl', undefined]));
});
