/** Oracle: a referrer's credit is five percent of the order's amount. */

import { systemDigest } from '../../../../lambdas/kernel/platform/platform.ts';
import { orderStepOperation, parseOrderId } from '../../../../lambdas/orders/ids.ts';
import type { Violation } from '../contract.ts';
import type { Seen } from './seen.ts';

const SHARE_OF = 20;

/** Called once the system is quiet. */
export function checkCredits({ world, orders }: Seen): readonly Violation[] {
  return [...orders].flatMap(([id, chain]) => {
    const orderId = parseOrderId(id);
    const order = chain[0]?.row.order;
    if (orderId === undefined || order === undefined) return [];
    const key: string = orderStepOperation(systemDigest, 'credit', orderId);
    const dueMinor = (order.amountMinor - (order.amountMinor % SHARE_OF)) / SHARE_OF;
    const credits = world.shop.filter((each) => each.kind === 'credited' && each.key === key);
    return credits.flatMap(({ order: asked }) => {
      const { amount, currency } = asked as { readonly amount?: number; readonly currency?: string };
      if (amount === dueMinor && currency === order.currency) return [];
      const what = `${amount} ${currency} was credited, but ${dueMinor} ${order.currency} was due`;
      return [{ oracle: 'a credit is the share of its order', what, about: id }];
    });
  });
}
