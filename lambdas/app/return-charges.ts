import { RetryableError } from '../core/faults.ts';
import { effectExpirySeconds } from '../core/idempotency.ts';
import { inquiryOperation, returnOperation } from '../core/ids.ts';
import { invariant } from '../core/invariant.ts';
import type { Refund } from '../core/payment.ts';
import type { ProcessorCharge } from '../core/processor-charge.ts';
import { decideAll } from './decide-all.ts';
import { readChain } from './payment-chain.ts';
import { pinnedProcessor } from './pinned-processor.ts';
import type { ChargeToReturn } from './ports/payment-store.ts';
import type { ChangeOrder, ProcessorBooks } from './ports/processor.ts';
import { each, type Resolved, type ResolveTools } from './resolve.ts';

export interface ReturnTools extends ResolveTools {
  /** Of every processor that is called here. */
  readonly books: readonly ProcessorBooks[];
}

const READ_TIMEOUT_MS = 5_000;
const SEND_TIMEOUT_MS = 8_000;
const MAX_AT_ONCE = 1_000;
/** Races are decided again this often. */
const MAX_ROUNDS = 5;

/**
 * Sends back charges that their payments must not have: each by one operation, derived from the charge, so that it goes back
 * once. Unlike a charge, this has no time after which it is too late; what went back already is seen before each send.
 */
export async function returnCharges(tools: ReturnTools): Promise<Resolved> {
  return each(tools, await tools.work.chargesToReturn(MAX_AT_ONCE), async (owed) => {
    const chain = await readChain(tools.store, owed.paymentId);
    invariant(chain !== undefined, 'a charge that was found stray has its payment');
    const processor = pinnedProcessor(tools, chain.first);
    const books = tools.books.find(({ name, account }) => name === processor?.name && account === processor.account);
    if (processor === undefined || books === undefined) return 'waiting';
    const order = orderOf(tools, owed);
    let refused = false;
    if (progressOf(await read(books, owed), owed, order) === 'not_begun') {
      await processor.ready();
      const outcome = await processor.change(order, { timeoutMs: SEND_TIMEOUT_MS });
      refused = outcome.kind === 'refused';
    }
    const progress = progressOf(await record(tools, books, owed), owed, order);
    if (progress === 'returned') {
      await tools.work.closeReturn(owed);
      return 'finished';
    }
    return progress === 'failed' || (refused && progress === 'not_begun') ? 'undecidable' : 'waiting';
  });
}

async function read(books: ProcessorBooks, { chargeId }: ChargeToReturn): Promise<ProcessorCharge> {
  const charge = await books.readCharge(chargeId, { timeoutMs: READ_TIMEOUT_MS });
  invariant(charge !== undefined, 'a charge does not vanish from the processor’s books');
  return charge;
}

type Progress =
  | 'not_begun'
  /** Accepted: only once it has succeeded is the money back. */
  | 'under_way'
  | 'returned'
  /** Our own refund was accepted, and failed: the same again would be the same failed one. A person sends it back. */
  | 'failed';

/** A hold that was taken meanwhile is queued again as money, by the fact that it was. */
function progressOf(
  { status, refunds }: ProcessorCharge,
  { by, amountMinor }: ChargeToReturn,
  { operationId }: ChangeOrder,
): Progress {
  if (by === 'void') return status === 'authorized' ? 'not_begun' : 'returned';
  const sumOf = (counted: Refund['status']) =>
    refunds.filter((refund) => refund.status === counted).reduce((sum, refund) => sum + refund.amountMinor, 0);
  const returnedMinor = sumOf('succeeded');
  if (returnedMinor >= amountMinor) return 'returned';
  if (returnedMinor + sumOf('pending') >= amountMinor) return 'under_way';
  return refunds.some(({ refundId }) => refundId === operationId) ? 'failed' : 'not_begun';
}

function orderOf(
  { digest }: ReturnTools,
  { paymentId, chargeId, currency, by, amountMinor }: ChargeToReturn,
): ChangeOrder {
  return {
    operationId: returnOperation(digest, paymentId, chargeId),
    paymentId,
    chargeId,
    currency,
    change: by === 'void' ? { kind: 'void' } : { kind: 'refund', amountMinor },
  };
}

/**
 * What the processor's books say now, as a callback would have brought it: the chain is read before the charge, so that
 * what is decided is never older than what it is decided on.
 */
async function record(tools: ReturnTools, books: ProcessorBooks, owed: ChargeToReturn): Promise<ProcessorCharge> {
  const { effects, digest, clock, entropy } = tools;
  const { paymentId, chargeId } = owed;
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const chain = await readChain(tools.store, paymentId);
    invariant(chain !== undefined, 'a charge that was found stray has its payment');
    const charge = await read(books, owed);
    const nowMs = clock.nowMs();
    const { transitions } = decideAll(digest, charge, chain, nowMs);
    if (transitions.length === 0) return charge;
    const asked = returnOperation(digest, paymentId, chargeId);
    const outcome = await effects.recordEffect({
      record: {
        operationId: inquiryOperation(digest, asked, chain.newest.sequence + 1),
        paymentId,
        owner: entropy.ownerToken(),
        recordedAtMs: nowMs,
        expiresAtSeconds: effectExpirySeconds(nowMs, entropy.fraction()),
      },
      transitions,
    });
    if (outcome.kind === 'recorded') return charge;
  }
  throw new RetryableError('contention', 'too many rivals at once for this payment', { retryAfterSeconds: 1 });
}
