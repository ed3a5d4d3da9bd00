import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { systemInstruments } from '../../lambdas/kernel/platform/instruments.ts';
import { standardTelemetry } from '../../lambdas/kernel/platform/telemetry.ts';
import type { PaymentStore } from '../../lambdas/payments/use/payment-store.ts';
import { API_KEY, Api } from '../world/api.ts';

/** The test searches the function's whole output for these values. */
const SECRETS = {
  idempotencyKey: 'key-of-mr-miller',
  source: 'tok_mr_miller',
  reference: 'order-of-mr-miller',
  description: 'Shirts for Mr Miller',
  metadataKey: 'miller_key',
  metadataValue: 'miller-value',
  card: '4242424242424242',
  liveKey: 'sk_live_abcdefghijklmnopqrstuv',
};

let written: string[];

beforeEach(() => {
  written = [];
  for (const stream of [process.stdout, process.stderr]) {
    jest.spyOn(stream, 'write').mockImplementation((chunk) => {
      written.push(String(chunk));
      return true;
    });
  }
});

afterEach(() => {
  jest.restoreAllMocks();
});

const lines = () => written.map((line) => JSON.parse(line) as Record<string, unknown>);

const broken = new Proxy({} as PaymentStore, {
  get: () => () => {
    throw new Error(`bug at ${SECRETS.liveKey} with ${SECRETS.card}`, {
      cause: new RetryableError('store_unavailable', `for ${API_KEY}`),
    });
  },
});

async function everyKindOfRequest(harness: Api): Promise<void> {
  const body = {
    source: SECRETS.source,
    reference: SECRETS.reference,
    description: SECRETS.description,
    metadata: { [SECRETS.metadataKey]: SECRETS.metadataValue },
  };
  const { idempotencyKey, card, liveKey } = SECRETS;
  await harness.pay(idempotencyKey, body);
  await harness.pay(idempotencyKey, body);
  await harness.pay(idempotencyKey, { ...body, amount: 2 });
  await harness.pay(`${idempotencyKey} x`, body);
  await harness.pay(idempotencyKey, { ...body, source: card });
  await harness.pay(idempotencyKey, { ...body, description: liveKey });
  await harness.pay(idempotencyKey, { ...body, [SECRETS.metadataKey]: SECRETS.metadataValue });
  await harness.pay(idempotencyKey, body, { headers: { Authorization: `Bearer ${liveKey}` } });
  await harness.post(`{"source":"${SECRETS.source}"`, { headers: { 'Idempotency-Key': idempotencyKey } });
  await harness.get(`/v1/payments/${card}?${SECRETS.metadataKey}=${SECRETS.metadataValue}`);
  await harness.get(`/${SECRETS.description}/${liveKey}`);
}

describe('the log output of the function', () => {
  test('contains no part of a body, no unmasked key and no source, for any outcome', async () => {
    const telemetry = standardTelemetry('payments', systemInstruments);

    await everyKindOfRequest(new Api({ telemetry }));
    await everyKindOfRequest(new Api({ telemetry, store: broken }));

    expect(lines().filter(({ message }) => message === 'request')).toHaveLength(22);
    expect(lines().filter(({ message }) => message === 'fault').length).toBeGreaterThan(0);
    for (const secret of [...Object.values(SECRETS), API_KEY]) expect(written.join('')).not.toContain(secret);
  });

  test('contains a fault with its code, its stack and its causes', async () => {
    await new Api({ telemetry: standardTelemetry('payments', systemInstruments), store: broken }).pay('k-1');

    expect(lines().find(({ message }) => message === 'fault')).toMatchObject({
      level: 'ERROR',
      service: 'payments',
      requestId: 'req-1',
      fault: {
        name: 'Error',
        stack: expect.stringMatching(/^Error: bug at \[secret\] with \[card number\]\n +at /),
        cause: { name: 'RetryableError', code: 'store_unavailable', stack: expect.stringContaining('[secret]') },
      },
    });
  });

  test('has metrics in the embedded metric format, under the namespace Payonce', async () => {
    const harness = new Api({ telemetry: standardTelemetry('payments', systemInstruments) });
    await harness.pay('k-1');
    await harness.pay('k-1');

    const metrics = lines().filter((line) => '_aws' in line);
    expect(metrics).toEqual([
      expect.objectContaining({ service: 'payments', first: 1 }),
      expect.objectContaining({ service: 'payments', replay_warm: 1 }),
    ]);
    expect(metrics[0]).toMatchObject({
      _aws: { CloudWatchMetrics: [{ Namespace: 'Payonce', Metrics: [{ Name: 'first', Unit: 'Count' }] }] },
    });
  });
});
