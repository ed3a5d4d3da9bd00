/** Histories that cover every kind of transaction. */
import { eventOf } from '../../lambdas/events/domain/event.ts';
import { COMMISSION_EVENTS } from '../../lambdas/follow-ups/contract.ts';
import { type CommissionEvent, keepCommission } from '../../lambdas/follow-ups/keep-commission.ts';
import { type PaymentId, storedOperationId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { detailsOf } from '../../lambdas/payments/domain/transition.ts';
import { readChain } from '../../lambdas/payments/use/payment-chain.ts';
import { callback, paymentIdFor } from '../payments/payment-fixtures.ts';
import type { Reply } from '../world/api.ts';
import type { HistoryStep, RestoredWorld } from './restored-world.ts';

export const BEN = { headers: { Authorization: 'Bearer ok_benbenbenbenbenbenbenben00' } };
const PAYMENT = paymentIdFor('pay', 'ten_desk');
const SAID = { reason: 'Seen on the statement' };

type Act = HistoryStep['act'];
const request = (what: string, act: Act): HistoryStep => ({ what, isKeyed: true, act });
const happens = (what: string, act: Act): HistoryStep => ({ what, act });

const pays = (body: Record<string, unknown> = {}) =>
  request('payment', ({ api }) => api.pay('pay', { description: 'Tea', ...body }));
const of = (what: string, kind: string, body?: Record<string, unknown>) =>
  request(what, (world) => world.api.change(`${world.paymentId}/${kind}`, what, body));
const asOperator = (what: string, path: (world: RestoredWorld) => string, body: (id: PaymentId) => object, as = {}) =>
  request(what, async (world): Promise<Reply> => {
    return world.api.write(path(world), what, body(world.paymentId), as);
  });

const bank = (what: string, act: (inside: RestoredWorld['inside'], charge: string) => Promise<unknown>) =>
  happens(what, async (world) => {
    const [charge] = world.world.processor.charges(world.paymentId);
    if (charge !== undefined) await act(world.inside, charge.chargeId);
  });
/** If the tables are lost during the step, it is repeated, because the processor resends unacknowledged callbacks. */
const callbacks = (id: string) =>
  happens(`callbacks ${id}`, async ({ world, inside }) => {
    for (const { chargeId } of inside.all) await world.deliver(callback(`${id}-${chargeId}`, chargeId));
  });
const works = (minutes: number) => happens(`the jobs run for ${minutes} minutes`, (world) => world.work(minutes));

const refused = bank('the bank refuses', (inside, charge) => inside.decline(charge));
const approved = bank('the bank approves', (inside, charge) => inside.approve(charge));
const disputed = bank('a dispute', (inside, charge) => inside.dispute(charge, 100));

const inReview = [
  pays({ source: 'tok_async' }),
  bank('less is taken', (inside, charge) => inside.correct(charge, { status: 'succeeded', amount_captured: 600 })),
  callbacks('evt_1'),
];

/** Sends the payment's events to the commission consumer, as the relay publishes them. */
const commissions = happens('the consumer of commissions', async ({ world }) => {
  const chain = await readChain(world.store, PAYMENT);
  for (const transition of chain?.transitions ?? []) {
    if (chain === undefined || !COMMISSION_EVENTS.some((name) => name === `${transition.type}.v1`)) continue;
    const event = eventOf(systemDigest, transition, detailsOf(chain.first)) as CommissionEvent;
    await keepCommission({ ...world.tools, records: world.store.consumed }, event);
  }
});

export const HISTORIES: Readonly<Record<string, readonly HistoryStep[]>> = {
  'a payment': [pays({ reference: 'invoice-1' })],
  'a reference that a second payment takes over': [
    pays({ reference: 'invoice-1', source: 'tok_declined' }),
    request('second', ({ api }) => api.pay('second', { reference: 'invoice-1' })),
  ],
  'a captured hold': [pays({ capture: 'manual' }), of('capture', 'capture')],
  'a canceled hold': [pays({ capture: 'manual' }), of('cancel', 'cancel')],
  'a refund': [pays(), of('refund', 'refunds', { amount: 300, reason: 'Broken cup' })],
  'a refund that the bank ends later': [
    pays(),
    happens('the response is lost', ({ inside }) => inside.failNextChange(1, 'tok_async')),
    of('refund', 'refunds', { amount: 300 }),
    works(5),
  ],
  'a read of a payment': [pays({ source: 'tok_async' }), approved, works(5)],
  'a read of a payment that waited for its payer': [pays({ source: 'tok_action' }), approved, works(60)],
  'a callback': [pays({ source: 'tok_async' }), approved, callbacks('evt_1')],
  'a callback with several facts': [
    pays({ source: 'tok_async' }),
    approved,
    bank('a refund', (inside, charge) => inside.refund(charge, 200)),
    disputed,
    callbacks('evt_1'),
  ],
  'a late success, and its return': [
    pays({ source: 'tok_async' }),
    refused,
    callbacks('evt_1'),
    approved,
    callbacks('evt_2'),
    works(5),
  ],
  'an orphaned callback, and its adoption': [
    happens('a charge that names the payment', async ({ inside }) => {
      const paymentId = PAYMENT;
      const operationId = storedOperationId('by-hand');
      await inside.charge({ operationId, paymentId, amountMinor: 1000, currency: 'EUR' });
    }),
    callbacks('evt_1'),
    pays(),
    works(3),
  ],
  'an order': [request('order', ({ api }) => api.order('order'))],
  'an order that the bank decides later': [
    request('order', ({ api }) => api.order('order', { source: 'tok_async' })),
    works(2),
  ],
  'an order without goods': [
    request('order', ({ api }) => api.order('order', { items: [{ sku: 'sku_none', quantity: 1 }] })),
    works(3),
  ],
  'a decision': [
    ...inReview,
    asOperator(
      'decision',
      (world) => `/v1/admin/payments/${world.paymentId}/resolve`,
      () => ({ ...SAID, outcome: 'succeeded', amount: 600 }),
    ),
  ],
  'a correction': [
    pays(),
    asOperator(
      'correction',
      () => '/v1/admin/corrections',
      (payment) => ({ ...SAID, payment, reverses: 2 }),
    ),
  ],
  'an annotation': [
    pays(),
    asOperator(
      'annotation',
      (world) => `/v1/admin/payments/${world.paymentId}/annotations`,
      () => SAID,
    ),
  ],
  'an approved correction': [
    pays({ amount: 9_000 }),
    asOperator(
      'correction',
      () => '/v1/admin/corrections',
      (payment) => ({ ...SAID, payment, reverses: 2 }),
    ),
    request('approval', (world) => world.api.approve(String(world.made('correction').body['id']), BEN)),
  ],
  'an approved decision': [
    pays({ source: 'tok_async', amount: 9_000 }),
    bank('less is taken', (inside, charge) => inside.correct(charge, { status: 'succeeded', amount_captured: 6_000 })),
    callbacks('evt_1'),
    asOperator(
      'decision',
      (world) => `/v1/admin/payments/${world.paymentId}/resolve`,
      () => ({ ...SAID, outcome: 'succeeded', amount: 6_000 }),
    ),
    request('approval', (world) => world.api.approve(String(world.made('decision').body['id']), BEN)),
  ],
  'an approved refund': [
    pays({ amount: 9_000 }),
    asOperator(
      'refund',
      (world) => `/v1/admin/payments/${world.paymentId}/refunds`,
      () => ({ ...SAID, amount: 6_000 }),
    ),
    request('approval', (world) => world.api.approve(String(world.made('refund').body['id']), BEN)),
  ],
  'a commission': [pays({ metadata: { affiliate: 'aff_7', order: 'o1' } }), commissions],
  'an export': [
    pays(),
    request('export', ({ api }) =>
      api.write('/v1/exports', 'export', { kind: 'entries', from: '2026-02-01', to: '2026-02-01' }),
    ),
  ],
  'a run of a job': [request('run', ({ api }) => api.run('run'))],
  'a webhook endpoint': [request('endpoint', ({ api }) => api.create('endpoint'))],
};
