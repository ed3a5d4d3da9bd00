import { QueryCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll, beforeEach, expect } from '@jest/globals';
import { autoBindSteps, loadFeature, type StepDefinitions } from 'jest-cucumber';
import type { PaymentId } from '../../lambdas/kernel/ids.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { payNaively } from '../bench/bench-naive-payment.ts';
import { paymentIdFor, paymentRequest } from '../payments/payment-fixtures.ts';
import { createTables, dynamoDbClient } from '../support/local-aws.ts';
import { Barrier, clientWithBarrier } from './barrier.ts';
import { PaymentSite } from './payment-site.ts';

/** Returns the response to the client. */
type Worker = (point: Barrier) => Promise<string>;

let tables: Awaited<ReturnType<typeof createTables>>;
let site: PaymentSite;
let scenarios = 0;
let worker: Worker;
let paymentId: PaymentId;
let ledgerPrefix = '';
let answers: readonly string[] = [];

beforeAll(async () => {
  tables = await createTables('race');
});
beforeEach(() => {
  scenarios += 1;
  site = new PaymentSite(tables);
});

const steps: StepDefinitions = ({ given, when, then }) => {
  given('a worker that reads first and then pays', () => {
    const request = paymentRequest(`race-${scenarios}`);
    ({ paymentId } = request);
    ledgerPrefix = 'NAIVE#';
    worker = (point) => payNaively(clientWithBarrier(point), tables, site.processor, request);
  });

  given('a worker that runs Payonce', () => {
    paymentId = paymentIdFor(`race-${scenarios}`, 'ten_desk');
    ledgerPrefix = 'PAY#';
    worker = async (point) => {
      const reply = await site.serve(clientWithBarrier(point)).pay(`race-${scenarios}`);
      return String(reply.body['code'] ?? reply.body['status']);
    };
  });

  when('two of these workers get the same payment, and both read before either pays', async () => {
    const point = new Barrier(2);
    answers = await Promise.all([worker(point), worker(point)]);
  });

  then(/^the payer was charged (\d+) times?$/, (times: string) => {
    expect(site.processor.charges(paymentId)).toHaveLength(Number(times));
  });

  then(/^the ledger has (\d+) entr(?:y|ies) for the payment$/, async (entries: string) => {
    expect(await moneyEntries()).toBe(Number(entries));
  });

  then('the losing worker learns that the payment is in progress', () => {
    expect(answers.toSorted()).toEqual(['idempotency_key_in_progress', 'succeeded']);
  });
};

/** Payonce's claim is also an entry, but moves no money. */
async function moneyEntries(): Promise<number> {
  const output = await documentClient(dynamoDbClient()).send(
    new QueryCommand({
      TableName: tables.ledger,
      KeyConditionExpression: 'pk = :payment',
      ExpressionAttributeValues: { ':payment': `${ledgerPrefix}${paymentId}` },
      ConsistentRead: true,
    }),
  );
  return (output.Items ?? []).filter(({ type }) => type !== 'payment.created').length;
}

autoBindSteps(loadFeature('test/features/race.feature'), [steps]);
