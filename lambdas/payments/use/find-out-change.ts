import { AmbiguousError, RetryableError } from '../../kernel/faults.ts';
import { invariant } from '../../kernel/invariant.ts';
import {
  acceptedAsPending,
  changeOf,
  decideChangeFailed,
  isUnderWay,
  operationIdOf,
  type PendingChange,
} from '../domain/change.ts';
import { type Decision, decide } from '../domain/decide.ts';
import type { Fact } from '../domain/facts.ts';
import type { HoldChange, Refund } from '../domain/payment.ts';
import { asProcessorFailure, NOT_ATTEMPTED } from '../domain/payment.ts';
import type { PaymentState } from '../domain/payment-state.ts';
import { maySend, type ReadCharge, readChargeBeforeSend } from './before-send.ts';
import { type Found, findOut, type SettlementContext } from './find-out.ts';
import type { PaymentChain } from './payment-chain.ts';
import type { ChangeOrder, ChangeOutcome, Processor } from './processor.ts';
import type { RecordChargeTools } from './record-charge.ts';
import { isNewest, type SummedChain } from './summed-chain.ts';

export interface FindOutChangeTools extends RecordChargeTools {
  readonly processor: Processor;
}

/**
 * Determines the outcome of a pending change at the processor. Records the processor's books in the chain before each
 * send, and before the change is recorded as not attempted. Also records them after a refusal, because the processor
 * refuses a capture when another user of its account has already captured the charge.
 *
 * @returns a function that decides on the outcome, given the current state; the function returns undefined when there
 * is nothing to record
 * @throws RetryableError as `findOut`
 */
export async function findOutChange(
  tools: FindOutChangeTools,
  change: HoldChange | Refund,
  chain: SummedChain,
  underway: SettlementContext,
): Promise<(chain: Pick<PaymentChain, 'state'>) => Decision | undefined> {
  if (!isUnderWay(change, chain.state)) return () => undefined;
  const { processor, clock, entropy } = tools;
  const order = changeOrder(change, chain);
  let read: ReadCharge | undefined;
  const readCharge = async (): Promise<ReadCharge> => {
    // The first send directly follows the claim, which was decided on this chain, so the chain need not be read again.
    const isClaimed = read === undefined && underway.sent === 'nothing';
    const isKnown = isClaimed || (await isNewest(tools.store, chain));
    read = await readChargeBeforeSend(tools, order, isKnown ? chain : undefined);
    return read;
  };
  const found = await findOut<ChangeOutcome>({ abilities: processor.abilities, clock, entropy }, underway, {
    mayBeSent: async () => maySend(order, await readCharge()),
    send: async (limit) => {
      const answer = await processor.change(order, limit);
      if (answer.kind === 'refused') await readCharge();
      return answer;
    },
    lookUp: (limit) => processor.findChange(order, limit),
    isRefusal: ({ kind }) => kind === 'refused',
  });
  // Before the change ends as not attempted, record what happened to the charge since the claim.
  const isProven = found.kind !== 'not_attempted' || read !== undefined || (await isRead(readCharge));
  return ({ state }) => (isProven ? decideFound(found, change, state) : undefined);
}

async function isRead(readCharge: () => Promise<unknown>): Promise<boolean> {
  try {
    await readCharge();
    return true;
  } catch (error) {
    if (error instanceof RetryableError || error instanceof AmbiguousError) return false;
    throw error;
  }
}

/**
 * Builds the request to the processor from the pending transition, so that every attempt requests the reserved amount.
 */
function changeOrder(change: PendingChange, { state: { payment } }: SummedChain): ChangeOrder {
  const { chargeId } = payment;
  invariant(chargeId !== undefined, 'a payment with a change has no charge id');
  const { amountMinor } = change;
  return {
    operationId: operationIdOf(change),
    paymentId: payment.id,
    chargeId,
    currency: payment.currency,
    change: change.kind === 'void' ? { kind: 'void' } : { kind: change.kind, amountMinor },
  };
}

function decideFound(found: Found<ChangeOutcome>, begun: PendingChange, state: PaymentState): Decision | undefined {
  const change = changeOf(state, operationIdOf(begun));
  if (change === undefined || !isUnderWay(change, state)) return undefined;
  switch (found.kind) {
    case 'unknown':
      return undefined;
    case 'undecidable':
      return { kind: 'review', because: 'it cannot be determined whether the processor applied the change' };
    case 'not_attempted':
      return change.kind === 'refund' && change.accepted
        ? { kind: 'review', because: 'the processor no longer shows a refund that it had shown before' }
        : decideNotAttempted(change, state);
    case 'answer': {
      const { answer } = found;
      if (answer.kind === 'refused') return decideChangeFailed(change, asProcessorFailure(answer.failure), state);
      const ended = answer.facts.map((fact) => decide(fact, state)).find(({ kind }) => kind === 'append');
      return ended ?? decideAccepted(change, answer.facts, state);
    }
  }
}

/** Decides on a refund that the processor lists without a result. */
function decideAccepted(change: PendingChange, facts: readonly Fact[], state: PaymentState): Decision | undefined {
  if (change.kind !== 'refund' || change.accepted) return undefined;
  const isShown = facts.some((fact) => fact.kind === 'refund' && fact.status === 'pending');
  return isShown ? { kind: 'append', draft: acceptedAsPending(change, state) } : undefined;
}

/**
 * Decides on a change that the processor provably does not have, and that can no longer be sent: no request was sent, or
 * none arrived.
 */
export function decideNotAttempted(change: PendingChange, state: PaymentState): Decision {
  const what = change.kind === 'void' ? 'cancellation' : change.kind;
  const message = `The processor has no such ${what}, and Payonce will not request it again.`;
  return decideChangeFailed(change, { code: NOT_ATTEMPTED, message }, state);
}
