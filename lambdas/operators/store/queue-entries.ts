import { defined } from '../../kernel/defined.ts';
import type { IdempotencyRecord } from '../../once/domain/idempotency.ts';
import type { OrphanedCallback } from '../../payments/use/effect-store.ts';
import type { ChargeToReturn, Hold, Inquiry, OpenOrder } from '../../payments/use/payment-store.ts';
import type { QueueEntry } from '../use/queue-lists.ts';

/* Renders the rows of the queues of unfinished work for operators. */

type Rendered = Omit<QueueEntry, 'needsOperator'> & { readonly needsOperator?: boolean | undefined };

const ofOrphan = ({ event, receivedAtMs: sinceMs }: OrphanedCallback): Rendered => ({
  ...defined({ about: event.paymentId }),
  part: event.chargeId,
  sinceMs,
});

export const ENTRY_OF = {
  claims: (record: IdempotencyRecord): Rendered => ({
    about: record.paymentId,
    part: record.operationId,
    sinceMs: record.claimedAtMs,
    needsOperator: record.status === 'INPROGRESS' ? record.undecidable : false,
  }),
  inquiries: ({ paymentId, operationId, claimedAtMs, undecidable }: Inquiry): Rendered => ({
    about: paymentId,
    part: operationId,
    sinceMs: claimedAtMs,
    needsOperator: undecidable,
  }),
  returns: ({ paymentId, chargeId, foundAtMs, undecidable }: ChargeToReturn): Rendered => ({
    about: paymentId,
    part: chargeId,
    sinceMs: foundAtMs,
    needsOperator: undecidable,
  }),
  orders: ({ orderId, createdAtMs }: OpenOrder): Rendered => ({ about: orderId, sinceMs: createdAtMs }),
  holds: ({ paymentId, authorizedAtMs, undecidable }: Hold): Rendered => ({
    about: paymentId,
    sinceMs: authorizedAtMs,
    needsOperator: undecidable,
  }),
  orphans: ofOrphan,
  // A charge of another program at the same processor concerns no payment of this deployment, so no operator need act.
  unmatched_callbacks: (orphan: OrphanedCallback): Rendered => ({
    ...ofOrphan(orphan),
    callback: orphan,
    needsOperator: orphan.isForeign !== true,
  }),
};

/** An unreadable row becomes an entry without details, so that operators see that it is stuck, too. */
export function readableEntry(render: () => Rendered): QueueEntry {
  try {
    const { needsOperator = false, ...entry } = render();
    return { ...entry, needsOperator };
  } catch {
    return { needsOperator: true };
  }
}
