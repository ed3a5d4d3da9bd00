import { beforeEach, describe, expect, test } from '@jest/globals';
import type { OperationId, PaymentId } from '../../lambdas/kernel/ids.ts';
import { Api, dataOf, type Reply } from '../world/api.ts';

const HOUR_MS = 3_600_000;
const APPROVALS = { aboveMinor: { EUR: 500 }, lifetimeMs: 72 * HOUR_MS };
const as = (key: string) => ({ headers: { Authorization: `Bearer ${key}` } });
const BEN = as('ok_benbenbenbenbenbenbenben00');
const VERA = as('ok_viewerviewerviewerviewer00');
const WHY = 'Asked by phone';

let api: Api;
let payment: PaymentId;

beforeEach(async () => {
  api = new Api({ approvals: APPROVALS });
  api.registerOperator('ok_benbenbenbenbenbenbenben00', { operator: 'Ben Example', role: 'approver' });
  api.registerOperator('ok_viewerviewerviewerviewer00', { operator: 'Vera Example', role: 'viewer' });
  payment = await api.paid('k-1', { amount: 1500 });
});

const change = (step: string, key: string, body: object, asked = {}, of: string = payment): Promise<Reply> =>
  api.write(`/v1/admin/payments/${of}/${step}`, key, { reason: WHY, ...body }, asked);
const refund = (key: string, amount?: number, asked = {}) =>
  change('refunds', key, amount === undefined ? {} : { amount }, asked);
const refundsAtProcessor = () => api.processor.charges(payment).flatMap(({ refunds }) => refunds);
const log = async () => dataOf(await api.get('/v1/admin/activity?tenant=ten_desk&mode=test'));
const idOf = ({ body }: Reply) => String(body['id']);
function recordOf(key: string): Promise<Reply> {
  const path = encodeURIComponent(`/v1/admin/payments/${payment}/refunds`);
  return api.get(`/v1/admin/idempotency_keys?path=${path}&key=${key}&operator=Ada%20Example`);
}

describe('a change that an operator requests', () => {
  test('is made once for an idempotency key, with an entry in the activity log', async () => {
    const first = await refund('r', 300);
    expect([first.status, first.body]).toMatchObject([201, { object: 'refund', amount: 300, reason: WHY, payment }]);
    const again = await refund('r', 300);
    expect([again.text, again.headers['Idempotency-Replayed']]).toEqual([first.text, 'true']);
    expect((await refund('r', 301)).body).toMatchObject({ code: 'idempotency_key_payload_mismatch' });
    expect(refundsAtProcessor()).toHaveLength(1);
    expect((await api.get(`/v1/refunds/${idOf(first)}`)).body).toEqual(first.body);
    const [begun] = dataOf(await api.get(`/v1/payments/${payment}/transitions`)).slice(2);
    expect(begun).toMatchObject({ type: 'refund.pending', caused_by: { type: 'operator', operator: 'Ada Example' } });
    expect(await log()).toMatchObject([
      {
        action: 'refund.requested',
        caused_by: { operator: 'Ada Example' },
        about: [idOf(first), payment],
        details: { amount: '300 EUR', sequence: '3' },
      },
    ]);
    expect((await recordOf('r')).body).toMatchObject({ operation: idOf(first), state: 'completed' });
  });

  test.each([
    ['capture', { amount: 400 }, 'captures', 'succeeded'],
    ['cancel', {}, 'cancellations', 'canceled'],
  ])('can %s an authorization, and shows who requested it and why', async (step, body, list, status) => {
    payment = await api.paid('held', { amount: 450, capture: 'manual' });
    const first = await change(step, 'c', body);
    expect([first.status, first.body]).toMatchObject([200, { id: payment, status }]);
    expect((await change(step, 'c', body)).text).toBe(first.text);
    const [shown, ...others] = dataOf(await api.get(`/v1/payments/${payment}/${list}`));
    expect([shown, others]).toMatchObject([{ request: { operator: 'Ada Example', reason: WHY } }, []]);
    expect((await log()).map(({ action }) => action)).toEqual([
      step === 'capture' ? 'capture.requested' : 'cancellation.requested',
    ]);
  });

  test('is refused without effect for a viewer, for an unknown payment, and if a tenant’s request would be refused', async () => {
    expect((await refund('a', 100, VERA)).body).toMatchObject({ code: 'insufficient_role' });
    expect((await change('refunds', 'b', {}, {}, `pay_${'a'.repeat(32)}`)).status).toBe(404);
    expect((await change('capture', 'c', {})).body).toMatchObject({ code: 'payment_not_capturable' });
    expect((await refund('d', 1_501)).body).toMatchObject({ code: 'amount_exceeds_left', amount_left: 1500 });
    expect((await api.write(`/v1/admin/payments/${payment}/refunds`, 'e', { amount: 1 })).body).toMatchObject({
      param: 'reason',
    });
    expect([await log(), refundsAtProcessor()]).toEqual([[], []]);
  });

  test('is refused with the name and account of the processor if the deployment no longer calls it', async () => {
    const held = await api.paid('held', { amount: 450, capture: 'manual' });
    const waiting = await refund('above', 501);
    const without = api.with({ processor: 'no_processor_configured', approvals: APPROVALS });
    without.registerOperator('ok_benbenbenbenbenbenbenben00', { operator: 'Ben Example', role: 'approver' });
    const ask = (of: string, step: string) =>
      without.write(`/v1/admin/payments/${of}/${step}`, 'r', {
        reason: WHY,
        ...(step === 'cancel' ? {} : { amount: 300 }),
      });
    for (const reply of [
      await ask(payment, 'refunds'),
      await ask(held, 'capture'),
      await ask(held, 'cancel'),
      await without.approve(idOf(waiting), BEN),
      await without.get(`/v1/payments/${payment}/charges`),
    ])
      expect([reply.status, reply.body]).toMatchObject([
        503,
        {
          code: 'processor_unavailable',
          detail: expect.stringMatching(
            /^This deployment no longer calls the processor of this payment: \w+ in test mode, account \w+, .* Its operator must/,
          ),
        },
      ]);
    expect((await refund('r', 300)).status).toBe(201);
  });

  test('shares no idempotency key with another operator or a tenant', async () => {
    const own = await refund('r', 100);
    const of = await api.change(`${payment}/refunds`, 'r', { amount: 100 });
    const bens = await refund('r', 100, BEN);
    expect(new Set([own, of, bens].map(idOf)).size).toBe(3);
    expect(refundsAtProcessor()).toHaveLength(3);
  });
});

describe('a change above the limit', () => {
  test('waits, takes effect once when another person approves it, and names both persons', async () => {
    const asked = await refund('r', 501);
    expect([asked.status, asked.body]).toMatchObject([
      202,
      {
        object: 'approval',
        status: 'pending_approval',
        request: { type: 'refund', amount: 501 },
        amount: 501,
        reason: WHY,
        effect: { type: 'refund.pending', payment_status: 'succeeded', postings: [] },
      },
    ]);
    expect((await refund('r', 501)).text).toBe(asked.text);
    expect((await refund('r', 502)).body).toMatchObject({ code: 'idempotency_key_payload_mismatch' });
    expect((await api.approve(idOf(asked))).body).toMatchObject({ code: 'own_approval' });
    expect(refundsAtProcessor()).toEqual([]);
    const waiting = (await recordOf('r')).body;
    expect(waiting).toMatchObject({ payment, state: 'completed', answer: { status: 202 } });
    expect((await api.get(`/v1/admin/idempotency_keys/${String(waiting['operation'])}`)).body).toEqual(waiting);

    const approved = await api.approve(idOf(asked), BEN);
    expect([approved.status, approved.body]).toMatchObject([200, { status: 'approved' }]);
    for (const again of [BEN, BEN]) expect((await api.approve(idOf(asked), again)).text).toBe(approved.text);
    expect((await api.reject(idOf(asked), BEN)).body).toMatchObject({ code: 'approval_ended' });
    expect((await refund('r', 501)).text).toBe(asked.text);
    expect(refundsAtProcessor()).toHaveLength(1);
    const { id } = asked.body['effect'] as { readonly id: string };
    expect((await api.get(`/v1/refunds/${id}`)).body).toMatchObject({ status: 'succeeded', amount: 501, reason: WHY });
    expect((await log()).map(({ action, details }) => [action, (details as { asked_by?: string }).asked_by])).toEqual([
      ['refund.requested', 'Ada Example'],
      ['approval.requested', undefined],
    ]);
  });

  test('is refused as expired if the record of its request is lost, even if the record of the approved change remains', async () => {
    const asked = await refund('r', 501);
    const waiting = (await recordOf('r')).body['operation'] as OperationId;
    await api.approve(idOf(asked), BEN);
    api.store.deleteRecord(waiting);
    for (const amount of [501, 502])
      expect([await refund('r', amount)]).toMatchObject([
        { status: 409, body: { code: 'idempotency_key_expired', payment_id: payment } },
      ]);
    expect(refundsAtProcessor()).toHaveLength(1);
  });

  test('waits if it exceeds the limit together with earlier refunds by operators', async () => {
    expect((await refund('a', 300)).status).toBe(201);
    await api.change(`${payment}/refunds`, 'of-the-tenant', { amount: 400 });
    expect((await refund('b', 200)).status).toBe(201);
    expect((await refund('c', 1)).body).toMatchObject({ object: 'approval', amount: 501, request: { amount: 1 } });
    expect((await refund('a', 300)).status).toBe(201);
  });

  test('has no effect after its rejection, or on a payment that no longer allows it', async () => {
    const rejected = await refund('r', 600);
    expect((await api.reject(idOf(rejected), BEN)).body).toMatchObject({ status: 'rejected' });
    expect((await api.approve(idOf(rejected), BEN)).body).toMatchObject({ code: 'approval_ended' });
    const rest = await refund('rest');
    expect(rest.body).toMatchObject({ request: { amount: 1500 } });
    await api.change(`${payment}/refunds`, 'of-the-tenant', { amount: 1 });
    expect((await api.approve(idOf(rest), BEN)).body).toMatchObject({ code: 'amount_exceeds_left', amount_left: 1499 });
    expect((await api.get(`/v1/admin/approvals/${idOf(rest)}`)).body).toMatchObject({ status: 'pending_approval' });
    expect(refundsAtProcessor()).toHaveLength(1);
    api.clock.advance(72 * HOUR_MS);
    expect((await api.approve(idOf(rest), BEN)).body).toMatchObject({ code: 'approval_ended' });
  });

  test.each(['capture', 'cancel'])('waits for approval also if it is not a refund: %s', async (step) => {
    payment = await api.paid('held', { amount: 900, capture: 'manual' });
    const asked = await change(step, 'c', {});
    expect(asked.body).toMatchObject({ object: 'approval', request: { type: step, amount: 900 } });
    expect((await api.get(`/v1/payments/${payment}`)).body).toMatchObject({ status: 'requires_capture' });
    expect((await api.approve(idOf(asked), BEN)).status).toBe(200);
    const status = step === 'capture' ? 'succeeded' : 'canceled';
    expect((await api.get(`/v1/payments/${payment}`)).body).toMatchObject({ status });
  });

  test('cannot be approved if the status of the payment has changed since the request, but can be rejected', async () => {
    payment = await api.paid('action', { amount: 900, source: 'tok_action', capture: 'manual' });
    const asked = await change('cancel', 'c', {});
    expect(asked.body).toMatchObject({ effect: { payment_status: 'requires_action' } });
    await api.processor.inside.approve(String(api.processor.charges(payment)[0]?.chargeId));
    await api.world.learn(payment);
    expect((await api.approve(idOf(asked), BEN)).body).toMatchObject({ code: 'approval_outdated' });
    expect((await api.get(`/v1/payments/${payment}`)).body).toMatchObject({ status: 'requires_capture' });
    expect((await api.reject(idOf(asked), BEN)).body).toMatchObject({ status: 'rejected' });
  });

  test('leaves the list of work for operators when it is approved, rejected or expired', async () => {
    const asked = [await refund('a', 600), await refund('b', 601), await refund('c', 602)].map(idOf);
    const waiting = async () => dataOf(await api.get('/v1/admin/attention?kind=approval')).map(({ part }) => part);
    expect(new Set(await waiting())).toEqual(new Set(asked));
    await api.approve(asked[0] ?? '', BEN);
    await api.reject(asked[1] ?? '', BEN);
    expect(await waiting()).toEqual([asked[2]]);
    api.clock.advance(APPROVALS.lifetimeMs);
    expect(await waiting()).toEqual([]);
  });
});
