import type { OperationId, PaymentId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { Owner } from '../../tenants/owners.ts';
import { changeOf, isUnderWay } from '../domain/change.ts';
import { isUnresolved } from '../domain/payment.ts';
import { type PaymentState, stateAfter } from '../domain/payment-state.ts';
import type { Transition } from '../domain/transition.ts';
import { chargeOperation } from '../ids.ts';
import type { PaymentStore } from './payment-store.ts';

export interface PaymentChain {
  /** Transition 1, with the details that later responses need. */
  readonly first: Transition;
  readonly newest: Transition;
  readonly transitions: readonly Transition[];
  readonly state: PaymentState;
}

/** A DynamoDB query returns at most 1 MB, and nearly every chain fits into one result. */
const PAGE = 250;
/** A chain must have fewer than 40 × 250 = 10,000 transitions. A payment with 500 refunds needs at least 1,000. */
const MAX_PAGES = 40;
/** Reading a chain with this number of transitions or more fails. */
export const MAX_CHAIN = MAX_PAGES * PAGE;

export function chainOf(transitions: readonly Transition[]): PaymentChain {
  const [first] = transitions;
  const newest = transitions.at(-1);
  invariant(first !== undefined && newest !== undefined, 'the chain has no first transition');
  return { first, newest, transitions, state: stateAfter(transitions) };
}

/**
 * Reads the whole chain with strong consistency.
 *
 * @throws RetryableError when the store is unavailable
 */
export async function readChain(
  store: Pick<PaymentStore, 'listTransitions'>,
  paymentId: PaymentId,
): Promise<PaymentChain | undefined> {
  const transitions: Transition[] = [];
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const found = await store.listTransitions(paymentId, { afterSequence: transitions.length, limit: PAGE });
    transitions.push(...found);
    if (found.length < PAGE) return transitions.length === 0 ? undefined : chainOf(transitions);
  }
  invariant(false, `the payment ${paymentId} has ${MAX_CHAIN} or more transitions`);
}

export function hasBegun({ first, state }: PaymentChain, operationId: OperationId): boolean {
  return operationId === chargeOperation(first.payment.id) || changeOf(state, operationId) !== undefined;
}

/**
 * Returns whether the chain contains the response to this operation: its outcome, or the transition that marks it as
 * answered with 202.
 */
export function hasAnswer({ state }: PaymentChain, operationId: OperationId): boolean {
  const change = changeOf(state, operationId);
  if (change !== undefined) return change.answered === true || !isUnderWay(change, state);
  return !isUnresolved(state.payment) || state.isProcessingRecorded;
}

/**
 * @param paymentId undefined if the id in the request is malformed
 * @throws RetryableError when the store is unavailable
 */
export async function readOwnChain(
  store: Pick<PaymentStore, 'listTransitions'>,
  { tenantId, mode }: Owner,
  paymentId: PaymentId | undefined,
): Promise<PaymentChain | undefined> {
  const chain = paymentId === undefined ? undefined : await readChain(store, paymentId);
  const payment = chain?.first.payment;
  return payment?.tenantId === tenantId && payment.mode === mode ? chain : undefined;
}
