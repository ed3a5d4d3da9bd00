import * as z from 'zod';
import { AmbiguousError } from '../../lambdas/kernel/faults.ts';
import type {
  CreditOutcome,
  ReferralProgram,
  ReservationOutcome,
  StockKeeper,
} from '../../lambdas/orders/use/order-parties.ts';
import type { SandboxAnswer } from '../sandbox/sandbox-calls.ts';
import { errorIn, sandboxHarness } from '../sandbox/sandbox-harness.ts';
import { createTestSandbox } from '../sandbox/sandbox-world.ts';

const entry = z.object({ id: z.string() });

/** The services run in this process. */
export interface ShopParties {
  readonly stock: StockKeeper;
  readonly referrals: ReferralProgram;
  /** Counts the unreleased reservations of an order. */
  reserved(orderId: string): Promise<number>;
  reservations(orderId: string): Promise<number>;
  credits(orderId: string): Promise<number>;
}

export function createShopParties(): ShopParties {
  const { handler, books } = createTestSandbox(undefined, undefined, 'shop');
  const harness = sandboxHarness(handler);
  return {
    stock: {
      reserve: async ({ operationId, orderId, items }): Promise<ReservationOutcome> => {
        const answer = await harness.post('/stock/reservations', { order: orderId, items }, operationId);
        const outcome = judged(answer);
        return outcome.kind === 'made' ? { kind: 'reserved', reservationId: outcome.id } : outcome;
      },
      release: async ({ reservationId }) => {
        judged(await harness.post(`/stock/reservations/${reservationId}/release`));
      },
    },
    referrals: {
      credit: async ({ operationId, orderId, referrer, amountMinor, currency }): Promise<CreditOutcome> => {
        const body = { order: orderId, referrer, amount: amountMinor, currency };
        const outcome = judged(await harness.post('/referrals/credits', body, operationId));
        return outcome.kind === 'made' ? { kind: 'credited', creditId: outcome.id } : outcome;
      },
    },
    reserved: async (order) =>
      (await books.stock.entriesOfOrder(order)).filter(({ status }) => status === 'reserved').length,
    reservations: async (order) => (await books.stock.entriesOfOrder(order)).length,
    credits: async (order) => (await books.credits.entriesOfOrder(order)).length,
  };
}

function judged(answer: SandboxAnswer) {
  if (answer.status >= 500) throw new AmbiguousError('shop_unanswered', `The shop answered ${answer.status}.`);
  if (answer.status >= 400) return { kind: 'refused' as const, failure: errorIn(answer) };
  return { kind: 'made' as const, id: entry.parse(JSON.parse(answer.body)).id };
}
