import { type PaymentId, storedOperationId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { ProcessorCharge } from '../../lambdas/payments/domain/processor-charge.ts';
import type { ProcessorBooks } from '../../lambdas/payments/use/processor.ts';
import type { Mismatch } from '../../lambdas/reconciliation/domain/compare-books.ts';
import {
  type MismatchCounts,
  type OpenMismatch,
  openMismatchOf,
} from '../../lambdas/reconciliation/domain/mismatch-view.ts';
import {
  type ReconcileTools,
  reconcileDaysJob,
  reconcileRecentJob,
} from '../../lambdas/reconciliation/use/reconcile.ts';
import { ALL_MISMATCHES } from '../../lambdas/views/domain/lists.ts';
import { DynamoDbViews } from '../../lambdas/views/store/dynamodb-views.ts';
import { type FinishedJob, finishJob } from '../jobs/finish-job.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { Api } from '../world/api.ts';
import { Stores } from '../world/stores.ts';
import { TABLES } from '../world/tables.ts';

const MINUTE_MS = 60_000;

export class ReconcileHarness extends Api {
  readonly changes: string[] = [];
  readonly counted: MismatchCounts[] = [];
  readonly reported: unknown[] = [];

  tools(changes: Partial<ReconcileTools> = {}): ReconcileTools {
    const { store, processor, clock } = this;
    return {
      books: [processor],
      outcomes: store.ledger,
      effects: store,
      views: this.views,
      marks: store.jobMarks,
      digest: systemDigest,
      clock,
      report: (error) => this.reported.push(error),
      observer: {
        difference: (change, { mismatch }) =>
          this.changes.push(`${change} ${mismatch.processorMinor}/${mismatch.ledgerMinor}`),
        counted: (counts) => this.counted.push(counts),
      },
      ...changes,
    };
  }

  metered() {
    const { clock, processor, store } = this;
    const counts = { reads: 0, lists: 0, searches: 0, charges: 0 };
    const client = store.database.clientWith((command, apply) => {
      if (command === 'QueryCommand' || command === 'GetCommand') counts.reads += 1;
      return apply();
    });
    const books: ProcessorBooks = {
      ...processor,
      listCharges: (window, limit) => {
        counts.lists += 1;
        return processor.listCharges(window, limit);
      },
      chargesOfPayment: (paymentId, limit) => {
        counts.searches += 1;
        return processor.chargesOfPayment(paymentId, limit);
      },
      readCharge: (chargeId, limit) => {
        counts.charges += 1;
        return processor.readCharge(chargeId, limit);
      },
    };
    const counted = new Stores(clock, { client });
    const views = new DynamoDbViews(client, TABLES.views, { clock, entropy: countingEntropy() });
    const tools = { books: [books], effects: counted, outcomes: counted.ledger, marks: counted.jobMarks, views };
    return { counts, tools };
  }

  recent(changes: Partial<ReconcileTools> = {}, options: Parameters<typeof finishJob>[2] = {}): Promise<FinishedJob> {
    return finishJob(reconcileRecentJob(this.tools(changes)), this.#scheduled(), options);
  }

  days(changes: Partial<ReconcileTools> = {}, options: Parameters<typeof finishJob>[2] = {}): Promise<FinishedJob> {
    return finishJob(reconcileDaysJob(this.tools(changes)), this.#scheduled(), options);
  }

  get inside() {
    return this.processor.inside;
  }

  chargeOf(payment: PaymentId): ProcessorCharge {
    const [charge] = this.processor.charges(payment);
    invariant(charge !== undefined, 'the payment has no charge');
    return charge;
  }

  makeStrayCharge(paymentId: PaymentId, amountMinor: number, currency = 'EUR'): Promise<ProcessorCharge> {
    const operationId = storedOperationId(`by-hand-${amountMinor}-${currency}`);
    return this.inside.charge({ operationId, paymentId, amountMinor, currency });
  }

  /** Compares whole days, one day later. */
  async mismatches(): Promise<readonly Mismatch[]> {
    this.wait(24 * 60);
    const { done, left, failed } = await this.days();
    invariant(done > 0 && left === 0 && failed === 0, 'the comparison is incomplete');
    return this.differences().map(({ mismatch }) => mismatch);
  }

  wait(minutes: number): void {
    this.clock.advance(minutes * MINUTE_MS);
  }

  differences(): readonly OpenMismatch[] {
    return this.listed(ALL_MISMATCHES);
  }

  listed(list: string): readonly OpenMismatch[] {
    return this.views
      .all()
      .filter(({ partition }) => partition === list)
      .map(openMismatchOf);
  }

  /** @returns the full minute, which is the run's scheduled time */
  #scheduled(): number {
    const { clock } = this;
    clock.advance(MINUTE_MS - (clock.nowMs() % MINUTE_MS) + 1_000);
    return clock.nowMs() - 1_000;
  }
}
