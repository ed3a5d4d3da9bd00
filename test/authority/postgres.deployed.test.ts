/** Tests deployed functions that store payments in PostgreSQL, over verified TLS. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pMap from 'p-map';
import { expectedPaymentId } from '../payments/expected-payment-id.ts';
import { ApiClient } from '../support/api-client.ts';
import { localAws } from '../support/local-aws.ts';
import { until } from '../support/until.ts';
import { type PaymentsOnPostgres, paymentsOnPostgres } from './payments-on-postgres.ts';

const aws = localAws();
/** List requests of this client are served from DynamoDB. */
const deployed = new ApiClient(aws, aws.apiKey);
const run = crypto.randomUUID();
let payments: PaymentsOnPostgres;
let api: ApiClient;

beforeAll(async () => {
  payments = await paymentsOnPostgres();
  api = new ApiClient(payments, aws.apiKey);
});
afterAll(async () => payments[Symbol.asyncDispose]());

test('a payment and its postings are rows in the database, and all connections to it use TLS', async () => {
  const key = `${run}-first`;
  const first = await api.pay({ key });
  expect([first.status, first.json['status'], first.json['id']]).toEqual([
    201,
    'succeeded',
    expectedPaymentId(aws.tenantId, key),
  ]);
  const replay = await api.pay({ key });
  expect([replay.status, replay.text, replay.headers.get('idempotency-replayed')]).toEqual([201, first.text, 'true']);
  const changed = await api.pay({ key, body: { amount: 1001 } });
  expect([changed.status, changed.json['code']]).toEqual([422, 'idempotency_key_payload_mismatch']);

  const text = `SELECT transition.type, sum(CASE direction WHEN 'debit' THEN posting.amount_minor ELSE 0 END) AS debit
    FROM payonce.transition LEFT JOIN payonce.posting USING (chain_id, sequence)
    WHERE chain_id = $1 GROUP BY sequence, transition.type ORDER BY sequence`;
  const rows = await payments.query(text, first.json['id']);
  expect(rows.map(({ type, debit }) => [type, Number(debit)])).toEqual([
    ['payment.created', 0],
    ['payment.completed', 1000],
  ]);
  const sessions = await payments.query(
    "SELECT DISTINCT usename, ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE datname = 'payonce'",
  );
  expect(sessions).toContainEqual({ usename: 'payonce_functions', ssl: true });
  expect(sessions).not.toContainEqual(expect.objectContaining({ ssl: false }));
});

test('16 duplicates, sent eight at a time, charge once and get the same response', async () => {
  const key = `${run}-duplicates`;
  const answers = await pMap(Array.from({ length: 16 }), () => api.payUntilAnswered({ key }), { concurrency: 8 });
  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  expect(answers[0]?.status).toBe(201);
  expect(await api.charges(answers[0]?.json['id'])).toHaveLength(1);
});

test('a payment is copied to DynamoDB, where lists find it, and leaves the outbox', async () => {
  const metadata = { run };
  const { json } = await api.pay({ key: `${run}-listed`, body: { metadata } });
  const listed = await until(async () => {
    const { json: list } = await deployed.send('GET', '/v1/payments?limit=100');
    return (list['data'] as Record<string, unknown>[]).find(({ id }) => id === json['id']);
  });
  expect(listed).toMatchObject({ status: 'succeeded', amount: 1000, metadata });
  await until(async () => {
    const [row] = await payments.query('SELECT count(*) AS left FROM payonce.outbox WHERE chain_id = $1', json['id']);
    return Number(row?.['left']) === 0 ? true : undefined;
  });
});
