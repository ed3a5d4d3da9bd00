import { beforeEach, describe, expect, test } from '@jest/globals';
import type { PaymentId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { firstBrokenLink } from '../../lambdas/payments/domain/transition.ts';
import { parsePaymentId } from '../../lambdas/payments/ids.ts';
import { readChain } from '../../lambdas/payments/use/payment-chain.ts';
import { Api, dataOf, type Reply } from '../world/api.ts';

let api: Api;
let payment: PaymentId;

beforeEach(async () => {
  api = new Api();
  payment = await api.paid('k-1');
});

const list = async (path: string) => dataOf(await api.get(path));
async function money(of: string = payment): Promise<unknown> {
  const { annotations: _count, ...shown } = (await api.get(`/v1/payments/${of}`)).body;
  return [shown, await list(`/v1/ledger/entries?payment=${of}`), await list('/v1/balances')];
}

describe('an annotation', () => {
  test('is shown with the payment, its transition and the operator’s action, and changes no money', async () => {
    const before = await money();

    const made = await api.annotate(payment, 'a-1', { annotates: 2 });

    expect([made.status, made.body]).toEqual([
      201,
      {
        id: expect.stringMatching(/^ann_[a-z2-7]{32}$/),
        object: 'annotation',
        payment,
        sequence: 3,
        reason: 'Charged for the wrong order',
        operator: 'Ada Example',
        annotates: 2,
        created: Date.UTC(2026, 2, 1, 12) / 1000 + 1,
      },
    ]);
    expect(await money()).toEqual(before);
    expect((await api.get(`/v1/payments/${payment}`)).body).toMatchObject({ annotations: 1 });
    expect((await list('/v1/payments'))[0]).toMatchObject({ id: payment, annotations: 1 });
    const { id } = made.body;
    expect((await list(`/v1/payments/${payment}/transitions`)).at(-1)).toMatchObject({
      type: 'payment.annotated',
      caused_by: { type: 'operator', operator: 'Ada Example' },
      subject: { object: 'annotation', id, reason: 'Charged for the wrong order' },
      postings: [],
    });
    expect(await list(`/v1/annotations?payment=${payment}`)).toEqual([made.body]);
    expect((await api.get(`/v1/annotations/${String(id)}`)).body).toEqual(made.body);
    const [activity] = await list('/v1/admin/activity?tenant=ten_desk&mode=test');
    expect(activity).toMatchObject({
      action: 'annotation.made',
      about: [id, payment],
      caused_by: { operator: 'Ada Example' },
      details: { sequence: '3' },
    });
    const chain = await readChain(api.store, payment);
    expect(firstBrokenLink(systemDigest, chain?.transitions ?? [])).toBeUndefined();
  });

  test('can state that a charge does not exist at the processor', async () => {
    const made = await api.annotate(payment, 'a-1', { missing_charge: 'ch_nowhere' });
    expect(made.body).toMatchObject({ annotates: null, missing_charge: 'ch_nowhere' });
    expect(await list(`/v1/annotations?payment=${payment}`)).toEqual([made.body]);
    const chain = await readChain(api.store, payment);
    expect(chain?.newest.subject).toMatchObject({ missingCharge: 'ch_nowhere' });
  });

  test('is created once per idempotency key and replayed byte for byte; the same key with a different reason is refused', async () => {
    const first = await api.annotate(payment, 'a-1');
    const again = await api.annotate(payment, 'a-1');

    expect([again.status, again.text, again.headers['Idempotency-Replayed']]).toEqual([201, first.text, 'true']);
    expect((await api.annotate(payment, 'a-1', { reason: 'Another' })).body).toMatchObject({
      code: 'idempotency_key_payload_mismatch',
    });
    expect((await api.annotate(payment, 'a-2')).body).toMatchObject({ sequence: 4 });
    expect((await api.get(`/v1/payments/${payment}`)).body).toMatchObject({ annotations: 2 });
  });

  test.each([
    ['a transition that does not exist', { annotates: 3 }, 400, 'annotates'],
    ['an empty reason', { reason: '' }, 400, 'reason'],
    ['a blank charge', { missing_charge: ' ' }, 400, 'missing_charge'],
    ['an unknown field', { amount: 1 }, 400, 'amount'],
  ])('is refused for %s, and nothing is written', async (_name, body, status, param) => {
    const refused = await api.annotate(payment, 'a-1', body);

    expect([refused.status, refused.body['param']]).toEqual([status, param]);
    expect(await list(`/v1/payments/${payment}/transitions`)).toHaveLength(2);
    expect((await api.annotate(`pay_${'a'.repeat(32)}`, 'a-1')).status).toBe(404);
  });

  test('does not affect later changes of the payment, which have the same results as without annotations', async () => {
    const run = async (annotated: boolean): Promise<unknown> => {
      api = new Api();
      let made = 0;
      const note = async (id: string): Promise<Reply | undefined> =>
        annotated ? api.annotate(id, `a-${++made}`) : undefined;
      const waiting = await api.pay('w', { source: 'tok_async' });
      const id = String(waiting.body['id']);
      await note(id);
      const [charge] = api.processor.charges(parsePaymentId(id) as PaymentId);
      await api.processor.inside.approve(charge?.chargeId ?? '');
      await api.world.learn(parsePaymentId(id) as PaymentId);
      await note(id);
      const refund = await api.change(`${id}/refunds`, 'r', { amount: 300 });
      await note(id);
      const again = await api.change(`${id}/refunds`, 'r', { amount: 300 });
      expect([refund.status, again.text]).toEqual([201, refund.text]);
      expect((await api.pay('w', { source: 'tok_async' })).text).toBe(waiting.text);
      expect(api.processor.charges(parsePaymentId(id) as PaymentId)).toHaveLength(1);
      const { annotations = 0, ...shown } = (await api.get(`/v1/payments/${id}`)).body;
      expect(annotations).toBe(made);
      return [shown, (await list('/v1/balances')).map(({ account, balance }) => [account, balance])];
    };

    expect(await run(true)).toEqual(await run(false));
  });
});
