import { invariant } from '../../kernel/invariant.ts';
import type { Clock, Entropy } from '../../kernel/world.ts';
import { changeOf, decideChangeFailed, isUnderWay, operationIdOf, type PendingChange } from '../domain/change.ts';
import { isCovered } from '../domain/charge-money.ts';
import { type Decision, decide } from '../domain/decide.ts';
import type { HoldChange, Refund } from '../domain/payment.ts';
import { NOT_ATTEMPTED, ofProcessor } from '../domain/payment.ts';
import type { PaymentState } from '../domain/payment-state.ts';
import { type Found, findOut, type Underway } from './find-out.ts';
import { type PaymentChain, readChain } from './payment-chain.ts';
import type { PaymentStore } from './payment-store.ts';
import type { ChangeOrder, ChangeOutcome, Processor } from './processor.ts';

export interface FindOutChangeTools {
  readonly store: Pick<PaymentStore, 'listTransitions'>;
  readonly processor: Processor;
  readonly clock: Clock;
  readonly entropy: Entropy;
}

/**
 * Determines the outcome of a pending change at the processor.
 *
 * @returns a function that decides on the outcome, given the current state; undefined when there is nothing to record
 * @throws RetryableError when no owner of the claim has sent a request
 */
export async function findOutChange(
  { store, processor, clock, entropy }: FindOutChangeTools,
  change: HoldChange | Refund,
  chain: PaymentChain,
  underway: Underway,
): Promise<(chain: Pick<PaymentChain, 'state'>) => Decision | undefined> {
  if (!isUnderWay(change, chain.state)) return () => undefined;
  const order = changeOrder(change, chain);
  // The first send follows the claim, which was decided on this chain.
  let known = underway.sent === 'nothing' ? chain : undefined;
  const found = await findOut<ChangeOutcome>({ abilities: processor.abilities, clock, entropy }, underway, {
    mayBeSent: async () => {
      const now = known ?? (await readChain(store, chain.first.payment.id));
      known = undefined;
      return now !== undefined && isStillRight(change, now.state);
    },
    send: (limit) => processor.change(order, limit),
    look: (limit) => processor.findChange(order, limit),
    isRefusal: ({ kind }) => kind === 'refused',
  });
  return ({ state }) => decideFound(found, change, state);
}

/** Whether the change may be sent: a dispute may have taken the money after the refund was reserved. */
function isStillRight(begun: PendingChange, state: PaymentState): boolean {
  const change = changeOf(state, operationIdOf(begun));
  if (change === undefined || !isUnderWay(change, state)) return false;
  return change.kind !== 'refund' || isCovered(change, state);
}

/** Built from the pending transition: every attempt requests the reserved amount. */
function changeOrder(change: PendingChange, { state: { payment } }: PaymentChain): ChangeOrder {
  const { chargeId } = payment;
  invariant(chargeId !== undefined, 'a payment with a change has a charge id');
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
      return { kind: 'review', because: 'whether the processor has done it cannot be found out' };
    case 'not_attempted':
      return decideNeverAsked(change, state);
    case 'answer': {
      const { answer } = found;
      if (answer.kind === 'refused') return decideChangeFailed(change, ofProcessor(answer.failure), state);
      return answer.facts.map((fact) => decide(fact, state)).find(({ kind }) => kind === 'append');
    }
  }
}

/** The decision when no request was sent and the send window has closed. */
export function decideNeverAsked(change: PendingChange, state: PaymentState): Decision {
  return decideChangeFailed(
    change,
    { code: NOT_ATTEMPTED, message: 'The change was not requested from the processor.' },
    state,
  );
}
