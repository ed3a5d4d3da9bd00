/** Tests the guarantee "separate modes". */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { RoutingRule } from '../../lambdas/kernel/contract/environment.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import type { Processor } from '../../lambdas/payments/use/processor.ts';
import { routing } from '../../lambdas/processors/configured-processors.ts';
import { type StripeDouble, serveStripe } from '../processors/stripe-double.ts';
import { clientAt } from '../processors/stripe-double-client.ts';
import { fc } from '../support/properties.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { whole } from '../support/slice.ts';
import { Api } from '../world/api.ts';
import { createSandboxInProcess } from '../world/sandbox-in-process.ts';
import { Stores } from '../world/stores.ts';

let stripe: StripeDouble;
let client: Processor;
let harness: Api;
let store: Stores;
const REST = { mode: 'test', processor: 'sandbox' } as const;
const RULES: readonly RoutingRule[] = [{ mode: 'test', currency: 'USD', processor: 'stripe' }, REST];

/**
 * Shares the store, as a new deployment does. `RULES` routes dollars to Stripe and all other currencies to the sandbox.
 */
function deployed(rules: readonly RoutingRule[]): Api {
  const made: Api = new Api({
    store,
    get processors() {
      return [client, made.processor];
    },
    choose: (payment) => routing(rules, [client, made.processor])(payment),
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

describe('a payment whose processor was chosen by a rule', () => {
  test('shows its processor', async () => {
    const inDollars = await harness.pay('usd', dollars);
    const inEuros = await harness.pay('eur');
    expect([inDollars.status, inEuros.status]).toEqual([201, 201]);
    expect(inDollars.body['processor']).toMatchObject({ name: 'stripe', charge_id: expect.stringMatching(/^pi_/) });
    expect(inEuros.body['processor']).toMatchObject({ name: 'sandbox' });
  });

  test('is retried at its first processor if the rules have changed in the meantime', async () => {
    const euros = { source: 'tok_unauthorized' };
    expect((await harness.pay('eur', euros)).status).toBe(503);
    const later = deployed([{ mode: 'test', currency: 'EUR', processor: 'stripe' }]);
    const retried = await later.pay('eur', euros);
    expect([retried.status, retried.body['code']]).toEqual([503, 'processor_unavailable']);
    expect(later.processor.sends(String((await onlyPayment(store)).id))).toBe(1);
  });

  test('stays at its processor after a change of the rules: Stripe makes the refund, and no other processor charges for the key', async () => {
    const first = await harness.pay('usd', dollars);
    const later = deployed([REST]);
    expect((await refund(later, first.body['id'], 'r-1')).body).toMatchObject({ status: 'succeeded', amount: 300 });
    const again = await later.pay('usd', dollars);
    expect([again.status, again.text]).toEqual([201, first.text]);
    expect(later.processor.charges(String(first.body['id']))).toEqual([]);
  });

  test('is not refunded by a deployment that no longer calls its processor', async () => {
    const first = await harness.pay('usd', dollars);
    const without = new Api({ store });
    const reply = await refund(without, first.body['id'], 'r-1');
    expect([reply.status, reply.body['code']]).toEqual([503, 'processor_unavailable']);
    expect((await refund(harness, first.body['id'], 'r-1')).status).toBe(201);
  });
});

describe('a payment that no rule matches', () => {
  const live = 'sk_live_0123456789abcdefghijkl';
  const payLive = (from: Api, key: string) => {
    from.registerKey(live, { mode: 'live' });
    return from.ask('POST', '/v1/payments', {
      headers: { Authorization: `Bearer ${live}`, 'Content-Type': 'application/json', 'Idempotency-Key': key },
      event: { body: '{"amount":1000,"currency":"EUR","source":"tok_ok"}' },
    });
  };

  test('is refused before a claim is stored, so the same key can create the charge as soon as a rule matches', async () => {
    const before = deployed([{ mode: 'test', currency: 'USD', processor: 'stripe' }]);
    const refused = await before.pay('eur');
    expect([refused.status, refused.body['code']]).toEqual([422, 'no_processor_for_payment']);
    expect(store.allTransitions()).toEqual([]);
    expect((await deployed(RULES).pay('eur')).status).toBe(201);
  });

  test('still gets its stored response, and an open claim is retried at the processor of that claim', async () => {
    const first = await harness.pay('usd', dollars);
    await harness.pay('eur', { source: 'tok_unauthorized' });
    const nowhere = deployed([]);
    expect(await nowhere.pay('usd', dollars)).toMatchObject({ status: 201, text: first.text });
    const retried = await nowhere.pay('eur', { source: 'tok_unauthorized' });
    expect([retried.status, retried.body['code']]).toEqual([503, 'processor_unavailable']);
    expect(nowhere.processor.sends(String(store.allTransitions().at(-1)?.payment.id))).toBe(1);
  });

  test('never reaches a processor in test mode if it is a live payment, regardless of the rules', async () => {
    const refused = await payLive(harness, 'live');
    expect([refused.status, refused.body['code']]).toEqual([403, 'livemode_not_available']);
    const wrong = await payLive(new Api({ store, choose: () => harness.processor }), 'live');
    expect([wrong.status, wrong.body['code']]).toEqual([422, 'no_processor_for_payment']);
    expect(store.allTransitions()).toEqual([]);
    expect([harness.processor.inside.all, stripe.calls]).toEqual([[], []]);
  });

  test('never reaches a processor in live mode if it is a test payment', async () => {
    const clock = new SimulatedClock();
    const processor = createSandboxInProcess({ clock, mode: 'live' });
    const choose = routing([{ mode: 'live', processor: 'sandbox' }], [processor]);
    const api = new Api({ store, processors: [processor], books: [processor], choose });
    const refused = await api.pay('k');
    expect([refused.status, refused.body['code']]).toEqual([422, 'no_processor_for_payment']);
    expect(processor.inside.all).toEqual([]);
    expect(await payLive(api, 'k')).toMatchObject({ status: 201, body: { livemode: true } });
    expect(processor.inside.all).toHaveLength(1);
  });

  test('is refused with its own error code if no processor is configured', async () => {
    const refused = await new Api({ store, processors: [], choose: routing([], []) }).pay('k');
    expect([refused.status, refused.body['code']]).toEqual([503, 'no_processor_configured']);
  });
});

test('a refund of a test payment gets 503 if the deployment has the processor in live mode only, and nothing is sent to that processor', async () => {
  const first = await harness.pay('eur');
  const swapped = createSandboxInProcess({ clock: new SimulatedClock(), mode: 'live' });
  const reply = await refund(new Api({ store, processors: [swapped], books: [swapped] }), first.body['id'], 'r');
  expect([reply.status, reply.body['code']]).toEqual([503, 'processor_unavailable']);
  expect(swapped.inside.sent).toEqual([]);
});

describe('the first matching rule applies', () => {
  const test_ = { mode: 'test' } as const;
  test.each<[Omit<RoutingRule, 'mode'>[], string]>([
    [[], 'no_processor_for_payment'],
    [[{ processor: 'stripe' }], 'stripe'],
    [[{ tenant: 'ten_b', processor: 'stripe' }], 'no_processor_for_payment'],
    [[{ tenant: 'ten_a', processor: 'stripe' }], 'stripe'],
    [[{ tenant: 'ten_a', currency: 'EUR', processor: 'stripe' }, { processor: 'sandbox' }], 'sandbox'],
    [[{ currency: 'USD', processor: 'sandbox' }, { processor: 'stripe' }], 'sandbox'],
  ])('%j: %s', (rules, expected) => {
    const choose = routing(
      rules.map((rule) => ({ ...rule, ...test_ })),
      [client, harness.processor],
    );
    const chosen = choose({ tenantId: tenantId('ten_a'), mode: 'test', currency: 'USD' });
    expect(typeof chosen === 'string' ? chosen : chosen.name).toBe(expected);
  });
});

describe('routing with any rules, processors and payment', () => {
  const mode = fc.constantFrom('test' as const, 'live' as const);
  const name = fc.constantFrom('sandbox', 'external', 'stripe');
  const currency = fc.constantFrom('EUR', 'USD', 'CHF');
  const tenant = fc.constantFrom('ten_a', 'ten_b');
  const rule = fc.record({ mode, processor: name, currency, tenant }, { requiredKeys: ['mode', 'processor'] });
  const called = fc.uniqueArray(fc.record({ name, mode }), { selector: (each) => `${each.name} ${each.mode}` });

  test('selects the processor of the first matching rule, always in the mode of the payment, and none if no rule matches', () => {
    fc.assert(
      fc.property(fc.array(rule, { maxLength: 5 }), called, mode, currency, tenant, (rules, names, ...payment) => {
        const [ofMode, inCurrency, ofTenant] = payment;
        const clients = names.map((each) => ({ ...client, ...each }));
        // The stacks refuse a rule whose processor is not called in the rule's mode.
        const valid = rules.filter((each) => names.some((a) => a.name === each.processor && a.mode === each.mode));
        const asked = { tenantId: tenantId(ofTenant), mode: ofMode, currency: inCurrency };
        const chosen = routing(valid, clients)(asked);
        const matching = valid.filter(
          (each) =>
            each.mode === ofMode &&
            [inCurrency, undefined].includes(each.currency) &&
            [ofTenant, undefined].includes(each.tenant),
        );
        expect(typeof chosen === 'string' ? undefined : [chosen.name, chosen.mode]).toEqual(
          matching[0] === undefined ? undefined : [matching[0].processor, ofMode],
        );
        if (names.length === 0) expect(chosen).toBe('no_processor_configured');
      }),
      { numRuns: whole(2_000, { slice: 200 }) },
    );
  });
});
