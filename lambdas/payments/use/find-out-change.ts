import { invariant } from '../../kernel/invariant.ts';
import type { Clock, Entropy } from '../../kernel/world.ts';
import { changeOf, decideChangeFailed, isUnderWay, operationIdOf, type PendingChange } from '../domain/change.ts';
import { type Decision, decide } from '../domain/decide.ts';
import type { HoldChange, Refund } from '../domain/payment.ts';
import { NOT_ATTEMPTED, ofProcessor } from '../domain/payment.ts';
import type { PaymentState } from '../domain/payment-state.ts';
import { type Found, findOut, type Underway } from './find-out.ts';
import type { PaymentChain } from './payment-chain.ts';
import type { ChangeOrder, ChangeOutcome, Processor } from './processor.ts';

export interface FindOutChangeTools {
  readonly processor: Processor;
  readonly clock: Clock;
  readonly entropy: Entropy;
}

/**
 * Finds out what becomes of a change that is under way.
 *
 * @returns what that means for the payment, as it stands when it is told
 * @throws RetryableError when nothing was sent at all, by anyone
 */
export async function findOutChange(
  { processor, clock, entropy }: FindOutChangeTools,
  change: HoldChange | Refund,
  chain: PaymentChain,
  underway: Underway,
): Promise<(chain: Pick<PaymentChain, 'state'>) => Decision | undefined> {
  if (!isUnderWay(change, chain.state)) return () => undefined;
  const order = changeOrder(change, chain);
  const found = await findOut<ChangeOutcome>({ abilities: processor.abilities, clock, entropy }, underway, {
    send: (limit) => processor.change(order, limit),
    look: (limit) => processor.findChange(order, limit),
    isRefusal: ({ kind }) => kind === 'refused',
  });
  return ({ state }) => decideFound(found, change, state);
}

/** Of the change as its pending transition has it: what was reserved is what is asked for, on every attempt. */
function changeOrder(change: PendingChange, { state: { payment } }: PaymentChain): ChangeOrder {
  const { chargeId } = payment;
  invariant(chargeId !== undefined, 'a change is of a charge that has a name');
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

/** What it means that nothing of a change was sent, and that nobody may send it any more. */
export function decideNeverAsked(change: PendingChange, state: PaymentState): Decision {
  return decideChangeFailed(change, { code: NOT_ATTEMPTED, message: 'The processor was never asked.' }, state);
}
