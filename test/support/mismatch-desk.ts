import { type PaymentId, storedOperationId, tenantId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import type { ProcessorCharge } from '../../lambdas/payments/domain/processor-charge.ts';
import type { ProcessorBooks } from '../../lambdas/payments/use/processor.ts';
import {
  type FindMismatches,
  type FindMismatchesOutcome,
  findMismatches,
} from '../../lambdas/reconciling/use/find-mismatches.ts';
import { LedgerDesk } from './ledger-desk.ts';

/** When every desk's clock begins. Unix seconds. */
export const START_SECONDS = Date.UTC(2026, 2, 1, 12) / 1000;
export const DAY_SECONDS = 86_400;

/** The comparison of the two books, and somebody who changes things at the processor beside us. */
export class MismatchDesk extends LedgerDesk {
  get inside() {
    return this.payments.processor.inside;
  }

  /** Over the first day, unless `changes` says otherwise. */
  find(changes: Partial<FindMismatches> = {}, books?: ProcessorBooks): Promise<FindMismatchesOutcome> {
    const { store, processor, clock } = this.payments;
    return findMismatches(
      { ledger: this.reader, effects: store, books: books ?? processor, clock },
      { tenantId: tenantId('ten_desk'), mode: 'test' },
      {
        fromSeconds: START_SECONDS,
        untilSeconds: START_SECONDS + DAY_SECONDS,
        limit: 100,
        answerByMs: clock.nowMs() + 20_000,
        ...changes,
      },
    );
  }

  chargeOf(payment: PaymentId): ProcessorCharge {
    const [charge] = this.payments.processor.charges(payment);
    invariant(charge !== undefined, 'the payment was charged');
    return charge;
  }

  /** A charge that somebody made beside us. */
  chargeBeside(paymentId: PaymentId, amountMinor: number, currency = 'EUR'): ProcessorCharge {
    const operationId = storedOperationId(`by-hand-${amountMinor}-${currency}`);
    const order = { operationId, paymentId, amountMinor, currency, source: 'tok_ok', capture: 'automatic' as const };
    return this.inside.add(order, 'succeeded');
  }
}

export function compared(mismatches: readonly unknown[], charges: number, payments: number) {
  return { kind: 'compared', mismatches, hasMore: false, charges, payments };
}
