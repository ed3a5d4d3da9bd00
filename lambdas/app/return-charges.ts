import { RetryableError } from '../core/faults.ts';
import { effectExpirySeconds } from '../core/idempotency.ts';
import { inquiryOperation, returnOperation } from '../core/ids.ts';
import { invariant } from '../core/invariant.ts';
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
    if (!isReturned(await read(books, owed), owed)) {
      await processor.ready();
      const outcome = await processor.change(orderOf(tools, owed), { timeoutMs: SEND_TIMEOUT_MS });
      if (outcome.kind === 'refused' && owed.by === 'refund') return 'waiting';
    }
    const charge = await record(tools, books, owed);
    if (!isReturned(charge, owed)) return 'waiting';
    await tools.work.closeReturn(owed);
    return 'finished';
  });
}

async function read(books: ProcessorBooks, { chargeId }: ChargeToReturn): Promise<ProcessorCharge> {
  const charge = await books.readCharge(chargeId, { timeoutMs: READ_TIMEOUT_MS });
  invariant(charge !== undefined, 'a charge does not vanish from the processor’s books');
  return charge;
}

/** A hold that was taken meanwhile is queued again as money, by the fact that it was. */
function isReturned({ status, refunds }: ProcessorCharge, { by, amountMinor }: ChargeToReturn): boolean {
  if (by === 'void') return status !== 'authorized';
  const returned = refunds.filter((refund) => refund.status !== 'failed').map((refund) => refund.amountMinor);
  return returned.reduce((sum, amount) => sum + amount, 0) >= amountMinor;
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
