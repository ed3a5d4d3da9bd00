import { createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  GetSecretValueCommand,
  ListSecretsCommand,
  PutSecretValueCommand,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import { beforeAll, describe, expect, test } from '@jest/globals';
import pMap from 'p-map';
import { authorityOf, type LocalAws } from '../../local/local-aws.ts';
import { runJob } from '../jobs/run-job.ts';
import { killedPayment } from '../payments/killed-payment.ts';
import { ApiClient } from '../support/api-client.ts';
import { askSandbox, CREDENTIALS, localAws } from '../support/local-aws.ts';
import { whole } from '../support/slice.ts';
import { until } from '../support/until.ts';

let aws: LocalAws;
let api: ApiClient;
let operator: ApiClient;
/** The last test uses this charge, whose payment is unknown. */
let unclaimed: { readonly id: string; readonly madeAtMs: number };

const MINUTE_MS = 60_000;
let secret: string;
beforeAll(async () => {
  aws = localAws();
  api = new ApiClient(aws, aws.apiKey);
  operator = new ApiClient(aws, aws.operatorKey);
  secret = (await readSecret())['current'] ?? '';
  const madeAtMs = Date.now();
  const made = await postToSandbox('/charges', {
    amount: 4321,
    currency: 'EUR',
    source: 'tok_ok',
    capture: 'automatic',
    metadata: {},
  });
  unclaimed = { ...((await made.json()) as { id: string }), madeAtMs };
});

const secretsManager = () =>
  new SecretsManagerClient({ endpoint: aws.awsEndpoint, region: aws.region, credentials: CREDENTIALS });

async function secretName(): Promise<string> {
  const { SecretList = [] } = await secretsManager().send(new ListSecretsCommand({}));
  return SecretList.find(({ Name }) => Name?.includes('CallbackSecret'))?.ARN ?? '';
}

async function readSecret(): Promise<Record<string, string | undefined>> {
  const { SecretString = '{}' } = await secretsManager().send(
    new GetSecretValueCommand({ SecretId: await secretName() }),
  );
  return JSON.parse(SecretString) as Record<string, string | undefined>;
}

const MAX_DELIVERIES = 10;

/**
 * The signature is computed independently of production code. On a busy machine, Payonce may be unable to read the
 * processor's books in time; a processor would then redeliver the callback.
 */
async function callBack(event: Record<string, unknown>, signWith = secret): Promise<number> {
  const body = JSON.stringify(event);
  for (let delivery = 1; ; delivery += 1) {
    const seconds = Math.floor(Date.now() / 1000);
    const mac = createHmac('sha256', signWith).update(`${seconds}.${body}`).digest('hex');
    const answer = await fetch(`${aws.apiUrl}/callbacks/sandbox/test`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'sandbox-signature': `t=${seconds},v1=${mac}` },
      body,
    });
    const text = await answer.text();
    if (!text.includes('"processor_unavailable"') || delivery === MAX_DELIVERIES) return answer.status;
  }
}

const eventOf = (id: string, charge: string) => ({
  id,
  object: 'event',
  type: 'charge.succeeded',
  livemode: false,
  created: 1,
  data: { charge, payment: null },
});

interface Shown {
  readonly type: string;
  readonly postings: readonly { account: string; direction: string; amount: number }[];
}

async function transitionsOf(payment: unknown): Promise<readonly Shown[]> {
  const { json } = await api.send('GET', `/v1/payments/${String(payment)}/transitions`);
  return json['data'] as readonly Shown[];
}

const postingSets = (transitions: readonly Shown[]) => transitions.filter(({ postings }) => postings.length > 0);

const untilTypes = (payment: unknown, ...types: readonly string[]) =>
  until(async () => {
    const transitions = await transitionsOf(payment);
    return types.every((type) => transitions.some((each) => each.type === type)) ? transitions : undefined;
  });

async function chargeOf(payment: unknown): Promise<string> {
  const [charge] = await api.charges(payment);
  return String(charge?.['id']);
}

const postToSandbox = (path: string, body: object = {}) =>
  askSandbox(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

describe('a processor callback', () => {
  test('settles an asynchronous payment, and does not change its stored response', async () => {
    const answer = await api.pay({ key: 'cb-async', body: { source: 'tok_async' } });
    expect([answer.status, answer.json['status']]).toEqual([202, 'processing']);
    await untilTypes(answer.json['id'], 'payment.completed');
    const shown = await api.send('GET', `/v1/payments/${String(answer.json['id'])}`);
    expect(shown.json['status']).toBe('succeeded');
    const replay = await api.pay({ key: 'cb-async', body: { source: 'tok_async' } });
    expect(replay.text).toBe(answer.text);
  });

  test('leads to one set of postings, and to 201 for the payment request, when it arrives before the response to the charge', async () => {
    const answer = await api.pay({ key: 'cb-first', body: { source: 'tok_callback_first' } });
    expect([answer.status, answer.json['status']]).toEqual([201, 'succeeded']);
    expect((await transitionsOf(answer.json['id'])).map(({ type }) => type)).toEqual([
      'payment.created',
      'payment.completed',
    ]);
    expect(await api.charges(answer.json['id'])).toHaveLength(1);
  });

  test.each([
    ['twice at once', 'tok_callback_twice'],
    ['out of order', 'tok_callback_out_of_order'],
  ])('leads to one set of postings when it is delivered %s', async (_how, source) => {
    const answer = await api.pay({ key: `cb-${source}`, body: { source } });
    const transitions = await untilTypes(answer.json['id'], 'payment.completed');
    await until(async () => ((await undelivered(answer.json['id'])) === 0 ? true : undefined));
    expect(postingSets(await transitionsOf(answer.json['id']))).toHaveLength(1);
    expect(postingSets(transitions)).toHaveLength(1);
  });

  test('that reports a success after a decline records a late success and queues its refund; the payment stays failed', async () => {
    const answer = await api.pay({ key: 'cb-late', body: { source: 'tok_callback_late_success' } });
    expect(answer.status).toBe(402);
    const { id } = answer.json['payment'] as { id: string };
    const transitions = await untilTypes(id, 'payment.late_success');
    const found = transitions.find(({ type }) => type === 'payment.late_success');
    expect(found?.postings).toMatchObject([
      { account: 'processor_clearing', direction: 'debit', amount: 1000 },
      { account: 'late_receipts', direction: 'credit', amount: 1000 },
    ]);
    expect((await api.send('GET', `/v1/payments/${id}`)).json['status']).toBe('failed');
    // A scheduled run may already have made the refund.
    const owed = await queuedReturns(id);
    const types = (await transitionsOf(id)).map(({ type }) => type);
    if (owed.length > 0) expect(owed).toEqual([await chargeOf(id)]);
    else expect(types).toContainEqual(expect.stringMatching(/^refund\.(?:pending|completed)$/));
  });

  test('leads to postings when a dispute is opened, and again when the dispute is won', async () => {
    const answer = await api.pay({ key: 'cb-dispute', body: { source: 'tok_dispute' } });
    await untilTypes(answer.json['id'], 'dispute.opened');
    const [charge = {}] = await api.charges(answer.json['id']);
    const [dispute] = charge['disputes'] as { id: string }[];
    await postToSandbox(`/control/disputes/${dispute?.id}/close`, { outcome: 'won' });
    const closed = await untilTypes(answer.json['id'], 'dispute.closed');
    expect(postingSets(closed).map(({ type }) => type)).toEqual([
      'payment.completed',
      'dispute.opened',
      'dispute.closed',
    ]);
  });

  test.each([
    ['approves', 'approve', 'succeeded'],
    ['refuses', 'refuse', 'failed'],
  ])('settles a payment after the payer %s on the processor’s page', async (_what, decision, status) => {
    const answer = await api.pay({ key: `cb-${decision}`, body: { source: 'tok_action' } });
    expect([answer.status, answer.json['status']]).toEqual([202, 'requires_action']);
    const { url } = answer.json['next_action'] as { url: string };
    const page = await fetch(url);
    expect([page.status, page.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/html')]);
    await fetch(url, { method: 'POST', body: new URLSearchParams({ decision }) });
    const shown = await until(async () => {
      const { json } = await api.send('GET', `/v1/payments/${String(answer.json['id'])}`);
      return json['status'] === 'requires_action' ? undefined : json;
    });
    expect([shown['status'], shown['next_action']]).toEqual([status, undefined]);
  });

  test('settles the payment of a killed process without a retry by the client', async () => {
    const { id: paymentId } = await killedPayment(aws, { source: 'tok_slow' });
    const transitions = await untilTypes(paymentId, 'payment.completed');
    expect(postingSets(transitions)).toHaveLength(1);
    expect(await api.charges(paymentId)).toHaveLength(1);
  });
});

async function undelivered(payment: unknown): Promise<number> {
  const answer = await askSandbox(`/events?charge=${await chargeOf(payment)}`);
  const { data } = (await answer.json()) as { data: { delivered: boolean }[] };
  return data.filter(({ delivered }) => !delivered).length;
}

async function queuedReturns(payment: string): Promise<readonly unknown[]> {
  const { json } = await operator.send('GET', '/v1/admin/queues/returns?limit=100');
  return (json['data'] as Record<string, unknown>[]).flatMap(({ about, part }) => (about === payment ? [part] : []));
}

describe('two identical concurrent callbacks', () => {
  test('have one effect and both get 200, in many rounds', async () => {
    const rounds = Array.from({ length: whole(100, { slice: 10 }) }, (_, round) => round);
    // More than two rounds at a time would only delay the processor's responses.
    await pMap(rounds, oneRound, { concurrency: 2 });
  });

  async function oneRound(round: number): Promise<void> {
    const answer = await api.pay({ key: `cb-round-${round}`, body: { source: 'tok_ok', amount: 1000 + round } });
    const charge = await chargeOf(answer.json['id']);
    const refund = await postToSandbox(`/charges/${charge}/refunds`, { amount: 10 });
    expect(refund.status).toBe(201);
    const event = eventOf(`evt_round_${round}`, charge);
    expect(await Promise.all([callBack(event), callBack(event)])).toEqual([200, 200]);
    const sets = postingSets(await transitionsOf(answer.json['id']));
    expect(sets.map(({ type }) => type)).toEqual(['payment.completed', 'refund.completed']);
  }
});

describe('unauthorized callbacks', () => {
  test('are rejected with 401, and with 404 for an unknown processor', async () => {
    const answer = await api.pay({ key: 'cb-forged', body: { source: 'tok_ok' } });
    const charge = await chargeOf(answer.json['id']);
    await postToSandbox(`/charges/${charge}/refunds`, { amount: 10 });
    expect(await callBack(eventOf('evt_forged', charge), 'a guess')).toBe(401);
    const unsigned = await fetch(`${aws.apiUrl}/callbacks/sandbox/test`, { method: 'POST', body: '{}' });
    expect(unsigned.status).toBe(401);
    expect((await fetch(`${aws.apiUrl}/callbacks/unknown`, { method: 'POST', body: '{}' })).status).toBe(404);
  });

  test('are accepted soon after their secret is added; callbacks signed with the old secret are still accepted', async () => {
    const both = { ...(await readSecret()), next: 'the-next-secret-of-the-processor' };
    await secretsManager().send(
      new PutSecretValueCommand({ SecretId: await secretName(), SecretString: JSON.stringify(both) }),
    );
    const answer = await api.pay({ key: 'cb-rotated', body: { source: 'tok_ok' } });
    const charge = await chargeOf(answer.json['id']);
    const underNext = await until(async () => {
      const status = await callBack(eventOf('evt_rotated_new', charge), both.next);
      return status === 200 ? status : undefined;
    });
    expect(underNext).toBe(200);
    expect(await callBack(eventOf('evt_rotated_old', charge))).toBe(200);
  });
});

describe('a callback for an unknown payment', () => {
  test('is stored without a posting, reported as a mismatch, and queued as an orphan', async () => {
    const { id, madeAtMs } = unclaimed;
    await until(async () => {
      const answer = await askSandbox(`/events?charge=${id}`);
      const { data } = (await answer.json()) as { data: { delivered: boolean }[] };
      return data.length > 0 && data.every(({ delivered }) => delivered) ? true : undefined;
    });
    // A comparison covers only complete minutes.
    await sleep(Math.max(0, Math.floor(madeAtMs / MINUTE_MS) * MINUTE_MS + MINUTE_MS + 1_000 - Date.now()));
    const comparison = await runJob(aws, 'reconcile-recent');
    expect([comparison.status, comparison.failed]).toEqual(['succeeded', 0]);
    const { json } = await operator.send('GET', '/v1/admin/mismatches?limit=100');
    const found = (json['data'] as Record<string, unknown>[]).find(({ charges }) => String(charges) === id);
    const mismatch = { payment: null, processor_amount: 4321, ledger_amount: 0, currency: 'EUR' };
    // With PostgreSQL, a comparison ends before the newest rows, because their copies may be incomplete.
    expect(found).toEqual(authorityOf(aws) === 'postgres' ? undefined : expect.objectContaining(mismatch));

    const run = await runJob(aws, 'retry-orphans');
    expect([run.status, run.failed]).toEqual(['succeeded', 0]);
    const waiting = await operator.send('GET', '/v1/admin/queues/orphans?limit=100');
    expect((waiting.json['data'] as Record<string, unknown>[]).map(({ part }) => part)).toContain(id);
  });
});
