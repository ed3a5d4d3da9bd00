/** Tests the guarantee "one change". */
import { beforeAll, describe, expect, test } from '@jest/globals';
import pMap from 'p-map';
import type { LocalAws } from '../../local/local-aws.ts';
import { runJob } from '../jobs/run-job.ts';
import { type ApiAnswer, ApiClient } from '../support/api-client.ts';
import { localAws } from '../support/local-aws.ts';
import { until } from '../support/until.ts';

let aws: LocalAws;
let api: ApiClient;
beforeAll(() => {
  aws = localAws();
  api = new ApiClient(aws, aws.apiKey);
});

const change = (payment: unknown, step: string, key: string, body: object = {}): Promise<ApiAnswer> =>
  api.send('POST', `/v1/payments/${String(payment)}/${step}`, {
    headers: { 'content-type': 'application/json', 'idempotency-key': key },
    body: JSON.stringify(body),
  });

async function paid(key: string, body: Record<string, unknown> = {}): Promise<string> {
  const answer = await api.pay({ key, body });
  return String(answer.json['id']);
}

const shown = async (payment: string) => (await api.send('GET', `/v1/payments/${payment}`)).json;

const resolve = () => runJob(aws, 'resolve');

async function refundsAtProcessor(payment: string): Promise<readonly number[]> {
  const [charge = {}] = await api.charges(payment);
  return (charge['refunds'] as { amount: number; status: string }[])
    .filter(({ status }) => status === 'succeeded')
    .map(({ amount }) => amount);
}

describe('the deployed API', () => {
  test('captures a partial amount once, and refunds at most the captured amount', async () => {
    const payment = await paid('change-capture', { capture: 'manual' });
    const captured = await change(payment, 'capture', 'c-1', { amount: 600 });
    expect([captured.status, captured.json['amount_captured']]).toEqual([200, 600]);
    const replay = await change(payment, 'capture', 'c-1', { amount: 600 });
    expect([replay.text, replay.headers.get('idempotency-replayed')]).toEqual([captured.text, 'true']);

    const refund = await change(payment, 'refunds', 'r-1', { amount: 250, reason: 'Returned' });
    expect([refund.status, refund.json['status'], refund.json['reason']]).toEqual([201, 'succeeded', 'Returned']);
    expect((await api.send('GET', `/v1/refunds/${String(refund.json['id'])}`)).json).toEqual(refund.json);
    const list = await api.send('GET', `/v1/payments/${payment}/refunds`);
    expect(list.json['data']).toEqual([refund.json]);
    const much = await change(payment, 'refunds', 'r-2', { amount: 351 });
    expect([much.status, much.json['code'], much.json['amount_left']]).toEqual([409, 'amount_exceeds_left', 350]);
    expect(await shown(payment)).toMatchObject({ status: 'succeeded', amount_captured: 600, amount_refunded: 250 });
    expect(await refundsAtProcessor(payment)).toEqual([250]);
  });

  test('cancels a payment, which cannot be captured afterwards', async () => {
    const payment = await paid('change-cancel', { capture: 'manual' });
    const canceled = await change(payment, 'cancel', 'x-1');
    expect([canceled.status, canceled.json['status'], canceled.json['cancellation_reason']]).toEqual([
      200,
      'canceled',
      'requested',
    ]);
    const late = await change(payment, 'capture', 'c-1');
    expect([late.status, late.json['code'], late.json['payment_status']]).toEqual([
      409,
      'payment_not_capturable',
      'canceled',
    ]);
  });

  test('accepts exactly one of two concurrent refunds of 70 out of 100, in each of ten rounds', async () => {
    const rounds = Array.from({ length: 10 }, (_, round) => round);
    // The pairs are independent. More concurrent pairs would only delay the processor's responses.
    await pMap(
      rounds,
      async (round) => {
        const payment = await paid(`change-race-${round}`);
        const race = await Promise.all(['a', 'b'].map((key) => change(payment, 'refunds', key, { amount: 700 })));
        expect(new Set(race.map(({ status }) => status))).toEqual(new Set([201, 409]));
        expect(await refundsAtProcessor(payment)).toEqual([700]);
      },
      { concurrency: 2 },
    );
  });

  test('makes one refund for twenty concurrent duplicates of a request', async () => {
    const payment = await paid('change-duplicates');
    const answers = await pMap(Array.from({ length: 20 }), () => change(payment, 'refunds', 'same', { amount: 300 }), {
      concurrency: 8,
    });
    expect(new Set(answers.filter(({ status }) => status === 201).map(({ text }) => text)).size).toBe(1);
    expect(answers.every(({ status }) => status === 201 || status === 409)).toBe(true);
    expect(await refundsAtProcessor(payment)).toEqual([300]);
  });
});

describe('the resolver job', () => {
  test('refunds a late success without a retry by the client', async () => {
    const answer = await api.pay({ key: 'sweep-late', body: { source: 'tok_callback_late_success' } });
    const { id } = answer.json['payment'] as { id: string };
    await until(async () => {
      const { json } = await api.send('GET', `/v1/payments/${id}/transitions`);
      const types = (json['data'] as { type: string }[]).map(({ type }) => type);
      return types.includes('payment.late_success') ? true : undefined;
    });
    await resolve();
    expect(await refundsAtProcessor(id)).toEqual([1000]);
    const { json } = await api.send('GET', `/v1/payments/${id}/transitions`);
    expect((json['data'] as { type: string }[]).at(-1)?.type).toBe('refund.completed');
    await resolve();
    expect(await refundsAtProcessor(id)).toEqual([1000]);
  });
});
