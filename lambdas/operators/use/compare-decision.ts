import { isFault } from '../../kernel/faults.ts';
import type { ProcessorCharge } from '../../payments/domain/processor-charge.ts';
import type { PaymentChain } from '../../payments/use/payment-chain.ts';
import { type KnownProcessors, pinnedBooks, pinnedProcessor } from '../../payments/use/pinned-processor.ts';
import { BOOKS_TIMEOUT_MS, type ProcessorBooks } from '../../payments/use/processor.ts';
import type { DecisionRequest } from '../domain/operator-decision.ts';
import { type BooksDifference, type Claim, claimedCharge, differenceFromBooks } from '../domain/shown-by-books.ts';

export interface ComparingTools extends KnownProcessors {
  readonly books: readonly ProcessorBooks[];
}

export type ComparisonRefusal =
  | BooksDifference
  /** The request has no `override`. */
  | { readonly kind: 'books_unreadable' }
  /**
   * `override` is allowed only if the books cannot be read. Here, they can be read, or the decision contains nothing
   * that they could contradict.
   */
  | { readonly kind: 'override_refused' };

interface Comparison {
  /** Undefined when the decision may be made. */
  readonly refusal: ComparisonRefusal | undefined;
  /** Undefined when no charge was read. */
  readonly charge?: ProcessorCharge | undefined;
}

export async function compareDecision(
  tools: ComparingTools,
  asked: Claim & Pick<DecisionRequest, 'override'>,
  { first, state }: PaymentChain,
): Promise<Comparison> {
  const isOverride = asked.override === true;
  const chargeId = claimedCharge(asked, state);
  if (chargeId === undefined) return { refusal: isOverride ? { kind: 'override_refused' } : undefined };
  const read = await readShown(tools, first, chargeId);
  if (read === 'unreadable') return { refusal: isOverride ? undefined : { kind: 'books_unreadable' } };
  const { charge } = read;
  return { refusal: isOverride ? { kind: 'override_refused' } : differenceFromBooks(asked, state, charge), charge };
}

/**
 * If a processor has no look-up, or this deployment no longer calls the processor, its books are treated as unreadable.
 */
async function readShown(
  tools: ComparingTools,
  first: PaymentChain['first'],
  chargeId: string,
): Promise<{ readonly charge: ProcessorCharge | undefined } | 'unreadable'> {
  const books = pinnedBooks(tools, first);
  if (books === undefined || pinnedProcessor(tools, first)?.abilities.lookup.kind === 'none') return 'unreadable';
  try {
    return { charge: await books.readCharge(chargeId, { timeoutMs: BOOKS_TIMEOUT_MS }) };
  } catch (error) {
    if (isFault(error)) return 'unreadable';
    throw error;
  }
}
