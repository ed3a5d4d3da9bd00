import { beforeEach, expect, test } from '@jest/globals';
import type { Processor } from '../../lambdas/app/ports/processor.ts';
import { AmbiguousError, RetryableError } from '../../lambdas/core/faults.ts';
import { OrderDesk, orderRequest } from '../support/order-desk.ts';

const MINUTE_MS = 60_000;

let desk: OrderDesk;
beforeEach(() => {
  desk = new OrderDesk();
});

test('nobody sends later than 15 minutes after the order was claimed', async () => {
  const request = orderRequest('slow');
  const claimedAtMs = desk.clock.nowMs();
  const sentAtMs: number[] = [];
  let asked = 0;
  // Open for the order's own look and shut for its payment's: nothing is begun, and the claim is released.
  const shut: Processor = {
    ...desk.processor,
    ready: async () => {
      asked += 1;
      if (asked > 1) throw new RetryableError('processor_circuit_open', 'no');
    },
  };
  await expect(desk.order(request, { processor: shut })).rejects.toMatchObject({ code: 'processor_circuit_open' });
  const silent: Processor = {
    ...desk.processor,
    charge: () => {
      sentAtMs.push(desk.clock.nowMs());
      return Promise.reject(new AmbiguousError('processor_timeout', 'no'));
    },
    findCharge: () => Promise.reject(new RetryableError('processor_unreachable', 'no')),
  };
  desk.clock.advance(14 * MINUTE_MS); // the client asks again
  await desk.order(request, { processor: silent });
  await desk.resolveFor(20, { processor: silent });
  expect(sentAtMs.length).toBeGreaterThan(0);
  expect(Math.max(...sentAtMs) - claimedAtMs).toBeLessThanOrEqual(15 * MINUTE_MS);
});
