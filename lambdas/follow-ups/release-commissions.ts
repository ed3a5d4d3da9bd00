import { type Job, type JobCounts, ONE_DONE, ONE_LEFT } from '../jobs/use/job.ts';
import { defined } from '../kernel/defined.ts';
import type { Digest } from '../kernel/digest.ts';
import type { Clock, Entropy } from '../kernel/world.ts';
import { type ExpiryOptions, expirySeconds } from '../once/domain/idempotency.ts';
import { businessOperation } from '../once/ids.ts';
import type { ConsumerEffects } from '../once/use/consumer-records.ts';
import { rounds } from '../once/use/rounds.ts';
import { readOrder } from '../orders/use/order-chain.ts';
import type { OrderStore } from '../orders/use/order-store.ts';
import { parsePaymentId } from '../payments/ids.ts';
import { readChain } from '../payments/use/payment-chain.ts';
import type { PaymentStore } from '../payments/use/payment-store.ts';
import { type Commission, type CommissionLedger, commissionDecided } from './commission.ts';
import type { CommissionBook, CommissionDue } from './commission-book.ts';
import { writesOfDecision } from './keep-commission.ts';

export interface ReleaseCommissionsTools extends Pick<ExpiryOptions, 'retention'> {
  readonly book: CommissionBook;
  /**
   * Reads the chain on which the decision is based. The events of commissions do not suffice: they can be late, none of
   * them reports an open dispute, and none names the affiliate after an erasure.
   */
  readonly payments: Pick<PaymentStore, 'listTransitions'>;
  readonly orders: Pick<OrderStore, 'listOrderTransitions'>;
  readonly records: Pick<ConsumerEffects, 'recordOnce'>;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly entropy: Entropy;
  readonly digest: Digest;
}

const AT_ONCE = 10;

/** Job counts of a queue entry that needs no work, for example because the commission was already decided. */
const NOTHING: JobCounts = { done: 0, left: 0, failed: 0 };

/**
 * Creates the job that releases or cancels each commission after its lock period, according to the state of the Ledger.
 * A concurrent refund is not lost: the later of the two writes fails its condition on the order's row.
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
    atOnce: AT_ONCE,
    page: async (cursor, limit, { scheduledForMs }) => {
      const beforeMs = Math.min(scheduledForMs, clock.nowMs()) + 1;
      const page = await book.due.dueBefore(beforeMs, { limit, ...defined({ cursor }) });
      return {
        items: page.rows.map(({ row, cursor: after }) => ({ thing: row, name: row.paymentId, after })),
        ...defined({ next: page.next }),
      };
    },
    handle: (due) => release(tools, due),
  };
}

async function release(tools: ReleaseCommissionsTools, due: CommissionDue): Promise<JobCounts> {
  const { book, records, clock, entropy, retention, digest } = tools;
  const { tenantId, mode, orderId } = due;
  return rounds<JobCounts>('this commission', async () => {
    const commission = await book.readCommission(due);
    if (commission === undefined) return NOTHING;
    if (commission.status === 'released' || commission.releasesAtMs !== due.releasesAtMs) {
      // The queue entry is outdated: a restore recreated it, or the commission was first queued with the time of the
      // order, which differs from the time of the payment.
      await book.due.close(due);
      return NOTHING;
    }
    const ledger = await readLedger(tools, commission);
    if (ledger === undefined) {
      // A restore lost the payment, and the merchant did not request it again within the lock period.
      await book.due.close(due);
      return NOTHING;
    }
    const decided = commissionDecided(commission, ledger);
    if (decided === undefined) return ONE_LEFT;
    // The key contains the sequence: a later event can lock a canceled commission again, which then needs a second
    // decision.
    const businessKey = `${commission.sequence}:${orderId}`;
    const operationId = businessOperation(digest, 'release-commissions', { tenantId, mode, businessKey });
    const recordedAtMs = clock.nowMs();
    const expiresAtSeconds = expirySeconds({ entropy, retention }, 'events', recordedAtMs);
    const record = { operationId, owner: entropy.ownerToken(), recordedAtMs, expiresAtSeconds };
    const { kind } = await records.recordOnce(record, writesOfDecision(decided, commission));
    if (kind === 'recorded_before') return NOTHING;
    return kind === 'recorded' ? ONE_DONE : 'again';
  });
}

async function readLedger(
  { payments, orders }: Pick<ReleaseCommissionsTools, 'payments' | 'orders'>,
  { tenantId, mode, orderId, paymentId: id }: Commission,
): Promise<CommissionLedger | undefined> {
  const paymentId = parsePaymentId(id);
  const [chain, order] = await Promise.all([
    paymentId === undefined ? undefined : readChain(payments, paymentId),
    readOrder(orders, { tenantId, mode }, orderId),
  ]);
  // The payment's metadata can name an order that belongs to another payment.
  const own = order?.order.paymentId === id ? order : undefined;
  if (chain === undefined && own === undefined) return undefined;
  return { ...defined({ chain, order: own?.order }) };
}
