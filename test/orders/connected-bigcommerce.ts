import { createBigCommerceStock, probeBigCommerce } from '../../lambdas/orders/parties/bigcommerce-stock.ts';
import type { StockKeeper } from '../../lambdas/orders/use/order-parties.ts';
import { callOnce } from '../../lambdas/outbound/http-call.ts';
import type { OnGivenUp } from '../../lambdas/outbound/outbound-calls.ts';
import { createOutboundPolicy } from '../../lambdas/outbound/outbound-policy.ts';
import type { DeadLetters } from '../../lambdas/outbound/use/dead-letters.ts';
import type { SendingClaims } from '../../lambdas/outbound/use/sending-claims.ts';
import type { SimulatedClock } from '../support/simulated-clock.ts';
import { BIGCOMMERCE_TOKEN, type BigCommerceDouble, LOCATION } from './bigcommerce-double.ts';

interface Around {
  readonly server: BigCommerceDouble;
  readonly clock: SimulatedClock;
  readonly claims: SendingClaims;
  readonly deadLetters: DeadLetters;
  readonly timeoutMs: number;
  readonly token?: string;
  readonly givenUp?: OnGivenUp;
}

export function connectBigCommerce({
  server,
  clock,
  claims,
  deadLetters,
  timeoutMs,
  token = BIGCOMMERCE_TOKEN,
  givenUp = 'delay',
}: Around): StockKeeper {
  const access = { url: server.store, token: async () => token, send: callOnce };
  const policy = createOutboundPolicy({
    vendor: 'stock',
    clock,
    entropy: { fraction: () => 1 },
    observer: { count: () => {} },
    deadLetters,
    timeoutMs,
    probe: (limit) => probeBigCommerce('stock', access, limit, clock.nowMs()),
  });
  return createBigCommerceStock({ ...access, locationId: LOCATION, policy, claims, deadLetters, clock, givenUp });
}
