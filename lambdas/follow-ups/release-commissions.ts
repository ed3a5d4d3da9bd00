import { type Job, type JobCounts, ONE_DONE, ONE_LEFT } from '../jobs/use/job.ts';
import type { Digest } from '../kernel/digest.ts';
import { businessOperation, parsePaymentId } from '../kernel/ids.ts';
import { invariant } from '../kernel/invariant.ts';
import type { Clock, Entropy } from '../kernel/world.ts';
import { effectExpirySeconds } from '../once/domain/idempotency.ts';
import type { ConsumerEffects } from '../once/use/consumer-records.ts';
import { rounds } from '../once/use/rounds.ts';
import { readChain } from '../payments/use/payment-chain.ts';
import type { PaymentStore } from '../payments/use/payment-store.ts';
import { isDue } from './commission.ts';
import type { CommissionBook, CommissionDue } from './commission-book.ts';
import { releaseWrites } from './keep-commission.ts';

export interface ReleaseCommissionsTools {
  readonly book: CommissionBook;
  /** The Ledger is read, because events arrive late and no commission event reports an open dispute. */
  readonly payments: Pick<PaymentStore, 'listTransitions'>;
  readonly records: Pick<ConsumerEffects, 'recordOnce'>;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly entropy: Entropy;
  readonly digest: Digest;
}

/** The commission was canceled or released since the page was read, and its queue entry was removed with it. */
const NOTHING: JobCounts = { done: 0, left: 0, failed: 0 };

/**
 * Releases commissions whose lock period is over, after the Ledger confirms the amount. A concurrent refund is not lost: one
 * of the two writes finds the order's row changed.
 *
 *   job     read n: locked ───────────── release, as of n ✗ ── read n + 1: less, or canceled
 *   refund  ──────────────── n + 1 ✓
 *
 *   job     read n: locked ── release, as of n ✓
 *   refund  ────────────────────────────── n + 1 ✗ it was released: nothing is written
 */
export function releaseCommissionsJob(tools: ReleaseCommissionsTools): Job<CommissionDue> {
  const { book, clock } = tools;
  return {
    page: async (cursor, limit, { scheduledForMs }) => {
      const beforeMs = Math.min(scheduledForMs, clock.nowMs()) + 1;
      const page = await book.due.dueBefore(beforeMs, { limit, ...(cursor === undefined ? {} : { cursor }) });
      return {
        items: page.rows.map(({ row, cursor: after }) => ({ thing: row, name: row.paymentId, after })),
        ...(page.next === undefined ? {} : { next: page.next }),
      };
    },
    handle: (due) => release(tools, due),
  };
}

async function release(
  { book, payments, records, clock, entropy, digest }: ReleaseCommissionsTools,
  due: CommissionDue,
): Promise<JobCounts> {
  const { tenantId, mode, orderId } = due;
  const operationId = businessOperation(digest, 'release-commissions', { tenantId, mode, businessKey: orderId });
  return rounds<JobCounts>('this commission', async () => {
    const commission = await book.readCommission(due);
    if (commission?.status !== 'locked') return NOTHING;
    const paymentId = parsePaymentId(commission.paymentId);
    const chain = paymentId === undefined ? undefined : await readChain(payments, paymentId);
    invariant(chain !== undefined, 'a commission has its payment');
    if (!isDue(commission, chain.state)) return ONE_LEFT;
    const recordedAtMs = clock.nowMs();
    const expiresAtSeconds = effectExpirySeconds(recordedAtMs, entropy.fraction());
    const record = { operationId, owner: entropy.ownerToken(), recordedAtMs, expiresAtSeconds };
    const { kind } = await records.recordOnce(record, releaseWrites(commission));
    return kind === 'recorded' ? ONE_DONE : 'again';
  });
}
