import { invariant } from '../../lambdas/kernel/invariant.ts';
import { CountedChanges } from '../payments/counted-changes.ts';
import { isRead, unitsOf } from '../support/counted-client.ts';

/** Counts the usage before the refund calls the processor. */
export interface RefundCost {
  readonly calls: number;
  readonly readUnits: number;
}

/** Counts only the last refund. */
export async function refundCost(refunds: number): Promise<RefundCost> {
  const changes = new CountedChanges();
  await changes.world.pay(changes.request);
  let cost: RefundCost | undefined;
  for (let number = 1; number <= refunds; number += 1) {
    const reason = 'Returned by the customer';
    const { outcome, before } = await changes.make({ kind: 'refund', amountMinor: 1_111, reason });
    invariant(outcome.kind === 'first', `refund ${number} was not made: ${outcome.kind}`);
    cost = { calls: before.length, readUnits: unitsOf(before.filter(isRead)) };
  }
  invariant(cost !== undefined, 'at least one refund is needed');
  return cost;
}
