import { createMailer } from '../../lambdas/orders/parties/mailer.ts';
import { createPostmark, probePostmark } from '../../lambdas/orders/parties/postmark.ts';
import type { PartiesConfig } from '../../lambdas/orders/parties/settings.ts';
import { probeShop } from '../../lambdas/orders/parties/shop-call.ts';
import { CREDITS_PATH, createShopReferrals } from '../../lambdas/orders/parties/shop-referrals.ts';
import { createShopStock, STOCK_PATH } from '../../lambdas/orders/parties/shop-stock.ts';
import { callOnce, type SendRequest } from '../../lambdas/outbound/http-call.ts';
import type { OnGivenUp } from '../../lambdas/outbound/outbound-calls.ts';
import { createOutboundPolicy } from '../../lambdas/outbound/outbound-policy.ts';
import type { MemoryDeadLetterStore } from '../outbound/memory-dead-letter-store.ts';
import type { SimulatedClock } from '../support/simulated-clock.ts';
import { Stores } from '../world/stores.ts';
import { TABLES } from '../world/tables.ts';

export const REAL_PARTIES: PartiesConfig = {
  shopUrl: 'https://shop.example',
  secrets: { shopSigningKey: 'shop-key', postmarkToken: 'postmark-token' },
  postmark: { url: 'https://mail.example', from: 'shop@shop.example' },
  emailsPerRecipient: 20,
  registryTable: TABLES.registry,
  deadLettersQueueUrl: 'https://queue.example',
  delayedCallsQueueUrl: 'https://queue.example/delayed',
};

const MAX_LAG_MS = 30_000;

interface Around {
  readonly clock: SimulatedClock;
  readonly url: string;
  readonly deadLetters: MemoryDeadLetterStore;
  /**
   * Sends a request.
   * @default sends over HTTP
   */
  readonly send?: SendRequest;
}

export type ConnectedParties = ReturnType<typeof connectParties>;

/** Pass the `claims` of another process to share them. */
export function connectParties(
  { clock, url, deadLetters, send = callOnce }: Around,
  givenUp: OnGivenUp,
  claims = new Stores(clock).sendingClaims('sandbox'),
) {
  const policyOf = (vendor: string, probe: (limit: { readonly timeoutMs: number }) => Promise<void>) =>
    createOutboundPolicy({
      vendor,
      clock,
      entropy: { fraction: () => 1 },
      observer: { count: () => {} },
      deadLetters,
      timeoutMs: 10_000,
      probe,
    });
  const shop = (vendor: string, path: string) => ({
    url,
    clock,
    send,
    givenUp,
    policy: policyOf(vendor, (limit) => probeShop(vendor, { url, path }, limit)),
  });
  const access = { url, token: async () => 'any' };
  const policy = policyOf('postmark', (limit) => probePostmark('postmark', access, limit));
  const counts = { admit: async () => true };
  const emails = createPostmark({ ...access, from: 'shop@example.org', policy, claims, clock, maxLagMs: MAX_LAG_MS });
  return {
    claims,
    emails,
    stock: createShopStock(shop('stock', STOCK_PATH)),
    referrals: createShopReferrals({ ...shop('referrals', CREDITS_PATH), claims }),
    mailer: createMailer(emails, { clock, counts, capped: () => undefined, givenUp, isSandbox: true }),
    clock,
  };
}
