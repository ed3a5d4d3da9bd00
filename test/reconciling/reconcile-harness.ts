import { type PaymentId, storedOperationId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { ProcessorCharge } from '../../lambdas/payments/domain/processor-charge.ts';
import type { Mismatch } from '../../lambdas/reconciling/domain/compare-books.ts';
import {
  type MismatchCounts,
  type OpenMismatch,
  openMismatchOf,
} from '../../lambdas/reconciling/domain/mismatch-view.ts';
import { type ReconcileTools, reconcileDays, reconcileRecent } from '../../lambdas/reconciling/use/reconcile.ts';
import { ALL_MISMATCHES } from '../../lambdas/views/domain/lists.ts';
import { type FinishedJob, finishJob } from '../jobs/finish-job.ts';
import { Api } from '../world/api.ts';

const MINUTE_MS = 60_000;

/** The scheduled comparisons on the world's store, processor and clock, with direct access to the processor. */
export class ReconcileHarness extends Api {
  readonly told: string[] = [];
  readonly counted: MismatchCounts[] = [];

  tools(changes: Partial<ReconcileTools> = {}): ReconcileTools {
    const { store, processor, clock } = this;
    return {
      books: [processor],
      outcomes: store.ledger,
      effects: store,
      views: this.views,
      digest: systemDigest,
      clock,
      observer: {
        difference: (change, { mismatch }) =>
          this.told.push(`${change} ${mismatch.processorMinor}/${mismatch.ledgerMinor}`),
        counted: (counts) => this.counted.push(counts),
      },
      ...changes,
    };
  }

  recent(changes: Partial<ReconcileTools> = {}, options: Parameters<typeof finishJob>[2] = {}): Promise<FinishedJob> {
    return finishJob(reconcileRecent(this.tools(changes)), this.#scheduled(), options);
  }

  days(changes: Partial<ReconcileTools> = {}, options: Parameters<typeof finishJob>[2] = {}): Promise<FinishedJob> {
    return finishJob(reconcileDays(this.tools(changes)), this.#scheduled(), options);
  }

  get inside() {
    return this.processor.inside;
  }

  chargeOf(payment: PaymentId): ProcessorCharge {
    const [charge] = this.processor.charges(payment);
    invariant(charge !== undefined, 'the payment has a charge');
    return charge;
  }

  /** A charge made at the processor without Payonce. */
  chargeBeside(paymentId: PaymentId, amountMinor: number, currency = 'EUR'): Promise<ProcessorCharge> {
    const operationId = storedOperationId(`by-hand-${amountMinor}-${currency}`);
    return this.inside.charge({ operationId, paymentId, amountMinor, currency });
  }

  /** Compares the last day, an hour after the comparison before it. @returns what the two books say differently */
  async mismatches(): Promise<readonly Mismatch[]> {
    this.wait(60);
    const { done, left, failed } = await this.recent();
    invariant(done > 0 && left === 0 && failed === 0, 'all was compared');
    return this.differences().map(({ mismatch }) => mismatch);
  }

  wait(minutes: number): void {
    this.clock.advance(minutes * MINUTE_MS);
  }

  /** In the list of all. */
  differences(): readonly OpenMismatch[] {
    return this.listed(ALL_MISMATCHES);
  }

  /** In one list. */
  listed(list: string): readonly OpenMismatch[] {
    return this.views
      .all()
      .filter(({ partition }) => partition === list)
      .map(openMismatchOf);
  }

  /** A run is for a whole minute, and comes a second after it. */
  #scheduled(): number {
    const { clock } = this;
    clock.advance(MINUTE_MS - (clock.nowMs() % MINUTE_MS) + 1_000);
    return clock.nowMs() - 1_000;
  }
}
