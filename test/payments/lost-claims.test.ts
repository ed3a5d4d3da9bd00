/** Tests the guarantee "permanent keys". */
import { beforeEach, describe, expect, test } from '@jest/globals';
import { AmbiguousError } from '../../lambdas/kernel/faults.ts';
import type { Processor } from '../../lambdas/payments/use/processor.ts';
import { Stores } from '../world/stores.ts';
import { World, type WorldTools } from '../world/world.ts';
import { change, paymentRequest } from './payment-fixtures.ts';

const DAY_MS = 24 * 60 * 60_000;

/**
 * Simulates a table that was restored to a time before a claim. A retry of the claimed request looks like a first
 * request, and the processor may have forgotten the key.
 */
describe('a retry whose claim was lost, with the setting `claimsLost`', () => {
  let world: World;
  let restored: Stores;

  beforeEach(() => {
    world = new World();
    restored = new Stores(world.clock);
  });

  const stores = (): Partial<WorldTools> => ({ store: restored, effects: restored, work: restored, orders: restored });
  const lost = (processor: Processor = world.processor): Partial<WorldTools> => ({
    ...stores(),
    processor: { ...processor, abilities: { ...processor.abilities, claimsLost: true } },
  });

  test('does not charge again, although the processor has forgotten the key', async () => {
    const request = paymentRequest('lost');
    const first = await world.answered(request);
    world.clock.advance(DAY_MS + 1);
    const again = await world.answered(request, lost());
    expect([again.status, again.body['id'], again.body['status']]).toEqual([201, first.body['id'], 'succeeded']);
    expect(world.processor.sends(request.paymentId)).toBe(1);
    expect(world.taken(request)).toBe(1);
  });

  test('sends nothing while the processor cannot be searched, and reports an unknown outcome', async () => {
    const request = paymentRequest('unsearchable');
    await world.answered(request);
    world.clock.advance(DAY_MS + 1);
    const blind = lost({
      ...world.processor,
      findCharge: async () => {
        throw new AmbiguousError('processor_timeout', 'no response');
      },
    });
    expect((await world.answered(request, blind)).status).toBe(202);
    expect(world.processor.sends(request.paymentId)).toBe(1);
    expect(world.taken(request)).toBe(1);
  });

  test('does not refund again', async () => {
    const request = paymentRequest('refunded');
    await world.answered(request);
    await world.answered(request, stores());
    const refund = change(request, 'refund-of-400', { kind: 'refund', amountMinor: 400 });
    await world.change(refund);
    world.clock.advance(DAY_MS + 1);
    expect((await world.change(refund, lost())).kind).toBe('first');
    expect(world.refundedAtProcessor(request)).toBe(400);
  });

  test('charges if no charge was ever sent: 201 after a success, 402 after a decline', async () => {
    expect((await world.answered(paymentRequest('declined', { source: 'tok_declined' }), lost())).status).toBe(402);
    expect((await world.answered(paymentRequest('new'), lost())).status).toBe(201);
  });
});
