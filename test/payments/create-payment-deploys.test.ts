import { beforeEach, describe, expect, test } from '@jest/globals';
import { ownerToken, storedOperationId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { creationAnswer } from '../../lambdas/payments/domain/payment-answer.ts';
import { detailsOf, nextTransition } from '../../lambdas/payments/domain/transition.ts';
import { chargeOperation } from '../../lambdas/payments/ids.ts';
import type { PaymentStore } from '../../lambdas/payments/use/payment-store.ts';
import type { Processor } from '../../lambdas/payments/use/processor.ts';

import { requestedAt } from '../support/causes.ts';
import { createSandboxInProcess } from '../world/sandbox-in-process.ts';
import { World } from '../world/world.ts';
import { paymentIdFor, paymentRequest, pendingTransition } from './payment-fixtures.ts';

const MINUTE = 60_000;

let harness: World;
beforeEach(() => {
  harness = new World();
});

describe('a deploy that changes the processor while a claim is open', () => {
  const moved = () => {
    const books = createSandboxInProcess({ clock: harness.clock });
    const processor: Processor = { ...books, endpoint: 'https://elsewhere.example', account: 'other' };
    return { books, processor };
  };

  test('makes no second charge at the new processor, which cannot look up a send to the old processor', async () => {
    const request = paymentRequest('moved');
    await harness.claimThenDie(request, true);
    harness.clock.advance(MINUTE);
    const { books, processor } = moved();
    expect((await harness.answered(request, { processor })).status).toBe(202);
    expect([harness.processor.charges(request.paymentId).length, books.charges(request.paymentId).length]).toEqual([
      1, 0,
    ]);
  });

  test('ends a released claim as not attempted after the send window, and sends nothing to the new processor', async () => {
    const request = paymentRequest('moved-released', { source: 'tok_unauthorized' });
    await expect(harness.pay(request)).rejects.toMatchObject({ name: 'RetryableError' });
    const { books, processor } = moved();
    await expect(harness.pay(request, { processor })).rejects.toMatchObject({ code: 'processor_elsewhere' });
    harness.clock.advance(16 * MINUTE);
    const { status, body } = await harness.answered(request, { processor });
    expect([status, body['code'], books.sends(request.paymentId)]).toEqual([409, 'payment_not_attempted', 0]);
  });

  test('does not treat the absence of a charge at the new processor as proof that no charge was made', async () => {
    const request = paymentRequest('moved-late');
    await harness.claimThenDie(request, true);
    harness.clock.advance(60 * MINUTE);
    expect((await harness.answered(request, { processor: moved().processor })).status).toBe(202);
  });
});

describe('a lost record', () => {
  test('is restored by its owner while a rival reads the chain, and the rival replays the response', async () => {
    const request = paymentRequest('brought-back');
    const { promise: rivalLooks, resolve: looking } = Promise.withResolvers<void>();
    const { promise: ownerIsDone, resolve: done } = Promise.withResolvers<void>();
    const slow: PaymentStore = {
      ...harness.storeMethods(),
      listTransitions: async (paymentId, page) => {
        looking();
        await ownerIsDone;
        return harness.store.listTransitions(paymentId, page);
      },
    };
    let rival: Promise<unknown> = Promise.resolve();
    const store = harness.storeWithRival(async () => {
      harness.store.deleteRecord(chargeOperation(request.paymentId));
      rival = harness.pay(request, { store: slow });
      await rivalLooks;
    });
    expect((await harness.answered(request, { store })).status).toBe(201);
    done();
    expect(await rival).toMatchObject({ kind: 'replay' });
  });

  test('leads to an expired key if the outcome "unknown" was stored, so the key never charges again', async () => {
    const request = paymentRequest('unknown-then-lost');
    await harness.processor.inside.failNext(9, 'tok_timeout_not_charged');
    expect((await harness.answered(request)).status).toBe(202);
    harness.store.deleteRecord(chargeOperation(request.paymentId));
    expect(await harness.pay(request)).toEqual({ kind: 'key_expired', paymentId: request.paymentId });
  });

  test('leads to an expired key if the outcome "unknown" was stored, even after a correction of the ledger', async () => {
    const request = paymentRequest('unknown-corrected-lost');
    await harness.processor.inside.failNext(9, 'tok_timeout_not_charged');
    await harness.answered(request);
    const chain = await harness.chain(request);
    const draft = { type: 'ledger.corrected' as const, payment: chain.newest.payment, postings: [] };
    const corrected = nextTransition(systemDigest, chain, draft, requestedAt(harness.clock.nowMs()));
    const record = { operationId: storedOperationId('cor_1'), owner: ownerToken('operator'), recordedAtMs: 0 };
    await harness.store.recordEffect({ record, transitions: [corrected] });
    harness.clock.advance(9 * 24 * 60 * 60_000);
    harness.store.deleteRecord(chargeOperation(request.paymentId));
    expect(await harness.pay(request)).toEqual({ kind: 'key_expired', paymentId: request.paymentId });
  });
});

describe('a response', () => {
  test('has the same bytes for any order of the keys in the stored metadata', () => {
    const first = pendingTransition(paymentIdFor('order-of-keys'));
    const withMetadata = (metadata: Record<string, string>) =>
      creationAnswer(first.payment, { ...detailsOf(first), metadata });
    expect(withMetadata({ b: '2', a: '1' })).toEqual(withMetadata({ a: '1', b: '2' }));
  });

  test('is 402 for a decline even if the processor’s failure code is one that Payonce uses for another status', async () => {
    const processor: Processor = {
      ...harness.processor,
      charge: async () => ({ kind: 'declined', failure: { code: 'not_attempted', message: 'no' } }),
    };
    expect((await harness.answered(paymentRequest('their-code'), { processor })).status).toBe(402);
  });
});
