/** Tests the guarantee "named actors". */
import { beforeEach, describe, expect, test } from '@jest/globals';
import { fingerprintOf } from '../../lambdas/kernel/fingerprint.ts';
import { storedOperationId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { correctLedger } from '../../lambdas/operators/use/correct-ledger.ts';
import { BY_OPERATOR, BY_REQUEST, BY_RUN, OPERATOR } from '../support/causes.ts';
import { World } from '../world/world.ts';
import { callback, change, paymentRequest } from './payment-fixtures.ts';

let harness: World;
beforeEach(() => {
  harness = new World();
});

const causesOf = async (request: ReturnType<typeof paymentRequest>) =>
  (await harness.chain(request)).transitions.map(({ type, cause }) => [type, cause]);

describe('the cause of a transition', () => {
  test('names the request that began the payment, or the callback that settled it', async () => {
    const request = paymentRequest('p', { source: 'tok_async' });
    await harness.pay(request);
    await harness.processor.inside.approve(harness.chargeOf(request));
    await harness.deliver(callback('evt_1', harness.chargeOf(request)));
    expect(await causesOf(request)).toEqual([
      ['payment.created', BY_REQUEST],
      ['payment.processing', BY_REQUEST],
      ['payment.completed', { by: 'callback', eventId: 'evt_1' }],
    ]);
  });

  test('names the job run that finishes an open request', async () => {
    const request = paymentRequest('p');
    await harness.pay(request);
    await harness.dieAfterChange(change(request, 'k', { kind: 'refund', amountMinor: 300 }));
    harness.clock.advance(60_000);
    expect(await harness.resolveClaims()).toMatchObject({ finished: 1 });
    expect((await causesOf(request)).slice(2)).toEqual([
      ['refund.pending', BY_REQUEST],
      ['refund.completed', BY_RUN],
    ]);
  });

  test('names the operator who corrects the ledger', async () => {
    const request = paymentRequest('p');
    await harness.pay(request);
    await correctLedger(harness.tools, {
      cause: BY_OPERATOR,
      operationId: storedOperationId('cor_1'),
      fingerprint: fingerprintOf(systemDigest, { body: {}, query: {} }),
      payment: request.paymentId,
      reason: 'Booked twice',
      by: OPERATOR,
      asked: { kind: 'correction', change: { kind: 'reverse', sequence: 2 } },
    });
    expect((await causesOf(request)).at(-1)).toEqual(['ledger.corrected', BY_OPERATOR]);
  });
});
