import { beforeEach, describe, expect, test } from '@jest/globals';
import { systemDigest } from '../../../../lambdas/kernel/platform/platform.ts';
import type { PaymentSums } from '../../../../lambdas/payments/domain/payment-sums.ts';
import { nextTransition } from '../../../../lambdas/payments/domain/transition.ts';
import { paymentRequest } from '../../../payments/payment-fixtures.ts';
import { BY_REQUEST } from '../../../support/causes.ts';
import { World } from '../../world.ts';
import { watched } from './watched.ts';
import { appendTo, refundOf } from './written.ts';

let harness: World;
let world: ReturnType<typeof watched>;

beforeEach(() => {
  harness = new World();
  world = watched(harness);
});

async function paid(key: string) {
  const request = paymentRequest(key);
  await harness.pay(request);
  return { request, charge: harness.chargeOf(request) };
}

describe('a chain', () => {
  test.each<[string, Partial<PaymentSums>]>([
    ['that omit a reserved refund', { reservedMinor: 0 }],
    ['with a wrong number of refunds', { refunds: 7 }],
    ['with a wrong `begunAt`', { begunAt: 2 }],
  ])('must not end with sums %s', async (_name, wrong) => {
    const { request, charge } = await paid('summed');
    const refund = refundOf(`ref_${request.paymentId.slice('pay_'.length)}${'a'.repeat(26)}`, charge);
    await appendTo(harness, request, { type: 'refund.pending', subject: refund });
    expect(world.now()).not.toContain('F31 sums');
    const chain = await harness.chain(request);
    const draft = { type: 'payment.fee_reported' as const, payment: chain.newest.payment, postings: [] };
    const state = { ...chain.state, sums: { ...chain.state.sums, ...wrong } };
    const occasion = { occurredAtMs: 0, cause: BY_REQUEST };
    await harness.store.write([nextTransition(systemDigest, { ...chain, state }, draft, occasion)]);
    expect(world.now()).toContain('F31 sums');
  });

  test('must not end without sums', async () => {
    const { request } = await paid('unsummed');
    const chain = await harness.chain(request);
    const draft = { type: 'payment.fee_reported' as const, payment: chain.newest.payment, postings: [] };
    const occasion = { occurredAtMs: 0, cause: BY_REQUEST };
    const { sums: _sums, ...older } = nextTransition(systemDigest, chain, draft, occasion);
    await harness.store.write([older]);
    expect(world.now()).toContain('F31 sums');
  });
});
