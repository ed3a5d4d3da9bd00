import { beforeAll, beforeEach, expect } from '@jest/globals';
import { autoBindSteps, loadFeature, type StepDefinitions } from 'jest-cucumber';
import { createTables, dynamoDbClient } from '../support/local-aws.ts';
import type { Reply } from '../world/api.ts';
import { Barrier, clientWithBarrier } from './barrier.ts';
import { apiPaymentId, PaymentSite } from './payment-site.ts';

let tables: Awaited<ReturnType<typeof createTables>>;
let site: PaymentSite;
let scenarios = 0;
let key = '';
let body: Readonly<Record<string, string>> = {};
let replies: readonly Reply[] = [];

beforeAll(async () => {
  tables = await createTables('once');
});
beforeEach(() => {
  scenarios += 1;
  site = new PaymentSite(tables);
  key = `once-${scenarios}`;
  body = {};
  replies = [];
});

async function request(): Promise<void> {
  replies = [...replies, await site.serve(dynamoDbClient()).pay(key, body)];
}

const steps: StepDefinitions = ({ given, when, then }) => {
  given('a request with a new key', () => undefined);

  given('a request that was completed', request);

  given('a request that failed because the processor was unavailable', async () => {
    body = { source: 'tok_rate_limited' };
    await request();
    expect(replies[0]?.status).toBe(503);
  });

  when(/^the request is made(?: again)?$/, request);

  when('the request is made two times at the same moment', async () => {
    const point = new Barrier(2);
    replies = await Promise.all([1, 2].map(() => site.serve(clientWithBarrier(point)).pay(key, body)));
  });

  then('the client learns that the payment succeeded', () => {
    const reply = replies.at(-1);
    expect([reply?.status, reply?.body['status']]).toEqual([201, 'succeeded']);
  });

  then('the client gets the first answer, marked as a replay', () => {
    const [first, again] = replies;
    expect(again?.text).toBe(first?.text);
    expect(again?.headers['Idempotency-Replayed']).toBe('true');
  });

  then('one of the two learns that the payment succeeded', () => {
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(1);
  });

  then('the other of the two learns that the request is in progress', () => {
    const refused = replies.filter(({ status }) => status === 409);
    expect(refused.map((reply) => reply.body['code'])).toEqual(['idempotency_key_in_progress']);
  });

  then(/^the record is "(.*)"$/, async (state: string) => {
    expect(await site.recordState(apiPaymentId(key))).toBe(state);
  });

  then(/^the payer was charged (\d+) times?$/, (times: string) => {
    expect(site.succeeded(key)).toBe(Number(times));
  });
};

autoBindSteps(loadFeature('test/features/once.feature'), [steps]);
