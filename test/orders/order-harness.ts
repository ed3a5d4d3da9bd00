import { fingerprintOf } from '../../lambdas/kernel/fingerprint.ts';
import { parseIdempotencyKey } from '../../lambdas/kernel/idempotency-key.ts';
import { deriveOrderId, type OrderId, paymentOfOrder, tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import type { Order } from '../../lambdas/orders/domain/order.ts';
import type { OrderTransition } from '../../lambdas/orders/domain/order-transition.ts';
import { type CreateOrder, type CreateOrderOutcome, createOrder } from '../../lambdas/orders/use/create-order.ts';

import type { OrderTools } from '../../lambdas/orders/use/order-calls.ts';
import type { PaymentChain } from '../../lambdas/payments/use/payment-chain.ts';
import { readChain } from '../../lambdas/payments/use/payment-chain.ts';
import type { ResolveTools } from '../../lambdas/resolving/use/resolve.ts';
import { sweepAll } from '../jobs/sweep-all.ts';
import { BY_REQUEST } from '../support/causes.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { createSandboxInProcess, type SandboxInProcess } from '../world/sandbox-in-process.ts';
import { Stores } from '../world/stores.ts';
import { MemoryMailer } from './memory-mailer.ts';
import { createShopParties } from './shop-parties.ts';

const MINUTE_MS = 60_000;

/** A request for 20.00 EUR of tea, on a friend's word, unless `changes` says otherwise. */
export function orderRequest(key: string, changes: Partial<CreateOrder> = {}): CreateOrder {
  const parsed = parseIdempotencyKey([key]);
  if (parsed.kind !== 'key') throw new Error(`${key} is no key`);
  const caller = { tenantId: tenantId('ten_fixture'), mode: 'test' as const };
  const asked = {
    amountMinor: 2_000,
    currency: 'EUR',
    source: 'tok_ok',
    items: [{ sku: 'sku_tea', quantity: 2 }],
    email: 'ada@example.com',
    referrer: 'ref_friend',
    ...changes,
  };
  return {
    ...caller,
    orderId: deriveOrderId(systemDigest, { ...caller, method: 'POST', path: '/v1/orders', key: parsed.key }),
    fingerprint: fingerprintOf(systemDigest, { body: JSON.parse(JSON.stringify(asked)), query: {} }),
    requestId: 'req-order',
    cause: BY_REQUEST,
    ...asked,
  };
}

/** One store, one processor, one shop, one mailer, one clock, and the use cases on them. */
export class OrderHarness {
  readonly clock = new SimulatedClock();
  readonly store = new Stores(this.clock);
  readonly processor: SandboxInProcess = createSandboxInProcess({ clock: this.clock });
  readonly shop = createShopParties();
  readonly mailer = new MemoryMailer();
  readonly reported: unknown[] = [];
  /** What the resolver has counted, by name. */
  readonly counted = new Map<string, number>();
  readonly #entropy = countingEntropy();

  get tools(): OrderTools {
    const { store, processor, clock, shop, mailer } = this;
    return {
      store,
      orders: store,
      processor,
      stock: shop.stock,
      referrals: shop.referrals,
      mailer,
      runner: idempotentRunner,
      replays: { get: () => undefined, put: () => undefined },
      clock,
      entropy: this.#entropy,
      digest: systemDigest,
      report: (error) => this.reported.push(error),
    };
  }

  order(request: CreateOrder, changes: Partial<OrderTools> = {}): Promise<CreateOrderOutcome> {
    return createOrder({ ...this.tools, ...changes }, request);
  }

  /** One run of the resolver over all of its queues. */
  async resolve(changes: Partial<Pick<ResolveTools, 'books'> & OrderTools> = {}): Promise<void> {
    const { stock, referrals, mailer, books = [this.processor], ...tools } = { ...this.tools, ...changes };
    await sweepAll({
      ...tools,
      parties: { stock, referrals, mailer },
      effects: this.store,
      work: this.store,
      books,
      told: (_queue, { finished, failed, undecidable }, inReview) => {
        const counts = { resolved: finished, unavailable: failed, undecidable, order_needs_review: inReview };
        for (const [what, times] of Object.entries(counts)) {
          this.counted.set(what, (this.counted.get(what) ?? 0) + times);
        }
      },
    });
  }

  /** The resolver runs every minute for so long. */
  async resolveFor(minutes: number, changes: Partial<Pick<ResolveTools, 'books'> & OrderTools> = {}): Promise<void> {
    for (let minute = 0; minute < minutes; minute += 1) {
      this.clock.advance(MINUTE_MS);
      await this.resolve(changes);
    }
  }

  async transitions(orderId: OrderId): Promise<readonly OrderTransition[]> {
    return this.store.listOrderTransitions(orderId, { afterSequence: 0, limit: 100 });
  }

  async typesOf({ orderId }: CreateOrder): Promise<readonly string[]> {
    return (await this.transitions(orderId)).map(({ type }) => type);
  }

  async read({ orderId }: CreateOrder): Promise<Order> {
    const newest = (await this.transitions(orderId)).at(-1);
    if (newest === undefined) throw new Error('there is no such order');
    return newest.order;
  }

  async payment({ orderId }: CreateOrder): Promise<PaymentChain> {
    const chain = await readChain(this.store, paymentOfOrder(systemDigest, orderId));
    if (chain === undefined) throw new Error('there is no such payment');
    return chain;
  }

  /** What the processor has kept of an order, by its own list. Minor units. */
  keptMinor({ orderId }: CreateOrder): number {
    return this.processor
      .charges(paymentOfOrder(systemDigest, orderId))
      .map(({ capturedMinor, refunds }) => {
        const given = refunds.filter(({ status }) => status === 'succeeded');
        return capturedMinor - given.reduce((sum, { amountMinor }) => sum + amountMinor, 0);
      })
      .reduce((sum, kept) => sum + kept, 0);
  }

  charges({ orderId }: CreateOrder): number {
    return this.processor.charges(paymentOfOrder(systemDigest, orderId)).filter(({ status }) => status !== 'declined')
      .length;
  }
}

export function answerOf(outcome: CreateOrderOutcome): {
  readonly status: number;
  readonly body: Record<string, unknown>;
} {
  if (outcome.kind !== 'first' && outcome.kind !== 'replay') throw new Error(`not answered but ${outcome.kind}`);
  return { status: outcome.answer.status, body: JSON.parse(outcome.answer.body) as Record<string, unknown> };
}
