import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import type { Processor } from '../../lambdas/payments/use/processor.ts';
import { routeTo } from '../../lambdas/processors/configured-processors.ts';
import { type StripeDouble, serveStripe } from '../processors/stripe-double.ts';
import { clientAt } from '../processors/stripe-double-client.ts';
import { Api } from '../world/api.ts';
import { Stores } from '../world/stores.ts';

let stripe: StripeDouble;
let client: Processor;
let harness: Api;
let store: Stores;
const RULES = [{ currency: 'USD', processor: 'stripe' }];

/** Dollars go to Stripe, all else to the processor in memory; a later deployment may have other rules. */
function deployed(rules: typeof RULES): Api {
  const made: Api = new Api({
    store,
    get processors() {
      return [client, made.processor];
    },
    choose: (payment) => (routeTo(rules, payment, 'sandbox') === 'stripe' ? client : made.processor),
  });
  return made;
}

beforeEach(async () => {
  stripe = await serveStripe();
  client = clientAt(stripe.url);
  store = new Stores();
  harness = deployed(RULES);
});
afterEach(async () => {
  await stripe[Symbol.asyncDispose]();
});

const onlyPayment = async (from: Stores) => {
  const [first] = from.allTransitions();
  if (first === undefined) throw new Error('there is no payment');
  return first.payment;
};

const dollars = { currency: 'USD', source: 'pm_card_visa' };
const refund = (from: Api, payment: unknown, key: string) =>
  from.ask('POST', `/v1/payments/${String(payment)}/refunds`, {
    headers: { 'Content-Type': 'application/json', 'Idempotency-Key': key },
    event: { body: '{"amount":300}' },
  });

describe('a payment is routed by the rules', () => {
  test('and shows its processor', async () => {
    const inDollars = await harness.pay('usd', dollars);
    const inEuros = await harness.pay('eur');
    expect([inDollars.status, inEuros.status]).toEqual([201, 201]);
    expect(inDollars.body['processor']).toMatchObject({ name: 'stripe', charge_id: expect.stringMatching(/^pi_/) });
    expect(inEuros.body['processor']).toMatchObject({ name: 'sandbox' });
  });

  test('and a retry reaches the former default when the rules have changed meanwhile', async () => {
    const euros = { source: 'tok_unauthorized' };
    expect((await harness.pay('eur', euros)).status).toBe(503);
    const later = deployed([{ currency: 'EUR', processor: 'stripe' }]);
    const retried = await later.pay('eur', euros);
    expect([retried.status, retried.body['code']]).toEqual([503, 'processor_unavailable']);
    expect(later.processor.sends(String((await onlyPayment(store)).id))).toBe(1);
  });

  test('and stays at its processor under changed rules: Stripe makes its refund, and its key charges at no other', async () => {
    const first = await harness.pay('usd', dollars);
    const later = deployed([]);
    expect((await refund(later, first.body['id'], 'r-1')).body).toMatchObject({ status: 'succeeded', amount: 300 });
    const again = await later.pay('usd', dollars);
    expect([again.status, again.text]).toEqual([201, first.text]);
    expect(later.processor.charges(String(first.body['id']))).toEqual([]);
  });

  test('and is not refunded by a deployment that no longer calls its processor', async () => {
    const first = await harness.pay('usd', dollars);
    const without = new Api({ store });
    const reply = await refund(without, first.body['id'], 'r-1');
    expect([reply.status, reply.body['code']]).toEqual([503, 'processor_unavailable']);
    expect((await refund(harness, first.body['id'], 'r-1')).status).toBe(201);
  });
});

describe('the first matching rule applies', () => {
  const payment = { tenantId: tenantId('ten_a'), currency: 'USD' };

  test.each([
    [[], 'sandbox'],
    [[{ processor: 'stripe' }], 'stripe'],
    [[{ tenant: 'ten_b', processor: 'stripe' }], 'sandbox'],
    [[{ tenant: 'ten_a', processor: 'stripe' }], 'stripe'],
    [[{ tenant: 'ten_a', currency: 'EUR', processor: 'stripe' }], 'sandbox'],
    [[{ currency: 'USD', processor: 'sandbox' }, { processor: 'stripe' }], 'sandbox'],
  ])('%j: %s', (rules, processor) => {
    expect(routeTo(rules, payment, 'sandbox')).toBe(processor);
  });
});
