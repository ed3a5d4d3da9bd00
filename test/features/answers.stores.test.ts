/** Tests the guarantee "one answer". */
import { beforeAll, beforeEach, expect } from '@jest/globals';
import { autoBindSteps, loadFeature, type StepDefinitions } from 'jest-cucumber';
import { createTables, dynamoDbClient } from '../support/local-aws.ts';
import type { Reply } from '../world/api.ts';
import { HeldPayment } from './held-payment.ts';
import { apiPaymentId, PaymentSite } from './payment-site.ts';

const DAY_MS = 24 * 60 * 60_000;
const AMOUNT = 1000;
const KEY_HEADERS: ReadonlyMap<string, readonly string[]> = new Map([
  ['without a key', []],
  ['with an empty key', ['']],
  ['with a key of two words', ['two words']],
  ['with a key that is too long', ['k'.repeat(129)]],
  ['with two different keys', ['one', 'another']],
]);
/** Each situation has a number of sends that fail, and a magic source of the sandbox with the same behavior. */
const TROUBLES: ReadonlyMap<string, readonly [count: number, source: string]> = new Map([
  ["the payer's bank refuses", [1, 'tok_declined']],
  // Both sends of a request fail.
  ['the processor does not answer in time', [2, 'tok_timeout_not_charged']],
]);

let tables: Awaited<ReturnType<typeof createTables>>;
let site: PaymentSite;
let held: HeldPayment | undefined;
let scenarios = 0;
let key = '';
let sendsOfFirst = 0;
let first: Reply | undefined;
let last: Reply | undefined;

beforeAll(async () => {
  tables = await createTables('answers');
});
beforeEach(() => {
  scenarios += 1;
  site = new PaymentSite(tables);
  held = undefined;
  key = `answers-${scenarios}`;
  first = undefined;
  last = undefined;
});

/** Stores the first and the last response of the scenario. */
async function pay(body: Readonly<Record<string, unknown>> = {}, payKey = key): Promise<Reply> {
  last = await site.serve(dynamoDbClient()).pay(payKey, body);
  if (first === undefined) sendsOfFirst = site.sends;
  first ??= last;
  return last;
}

const newKey = (): string => `${key}-new`;

const payAs = (reference: string, payKey: string) => pay({ reference }, payKey);

const situations: StepDefinitions = ({ given }) => {
  given(/^(the payer's bank (?:agrees|refuses)|the processor does not answer in time)$/, async (trouble: string) => {
    await site.processor.inside.failNext(...(TROUBLES.get(trouble) ?? [0, 'tok_ok']));
  });

  given('a client has asked to pay', () => pay());

  given('a request to pay that is still running', async () => {
    held = await HeldPayment.begin(site, key);
  });

  given('a request to pay that is still running and does not end soon', async () => {
    held = await HeldPayment.begin(site, key);
    held.outlastsWaiting = true;
  });

  given('8 days have passed', () => site.clock.advance(8 * DAY_MS));

  given(/^a client has paid for the reference "(.*)"$/, (reference: string) => payAs(reference, key));
};

const requests: StepDefinitions = ({ when }) => {
  when('a client asks to pay', () => pay());

  when(/^a client asks to pay (with(?:out)? .*key.*)$/, async (how: string) => {
    last = await site.serve(dynamoDbClient()).ask('POST', '/v1/payments', {
      headers: { 'Content-Type': 'application/json' },
      event: {
        body: JSON.stringify({ amount: AMOUNT, currency: 'EUR', source: 'tok_ok' }),
        multiValueHeaders: { 'Idempotency-Key': [...(KEY_HEADERS.get(how) ?? [])] },
      },
    });
  });

  when('the client sends the same request again', () => pay());

  when(
    'the client sends the same request again with its key in quotes, under a header name in capital letters',
    async () => {
      last = await site.serve(dynamoDbClient()).ask('POST', '/v1/payments', {
        headers: { 'Content-Type': 'application/json', 'IDEMPOTENCY-KEY': `"${key}"` },
        event: { body: JSON.stringify({ amount: AMOUNT, currency: 'EUR', source: 'tok_ok' }) },
      });
    },
  );

  when(
    /^the client sends the same request again, and would rather wait for (\d+) seconds$/,
    async (seconds: string) => {
      const clock = heldPayment().clockOfWaiting();
      const waiting = site.serve(dynamoDbClient(), { clock });
      last = await waiting.pay(key, {}, { headers: { Prefer: `wait=${seconds}` } });
      if (!heldPayment().outlastsWaiting) first = await heldPayment().end();
    },
  );

  when('the client sends another amount with the same key', () => pay({ amount: AMOUNT + 1 }));

  when(/^a client asks to pay for the reference "(.*)" with a new key$/, (reference: string) =>
    payAs(reference, newKey()),
  );
};

const answers: StepDefinitions = ({ then }) => {
  then(/^it is answered (\d+) with the code "(.*)"$/, (status: string, code: string) => {
    expect([last?.status, last?.body['code']]).toEqual([Number(status), code]);
  });

  then(/^it is answered (\d+) and the payment is "(.*)"$/, (status: string, state: string) => {
    // An error response contains its payment.
    const payment = last?.body['payment'] ?? last?.body;
    expect(last?.status).toBe(Number(status));
    expect(payment).toMatchObject({ object: 'payment', status: state });
  });

  then('the answer is not marked as a replay', () => {
    expect(last?.headers).not.toHaveProperty('Idempotency-Replayed');
  });

  then('it gets the first answer, byte for byte, marked as a replay', () => mustReplay(last));

  then('the first request, sent again, still gets its first answer', async () => mustReplay(await pay()));

  then('it learns when to retry', () => {
    expect(Number(last?.headers['Retry-After'])).toBeGreaterThan(0);
  });

  then('the first copy succeeds when it ends', async () => {
    expect((await heldPayment().end()).body).toMatchObject({ object: 'payment', status: 'succeeded' });
  });

  then('the answer names the first payment', () => {
    expect(last?.body['payment_id']).toBe(apiPaymentId(key));
  });
};

const effects: StepDefinitions = ({ then }) => {
  then('no payer was charged', () => {
    expect(site.sends).toBe(0);
  });

  then(/^the payer was charged (\d+) times?(?: in all)?$/, (times: string) => {
    expect(site.succeeded(key) + site.succeeded(newKey())).toBe(Number(times));
  });

  then('the processor received no further request', () => {
    expect(site.sends).toBe(sendsOfFirst);
  });
};

function mustReplay(reply: Reply | undefined): void {
  expect([reply?.status, reply?.text]).toEqual([first?.status, first?.text]);
  expect(reply?.headers['Idempotency-Replayed']).toBe('true');
}

function heldPayment(): HeldPayment {
  if (held === undefined) throw new Error('no request is running');
  return held;
}

autoBindSteps(loadFeature('test/features/answers.feature'), [situations, requests, answers, effects]);
