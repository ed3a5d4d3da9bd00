import { beforeEach, describe, expect, test } from '@jest/globals';
import { AmbiguousError } from '../../lambdas/kernel/faults.ts';
import { type OwnerToken, tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { chargeOperation, parsePaymentId } from '../../lambdas/payments/ids.ts';
import { abilitiesWithout } from '../../lambdas/processors/sandbox/sandbox-abilities.ts';
import { newDelivery } from '../../lambdas/webhooks/domain/webhook-delivery.ts';
import { webhookMessage } from '../../lambdas/webhooks/use/fan-out-webhooks.ts';
import { paymentRequest } from '../payments/payment-fixtures.ts';
import { Api, dataOf } from '../world/api.ts';

const DESK = { tenantId: tenantId('ten_desk'), mode: 'test' } as const;

let api: Api;
beforeEach(() => {
  api = new Api();
});

async function timelineOf(payment: string, query = ''): Promise<readonly Record<string, unknown>[]> {
  const reply = await api.get(`/v1/admin/payments/${payment}/timeline${query}`);
  expect(reply.status).toBe(200);
  return dataOf(reply);
}
const kinds = (entries: readonly Record<string, unknown>[]) =>
  entries.map(({ kind, type = '', result = '' }) => `${String(kind)} ${String(type)}${String(result)}`.trim());

describe('the timeline of a payment', () => {
  test('shows the takeover, its look-up and no second send after a process was killed between the charge and the commit', async () => {
    const request = paymentRequest('k');
    await api.world.claimThenDie(request, true);
    const before = await timelineOf(request.paymentId);
    expect(kinds(before)).toEqual(['claim', 'transition payment.created', 'open']);
    expect(before.at(-1)).toMatchObject({
      was_released: false,
      lease_until: new Date(api.clock.nowMs() + 25_000).toISOString(),
    });

    api.clock.advance(30_000);
    await api.world.pay(request);
    const entries = await timelineOf(request.paymentId);
    expect(kinds(entries)).toEqual([
      'claim',
      'transition payment.created',
      'takeover',
      'call succeeded',
      'transition payment.completed',
      'answer',
      'event payment.completed',
    ]);
    const [claim, , takeover, call] = entries;
    expect(takeover).toMatchObject({ from_owner: claim?.['owner'], was_released: false, sequence: 1 });
    expect(call).toMatchObject({ call: 'look', operation: request.paymentId });
    expect(api.processor.sends(chargeOperation(request.paymentId))).toBe(1);
    const times = entries.map(({ at }) => String(at));
    expect(times).toEqual(times.toSorted());
  });

  test('shows that an owner released its claim, and shows no lease afterwards', async () => {
    const request = paymentRequest('k');
    await api.world.claimThenDie(request, false);
    const operation = chargeOperation(request.paymentId);
    const claim = await api.store.readRecord(operation);
    await api.store.release(operation, claim?.owner as OwnerToken);
    const open = (await timelineOf(request.paymentId)).at(-1);
    expect(open).toMatchObject({ kind: 'open', was_released: true, lease_until: null });
    expect((await api.get(`/v1/admin/idempotency_keys/${operation}`)).body).toMatchObject({ lease_until: null });
  });

  test('shows a send without a response, the look-up after it, and a refund with a separate claim', async () => {
    const payment = await api.paid('k', { source: 'tok_timeout_charged' });
    await api.change(`${payment}/refunds`, 'r', { amount: 100, reason: 'Returned' });
    const entries = await timelineOf(payment);
    expect(entries.filter(({ kind }) => kind === 'call').map(({ call, result }) => [call, result])).toEqual([
      ['send', 'no_response'],
      ['look', 'succeeded'],
      ['send', 'applied'],
    ]);
    expect(entries.filter(({ kind }) => kind === 'answer').map((each) => each['http_status'])).toEqual([201, 201]);
    const refunds = entries.filter(({ type }) => type === 'refund.completed');
    expect(refunds.map(({ kind }) => kind)).toEqual(['transition', 'event']);
    expect(refunds[0]).toMatchObject({
      caused_by: { type: 'request' },
      subject: { object: 'refund', reason: 'Returned' },
    });
  });

  test('shows attempts to deliver a webhook', async () => {
    const payment = await api.paid('k');
    const { id } = (await api.create('e')).body;
    const [event = {}] = dataOf(await api.get('/v1/events?limit=100'));
    const occurredAtMs = Number(event['created']) * 1000;
    const message = webhookMessage({ tenant: DESK.tenantId, mode: DESK.mode, occurredAtMs, event } as never);
    const made = newDelivery(systemDigest, DESK, { id: String(id) }, message, occurredAtMs);
    const attempts = [
      { startedAtMs: occurredAtMs + 2_000, durationMs: 10, status: 500 },
      { startedAtMs: occurredAtMs + 7_000, durationMs: 12, error: 'timeout' },
    ];
    await api.store.webhooks.write({ deliveries: [{ now: { ...made, attempts } }] });
    const deliveries = (await timelineOf(payment)).filter(({ kind }) => kind === 'delivery');
    expect(deliveries).toMatchObject([
      { endpoint: id, event_id: event['id'], http_status: 500, error: null, delivery_status: 'pending', sequence: 2 },
      { http_status: null, error: 'timeout', at: new Date(occurredAtMs + 7_000).toISOString() },
    ]);
  });

  test('shows an erasure only for the payment that was erased, and shows an action that has a transition only once', async () => {
    const payment = await api.paid('k', { description: 'For Ada' });
    await api.annotate(payment, 'a');
    const actor = { by: 'command', operator: 'ada' } as const;
    const act = { action: 'payment.erased', actor, about: [payment], occurredAtMs: api.clock.nowMs() + 1 } as const;
    await api.store.activity.record({ chain: DESK, ...act });
    await api.store.activity.record({ chain: DESK, ...act, about: ['pay_other'] });
    const entries = await timelineOf(payment);
    expect(entries.filter(({ kind }) => kind === 'act')).toMatchObject([
      { action: 'payment.erased', caused_by: { type: 'command', operator: 'ada' }, sequence: null },
    ]);
    expect(kinds(entries).filter((kind) => kind.startsWith('transition payment.annotated'))).toHaveLength(1);
  });

  test('is paged by transition; the pages together have the same entries as the whole timeline', async () => {
    const payment = await api.paid('k');
    for (let count = 0; count < 4; count += 1) await api.annotate(payment, `a-${count}`);
    const pages: Record<string, unknown>[][] = [];
    for (let after = 0; after !== -1; ) {
      const { body } = await api.get(`/v1/admin/payments/${payment}/timeline?limit=2&starting_after=${after}`);
      pages.push([...dataOf({ body })]);
      after = Number(body['next_sequence'] ?? -1);
    }
    expect(pages).toHaveLength(3);
    const sorted = (entries: readonly unknown[]) => entries.map((entry) => JSON.stringify(entry)).toSorted();
    expect(sorted(pages.flat())).toEqual(sorted(await timelineOf(payment)));
  });

  test('contains the abilities of the payment’s processor, or null if no processor is configured', async () => {
    const payment = await api.paid('k');
    const abilities = async (of: Api) =>
      (await of.get(`/v1/admin/payments/${payment}/timeline`)).body['processor_abilities'];
    expect(await abilities(api)).toEqual({ partial_captures: true, refunds: true, partial_refunds: true });
    const lacking = { ...api.processor, abilities: abilitiesWithout('partial-refunds,partial-captures') };
    expect(await abilities(api.with({ processor: lacking }))).toEqual({
      partial_captures: false,
      refunds: true,
      partial_refunds: false,
    });
    expect(await abilities(api.with({ processor: 'no_processor_configured' }))).toBeNull();
  });

  test('shows the claim and each call of a change once, and the reason that an operator gave for deciding it', async () => {
    const payment = await api.paid('k', { amount: 2000 });
    const silent = () => Promise.reject(new AmbiguousError('processor_timeout', 'no answer'));
    const desk = api.with({ processor: { ...api.processor, change: silent, findChange: silent } });
    const refund = await desk.change(`${payment}/refunds`, 'r', { amount: 500, reason: 'Parcel lost' });
    const path = `/v1/admin/payments/${payment}/resolve`;
    api.clock.advance(2 * 3_600_000);
    const decided = { outcome: 'failed', change: refund.body['id'], reason: 'The processor shows no refund' };
    expect((await api.write(path, 'd', decided)).status).toBe(200);
    const entries = await timelineOf(payment);
    const ofRefund = entries.filter(({ subject, operation }) => subject !== undefined || operation !== payment);
    expect(kinds(ofRefund).filter((kind) => kind.includes('refund.pending'))).toHaveLength(2);
    const attempt = ['call no_response', 'call unavailable'];
    const made = kinds(ofRefund).filter((kind) => kind === 'claim' || kind.startsWith('call'));
    expect(made).toEqual(['claim', ...attempt, ...attempt]);
    expect(entries.find(({ type, kind }) => kind === 'transition' && type === 'refund.failed')).toMatchObject({
      subject: { reason: 'Parcel lost' },
      operator_reason: 'The processor shows no refund',
    });
  });

  test.each([
    ['capture', 'capture.pending'],
    ['cancel', 'void.pending'],
  ])('shows the reason of an operator for a change: %s', async (step, type) => {
    const payment = await api.paid('k', { capture: 'manual' });
    await api.write(`/v1/admin/payments/${payment}/${step}`, 'c', { reason: 'Asked by phone' });
    expect((await timelineOf(payment)).find((entry) => entry['type'] === type)).toMatchObject({
      operator_reason: 'Asked by phone',
    });
  });

  test.each([
    ['limit=26', 400, 'limit'],
    ['starting_after=x', 400, 'starting_after'],
    ['from=1', 400, 'from'],
  ])('is refused with the query ?%s', async (query, status, param) => {
    const payment = await api.paid('k');
    const { status: answered, body } = await api.get(`/v1/admin/payments/${payment}/timeline?${query}`);
    expect([answered, body['param']]).toEqual([status, param]);
  });

  test('is not found for an unknown payment', async () => {
    const unknown = parsePaymentId(`pay_${'a'.repeat(32)}`);
    for (const id of [unknown, 'pay_1'])
      expect((await api.get(`/v1/admin/payments/${String(id)}/timeline`)).status).toBe(404);
  });
});
