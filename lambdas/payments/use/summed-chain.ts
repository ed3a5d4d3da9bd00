import type { OperationId, PaymentId } from '../../kernel/ids.ts';
import type { Owner } from '../../tenants/owners.ts';
import { changeOf } from '../domain/change.ts';
import { evolve, type PaymentState, summedState } from '../domain/payment-state.ts';
import { bucketsFor, mayHaveBegun, NO_BUCKETS, startOf } from '../domain/payment-sums.ts';
import type { Transition } from '../domain/transition.ts';
import { chainOf, MAX_CHAIN, type PaymentChain, readOwnChain } from './payment-chain.ts';
import type { PaymentEnds, PaymentStore } from './payment-store.ts';
import { belongsTo } from './read-payment.ts';

/**
 * A whole chain, or only its first and newest transitions. Without `transitions`, `state` contains no earlier refunds,
 * captures or cancellations; the sums of the newest transition represent them.
 */
export interface SummedChain extends Pick<PaymentChain, 'first' | 'newest' | 'state'> {
  readonly transitions?: readonly Transition[];
}

export function isWhole(chain: SummedChain): chain is PaymentChain {
  return chain.transitions !== undefined;
}

/**
 * Reads the data for a decision about a change to the caller's payment, with strong consistency. Reads the whole chain
 * with its personal data only if the newest transition has no sums, if the chain has its maximum length, or if the
 * change has begun or may have begun.
 *
 * @returns undefined when there is no such payment, or it belongs to another tenant or mode; the whole chain if it
 * contains the change
 * @throws RetryableError when the store is unavailable
 */
export async function readSummed(
  store: Pick<PaymentStore, 'readEnds' | 'readNotes' | 'listTransitions'>,
  caller: Owner,
  { paymentId, operationId }: { readonly paymentId: PaymentId; readonly operationId: OperationId },
  notes: 'with notes' | 'without notes',
): Promise<SummedChain | undefined> {
  const ends = await store.readEnds(paymentId, operationId);
  if (ends === undefined || !belongsTo(ends.newest.payment, caller)) return undefined;
  const chain = summedChain(ends, operationId);
  if (chain === undefined) return readOwnChain(store, caller, paymentId);
  return notes === 'with notes' ? { ...chain, first: await store.readNotes(chain.first) } : chain;
}

/** @returns undefined when the whole chain must be read, including its personal data */
function summedChain(ends: PaymentEnds, operationId: OperationId): SummedChain | undefined {
  const { first, newest, transitions, beginning, ofBucket } = ends;
  if (transitions !== undefined) {
    const chain = chainOf(transitions);
    return changeOf(chain.state, operationId) === undefined ? chain : undefined;
  }
  const { payment, sequence, sums } = newest;
  // A chain of this length must be read whole, and that read fails.
  if (sums === undefined || sequence >= MAX_CHAIN) return undefined;
  const state = (buckets: PaymentState['buckets']) => summedState({ payment, sequence, sums, buckets });
  if (sums.begunAt === 0) return { first, newest, state: state(NO_BUCKETS) };
  if (beginning?.begun === undefined) return undefined;
  const { begun } = beginning;
  const marks = startOf(begun, operationId) === 0 ? [] : ofBucket?.begun?.marks;
  if (marks === undefined || mayHaveBegun(marks, operationId)) return undefined;
  return { first, newest, state: state(bucketsFor(operationId, begun, marks)) };
}

export function appendedTo({ first, state, transitions }: SummedChain, newest: Transition): SummedChain {
  const after = { first, newest, state: evolve(state, newest) };
  return transitions === undefined ? after : { ...after, transitions: [...transitions, newest] };
}

export async function isNewest(
  store: Pick<PaymentStore, 'listTransitions'>,
  { first, newest }: SummedChain,
): Promise<boolean> {
  const page = { afterSequence: newest.sequence, limit: 1 };
  return (await store.listTransitions(first.payment.id, page)).length === 0;
}
