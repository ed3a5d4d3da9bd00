import { returnOperation } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { Refund } from '../../payments/domain/payment.ts';
import type { ProcessorCharge } from '../../payments/domain/processor-charge.ts';
import { readChain } from '../../payments/use/payment-chain.ts';
import type { ChargeToReturn } from '../../payments/use/payment-store.ts';
import { pinnedBooks, pinnedProcessor } from '../../payments/use/pinned-processor.ts';
import type { ChangeOrder, ProcessorBooks } from '../../payments/use/processor.ts';
import { readCharge, recordCharge } from '../../payments/use/record-charge.ts';
import { each, type Resolved, type ResolveTools } from './resolve.ts';

const SEND_TIMEOUT_MS = 8_000;
const MAX_AT_ONCE = 1_000;

/**
 * Returns stray charges. Each return is one operation, derived from the charge, so a charge is returned once. Unlike a charge,
 * a return has no send window; each send is preceded by a read that shows what was returned already.
 */
export async function returnCharges(tools: ResolveTools): Promise<Resolved> {
  return each(tools, await tools.work.chargesToReturn(MAX_AT_ONCE), async (owed) => {
    const chain = await readChain(tools.store, owed.paymentId);
    invariant(chain !== undefined, 'a stray charge has its payment');
    const processor = pinnedProcessor(tools, chain.first);
    const books = pinnedBooks(tools, chain.first);
    if (processor === undefined || books === undefined) return 'waiting';
    const order = orderOf(tools, owed);
    let refused = false;
    if (progressOf(await readCharge(books, owed.chargeId), owed, order) === 'not_begun') {
      await processor.ready();
      const outcome = await processor.change(order, { timeoutMs: SEND_TIMEOUT_MS });
      refused = outcome.kind === 'refused';
    }
    const progress = progressOf(await record(tools, books, owed, order), owed, order);
    if (progress === 'returned') {
      await tools.work.closeReturn(owed);
      return 'finished';
    }
    return progress === 'failed' || (refused && progress === 'not_begun') ? 'undecidable' : 'waiting';
  });
}

type Progress =
  | 'not_begun'
  /** The refund or void was accepted and has not succeeded yet. */
  | 'under_way'
  | 'returned'
  /** Payonce's refund was accepted and failed. Its key would return the same failed refund, so an operator returns the money. */
  | 'failed';

function progressOf(
  { status, capturedMinor, refunds }: ProcessorCharge,
  { by, amountMinor }: ChargeToReturn,
  { operationId }: ChangeOrder,
): Progress {
  const sumOf = (counted: Refund['status']) =>
    refunds.filter((refund) => refund.status === counted).reduce((sum, refund) => sum + refund.amountMinor, 0);
  const returnedMinor = sumOf('succeeded');
  if (by === 'void') return progressOfVoid(status, capturedMinor - returnedMinor);
  if (returnedMinor >= amountMinor) return 'returned';
  if (returnedMinor + sumOf('pending') >= amountMinor) return 'under_way';
  return refunds.some(({ refundId }) => refundId === operationId) ? 'failed' : 'not_begun';
}

/** A hold that was captured meanwhile is not returned. The fact of its capture queues it again as a refund. */
function progressOfVoid(status: ProcessorCharge['status'], keptMinor: number): Progress {
  switch (status) {
    case 'authorized':
      return 'not_begun';
    case 'voided':
    case 'declined':
      return 'returned';
    case 'succeeded':
      return keptMinor > 0 ? 'under_way' : 'returned';
    case 'pending':
    case 'requires_action':
      return 'under_way';
  }
}

function orderOf(
  { digest }: ResolveTools,
  { paymentId, chargeId, currency, by, amountMinor }: ChargeToReturn,
): ChangeOrder {
  return {
    operationId: returnOperation(digest, paymentId, chargeId, by),
    paymentId,
    chargeId,
    currency,
    change: by === 'void' ? { kind: 'void' } : { kind: 'refund', amountMinor },
  };
}

/** Reads the charge at the processor and records it in the payment. */
function record(
  tools: ResolveTools,
  books: ProcessorBooks,
  owed: ChargeToReturn,
  { operationId }: ChangeOrder,
): Promise<ProcessorCharge> {
  return recordCharge(tools, owed.paymentId, operationId, () => readCharge(books, owed.chargeId));
}
