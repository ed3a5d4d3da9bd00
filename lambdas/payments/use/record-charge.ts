import type { Cause } from '../../kernel/cause.ts';
import type { OperationId, PaymentId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import { expirySeconds } from '../../once/domain/idempotency.ts';
import { rounds } from '../../once/use/rounds.ts';
import { isAsSummed } from '../domain/as-summed.ts';
import type { ProcessorCharge } from '../domain/processor-charge.ts';
import { inquiryOperation } from '../ids.ts';
import { type DecidedFacts, decideAll } from './decide-all.ts';
import type { EffectStore } from './effect-store.ts';
import { chainOf, type PaymentChain, readChain } from './payment-chain.ts';
import type { PaymentStore } from './payment-store.ts';
import type { ProcessorBooks } from './processor.ts';
import { booksInquiry, queueEntriesFor } from './queued-with.ts';
import { alarmContradictions, alarmLateSuccess, type ContradictionTools } from './raise-alarms.ts';
import { isWhole, type SummedChain } from './summed-chain.ts';
import { queueUntracked, untrackedEntries } from './untracked-entries.ts';

export interface RecordChargeTools extends ContradictionTools {
  /** The request or run that reads the charge. */
  readonly cause: Cause;
  readonly store: Pick<PaymentStore, 'listTransitions'>;
  readonly effects: Pick<EffectStore, 'recordEffect' | 'readEffect' | 'queueOrNote'>;
}

export const READ_TIMEOUT_MS = 5_000;

/**
 * DynamoDB allows a hundred items per transaction (Amazon DynamoDB developer guide, "TransactWriteItems"), and a
 * transition can require an additional queue entry.
 */
const MAX_TRANSITIONS_PER_WRITE = 40;

/** @throws RetryableError or AmbiguousError when the charge could not be read */
export async function readCharge(books: ProcessorBooks, chargeId: string): Promise<ProcessorCharge> {
  const charge = await books.readCharge(chargeId, { timeoutMs: READ_TIMEOUT_MS });
  invariant(charge !== undefined, 'the processor’s books no longer contain the charge');
  return charge;
}

/**
 * Appends to the chain all facts that the processor's books contain about a charge, as a callback would, in as many
 * transactions as necessary. The chain is read before the charge, so the facts are never older than the state to which
 * they are applied.
 *
 * @param asked the operation whose outcome the caller needs
 * @param known the newest chain, if the caller has read it
 * @default the chain is read
 * @throws the errors of `read`; RetryableError when rivals wrote first in every round
 */
export async function recordCharge(
  tools: RecordChargeTools,
  paymentId: PaymentId,
  asked: OperationId,
  read: () => Promise<ProcessorCharge>,
  known?: PaymentChain,
): Promise<{ readonly charge: ProcessorCharge; readonly chain: PaymentChain }> {
  let part = await recordPart(tools, paymentId, asked, read, known);
  while (part.isMore) part = await recordPart(tools, paymentId, asked, read);
  return part;
}

/** @param chain the newest chain */
export async function recordIfKnown(
  tools: RecordChargeTools,
  books: ProcessorBooks,
  chargeId: string,
  asked: OperationId,
  chain: PaymentChain,
): Promise<Awaited<ReturnType<typeof recordCharge>> | undefined> {
  const charge = await books.readCharge(chargeId, { timeoutMs: READ_TIMEOUT_MS });
  if (charge === undefined) return undefined;
  // After a conflict, the chain is read again, and then the charge, which must not be older than the chain.
  const unused = [charge];
  const read = async () => unused.pop() ?? (await readCharge(books, chargeId));
  return recordCharge(tools, chain.first.payment.id, asked, read, chain);
}

/** Records as many facts as fit into one transaction. Each call appends new facts, so the number of calls is finite. */
async function recordPart(
  tools: RecordChargeTools,
  paymentId: PaymentId,
  asked: OperationId,
  read: () => Promise<ProcessorCharge>,
  known?: PaymentChain,
): Promise<{ readonly charge: ProcessorCharge; readonly chain: PaymentChain; readonly isMore: boolean }> {
  const { store, effects, digest, clock, entropy, cause } = tools;
  let newest = known;
  return rounds('this payment', async () => {
    const chain = newest ?? (await readChain(store, paymentId));
    newest = undefined;
    invariant(chain !== undefined, 'the payment of the charge does not exist');
    const charge = await read();
    const nowMs = clock.nowMs();
    const decided = decideAll(digest, charge, chain, { occurredAtMs: nowMs, cause });
    const { transitions, contradictions } = decided;
    alarmLateSuccess(tools, paymentId, transitions);
    await alarmContradictions(tools, chain, contradictions, charge, 'look');
    const [first] = transitions;
    if (first === undefined) {
      await queueUntracked(effects, { charge, state: chain.state }, nowMs);
      return { charge, chain, isMore: false };
    }
    const { part, isMore, queued } = nextPart(chain, { ...decided, charge }, nowMs);
    const outcome = await effects.recordEffect({
      record: {
        operationId: inquiryOperation(digest, asked, first.hash),
        paymentId,
        owner: entropy.ownerToken(),
        recordedAtMs: nowMs,
        expiresAtSeconds: expirySeconds(tools, 'events', nowMs),
      },
      transitions: part,
      ...queued,
    });
    if (outcome.kind !== 'recorded') return 'again';
    return { charge, chain: chainOf([...chain.transitions, ...part]), isMore };
  });
}

/**
 * If facts remain, the transaction also queues an inquiry that reads the books. This inquiry records the remaining
 * facts even if this process dies, the callback is not redelivered, and this transaction has closed the inquiry that
 * led to the charge.
 */
export function nextPart(
  chain: PaymentChain,
  { charge, transitions, state }: DecidedFacts & { readonly charge: ProcessorCharge },
  nowMs: number,
) {
  const part = transitions.slice(0, MAX_TRANSITIONS_PER_WRITE);
  const isMore = part.length < transitions.length;
  const queued = queueEntriesFor(chain, part);
  const untracked = untrackedEntries({ charge, state }, nowMs);
  const look = isMore ? [booksInquiry(chain.first.payment.id, nowMs)] : [];
  return {
    part,
    isMore,
    queued: {
      ...queued,
      // A transaction can write each row only once.
      toReturn: queued.toReturn.length > 0 ? queued.toReturn : untracked.toReturn,
      inquiries: [...(queued.inquiries.length > 0 ? queued.inquiries : untracked.inquiries), ...look],
    },
  };
}

/**
 * If the sums of the chain already account for all facts, appends nothing and reads only the charge.
 *
 * @param known the newest chain, or its first and newest transitions
 * @throws as `recordCharge`
 */
export async function recordUnlessSummed(
  tools: RecordChargeTools,
  paymentId: PaymentId,
  asked: OperationId,
  read: () => Promise<ProcessorCharge>,
  known: SummedChain,
): Promise<{ readonly charge: ProcessorCharge; readonly chain: SummedChain }> {
  if (isWhole(known)) return recordCharge(tools, paymentId, asked, read, known);
  const charge = await read();
  if (isAsSummed(charge, known.state)) return { charge, chain: known };
  // Read the charge again, because the chain must be read before the charge.
  return recordCharge(tools, paymentId, asked, read);
}
