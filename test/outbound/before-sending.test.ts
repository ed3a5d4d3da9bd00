import type { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import type { S3Client } from '@aws-sdk/client-s3';
import type { SQSClient } from '@aws-sdk/client-sqs';
import { describe, expect, test } from '@jest/globals';
import * as z from 'zod';
import { S3Archive } from '../../lambdas/archive/store/s3-archive.ts';
import { EventBridgePublisher } from '../../lambdas/events/store/eventbridge-publisher.ts';
import { AmbiguousError, RetryableError, TerminalError } from '../../lambdas/kernel/faults.ts';
import { readWithRetries, writeConditionally } from '../../lambdas/kernel/platform/attempts.ts';
import { callOnce } from '../../lambdas/outbound/http-call.ts';
import { SqsDeadLetterStore } from '../../lambdas/outbound/store/sqs-dead-letter-store.ts';
import { createStripeApi } from '../../lambdas/processors/stripe/stripe-api.ts';
import { webhookTransport } from '../../lambdas/webhooks/transport/webhook-transport.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';

const refusal = () => new Error('Unsupported type passed: x.');
/** The SDK throws this error if an attempt got no response. */
const lost = () => Object.assign(new Error('socket hang up'), { $metadata: { attempts: 1 } });
const failing = (thrown: Error) => ({ send: async () => Promise.reject(thrown) });

const pacing = { clock: new SimulatedClock(), entropy: countingEntropy() };

describe.each<[string, (thrown: Error) => Promise<unknown>, string]>([
  ['a write to DynamoDB', (thrown) => writeConditionally(pacing, async () => Promise.reject(thrown)), 'store_refused'],
  ['a read from DynamoDB', (thrown) => readWithRetries(pacing, async () => Promise.reject(thrown)), 'store_refused'],
  [
    'a call to the bus',
    (thrown) => new EventBridgePublisher(failing(thrown) as unknown as EventBridgeClient, 'bus').publish([]),
    'bus_call_invalid',
  ],
  [
    'a write to the archive',
    (thrown) =>
      new S3Archive(failing(thrown) as unknown as S3Client, 'bucket').put({
        name: 'a',
        text: 'b',
        sha256: new Uint8Array(),
      }),
    'archive_call_invalid',
  ],
  [
    'a read of dead letters',
    (thrown) => new SqsDeadLetterStore(failing(thrown) as unknown as SQSClient, 'dead', 'delayed').take(1),
    'dead_letter_invalid',
  ],
])('%s', (_what, call, code) => {
  test('causes a terminal error if it failed before the first attempt', async () => {
    const error = await call(refusal()).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(TerminalError);
    expect(error).toMatchObject({ code });
  });

  test('causes an ambiguous or retryable error if an attempt got no response', async () => {
    const error = await call(lost()).catch((thrown: unknown) => thrown);
    expect(error instanceof RetryableError || error instanceof AmbiguousError).toBe(true);
  });
});

test('the outcome of a write stays unknown if its first response was lost and the next attempt could not be sent', async () => {
  const errors = [lost(), refusal()];
  const write = writeConditionally(pacing, async () => Promise.reject(errors.shift()));
  await expect(write).rejects.toMatchObject({ name: 'AmbiguousError', code: 'store_ambiguous' });
});

describe('a request that is not valid HTTP', () => {
  const headers = { 'x-note': 'two\nlines' };

  test.each([
    ['with an invalid header', { url: 'http://127.0.0.1:9/', headers }],
    ['with an invalid URL', { url: 'http://', headers: {} }],
  ])('causes a terminal error if it is for a processor or a vendor: %s', async (_how, { url, ...request }) => {
    const call = callOnce({ method: 'POST', url, timeoutMs: 1_000, party: 'shop', ...request });
    await expect(call).rejects.toMatchObject({ name: 'TerminalError', code: 'shop_request_invalid' });
  });

  test('causes a terminal error if it is for a webhook receiver', async () => {
    const transport = webhookTransport({ allowLoopback: true, resolve: async () => [] });
    const call = transport.post({ url: 'http://127.0.0.1:9/', headers, body: '' }, []);
    await expect(call).rejects.toMatchObject({ name: 'TerminalError', code: 'webhook_request_invalid' });
  });

  test('causes a terminal error if it is for Stripe, and is not sent', async () => {
    const sent: unknown[] = [];
    const callStripe = createStripeApi({
      apiKey: async () => 'sk_test_x',
      mode: 'test',
      account: 'acct_1',
      clock: pacing.clock,
      send: async (call) => {
        sent.push(call);
        throw new AmbiguousError('processor_timeout', 'no answer');
      },
    });
    const charge = callStripe(async () => Promise.reject(new TypeError('no such parameter')), z.unknown());
    await expect(charge).rejects.toMatchObject({ name: 'TerminalError', code: 'processor_request_invalid' });
    expect(sent).toEqual([]);
    const read = callStripe(async (stripe) => stripe.charges.retrieve('ch_1'), z.unknown());
    await expect(read).rejects.toMatchObject({ code: 'processor_timeout' });
  });

  test('causes a retryable error while the Stripe key is not a valid header value', async () => {
    const apiKey = async () => 'sk_test_x\u200b';
    const callStripe = createStripeApi({ apiKey, mode: 'test', account: 'acct_1', clock: pacing.clock });
    const charge = callStripe(async (stripe) => stripe.charges.retrieve('ch_1'), z.unknown());
    await expect(charge).rejects.toMatchObject({ name: 'RetryableError', code: 'processor_key_unavailable' });
  });
});
