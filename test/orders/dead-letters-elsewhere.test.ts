/**
 * Tests dead letters that wait while an operator switches the shop and the mailer from the sandbox to real services, or
 * back.
 */
import type { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SQSClient, type SQSClientConfig } from '@aws-sdk/client-sqs';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { type PaidEvent, sendReceipt } from '../../lambdas/follow-ups/send-receipt.ts';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { systemInstruments } from '../../lambdas/kernel/platform/instruments.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { configuredRedrive } from '../../lambdas/orders/parties/configured-parties.ts';
import type { PartiesConfig } from '../../lambdas/orders/parties/settings.ts';
import type { SendRequest } from '../../lambdas/outbound/http-call.ts';
import { makeDelayedCall } from '../../lambdas/outbound/use/delayed-call.ts';
import type { PaymentStore } from '../../lambdas/payments/use/payment-store.ts';
import { MemoryDeadLetterStore } from '../outbound/memory-dead-letter-store.ts';
import { chainOfPaid, eventsOfPaid, ledgerOf } from '../payments/paid-chain.ts';
import { World } from '../world/world.ts';
import { connectParties, REAL_PARTIES } from './connected-parties.ts';
import { orderRequest } from './order-fixtures.ts';

const SECRET = 'aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zA';
const METADATA = { receipt_email: 'ada@example.com' };

let world: World;
let deadLetters: MemoryDeadLetterStore;
/** Paths of the POST requests that the shop and the mailer of the new deployment received. */
let asked: string[];

beforeEach(() => {
  world = new World();
  deadLetters = new MemoryDeadLetterStore(world.clock);
  asked = [];
});

const away: SendRequest = ({ party }) => Promise.reject(new RetryableError(`${party}_unreachable`, 'no'));

/** Responds like a shop and a mailer that execute every request. */
const real: SendRequest = async ({ method, url, body = '{}' }) => {
  const { pathname } = new URL(url);
  if (method === 'POST') asked.push(pathname);
  const { order, amount, currency } = JSON.parse(body) as Record<string, unknown>;
  const [status, answer] =
    pathname === '/email'
      ? [200, { ErrorCode: 0, Message: 'OK', MessageID: 'mail-1' }]
      : [201, { object: 'credit', id: 'credit-1', order, amount, currency }];
  return { status, retryAfter: null, headers: new Headers(), text: JSON.stringify(answer) };
};

const SANDBOX: PartiesConfig = { ...REAL_PARTIES, secrets: { sandbox: 'sandbox-access' } };

/** @returns the result of each call */
async function deliver(
  config: PartiesConfig,
  changes: { readonly store?: PaymentStore } = {},
): Promise<readonly string[]> {
  world.clock.advance(30_000);
  const manager = { send: async () => ({ SecretString: JSON.stringify({ current: SECRET }) }) };
  const gauge = { addMetric: () => undefined };
  const silent = {
    ...gauge,
    publishStoredMetrics: () => undefined,
    singleMetric: () => ({ ...gauge, addDimension: () => undefined }),
  };
  const redrive = await configuredRedrive(config, {
    ...world.tools,
    ...changes,
    documents: world.store.database.client,
    sqs: (settings: SQSClientConfig = {}) => new SQSClient({ region: 'eu-west-1', ...settings }),
    // The code under test calls only the methods that `manager` has.
    secretsManager: async () => manager as unknown as SecretsManagerClient,
    digest: systemDigest,
    instruments: { ...systemInstruments, metrics: () => silent },
    send: real,
  });
  const report = (error: unknown): never => {
    throw error;
  };
  const results: string[] = [];
  for (const deadLetter of deadLetters.delayed.splice(0))
    results.push(
      await makeDelayedCall(
        { ...redrive, deadLetters, runner: idempotentRunner, report },
        deadLetter,
        'delayed',
        false,
      ),
    );
  return results;
}

const previousPartiesUnavailable = () =>
  connectParties({ clock: world.clock, url: 'https://sandbox.example', deadLetters, send: away }, 'delay');

describe('a deployment that replaced the sandbox with a real shop and mailer', () => {
  test('gives a test-mode order neither its credit nor its e-mail', async () => {
    const request = orderRequest('test-mode');
    const { mailer, referrals } = previousPartiesUnavailable();
    await world.order(request, { mailer, referrals });
    expect(await world.read(request)).toMatchObject({ email: { status: 'queued' }, referral: { status: 'queued' } });
    expect(await deliver(REAL_PARTIES)).toEqual(['stays', 'stays']);
    expect(asked).toEqual([]);
    expect(await world.read(request)).toMatchObject({ email: { status: 'failed' }, referral: { status: 'failed' } });
  });

  test('sends no receipt for a test-mode payment', async () => {
    const [event] = eventsOfPaid('receipt', METADATA);
    const store = ledgerOf(chainOfPaid('receipt', METADATA)) as PaymentStore;
    const { mailer } = previousPartiesUnavailable();
    const { tools, basics } = world;
    const given = { payments: store, unsent: () => undefined, records: tools.records, mailer };
    await sendReceipt({ ...basics, ...given }, event as PaidEvent);
    expect(deadLetters.delayed).toHaveLength(1);
    expect(event?.mode).toBe('test');
    await deliver(REAL_PARTIES, { store });
    expect(asked).toEqual([]);
  });
});

test('a deployment that replaced the real shop with the sandbox shows no live-mode credit as given and no live-mode e-mail as sent', async () => {
  world = new World({ mode: 'live' });
  deadLetters = new MemoryDeadLetterStore(world.clock);
  const request = { ...orderRequest('live-mode'), mode: 'live' as const };
  const { mailer, referrals } = previousPartiesUnavailable();
  await world.order(request, { mailer, referrals });
  expect(await world.read(request)).toMatchObject({ email: { status: 'queued' }, referral: { status: 'queued' } });
  await deliver(SANDBOX);
  expect(asked).toEqual([]);
  expect(await world.read(request)).toMatchObject({ email: { status: 'failed' }, referral: { status: 'failed' } });
});
