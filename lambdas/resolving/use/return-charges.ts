import { nextLookUpMs } from '../../kernel/looks.ts';
import { type ChangeAbilities, canRefund } from '../../payments/domain/change.ts';
import { moneyOf } from '../../payments/domain/charge-money.ts';
import { missingRefunds } from '../../payments/domain/nameless-refunds.ts';
import { isOfAnotherPayment, type ProcessorCharge } from '../../payments/domain/processor-charge.ts';
import { isReturn } from '../../payments/ids.ts';
import { maySend, type ReadCharge, readChargeBeforeSend } from '../../payments/use/before-send.ts';
import { type ChargeToReturn, returnSchedule } from '../../payments/use/payment-store.ts';
import { pinnedProcessor } from '../../payments/use/pinned-processor.ts';
import { type ChangeOrder, SEND_TIMEOUT_MS } from '../../payments/use/processor.ts';
import { returnOperation } from '../ids.ts';
import type { EnterLane } from './lanes.ts';
import { each, type ItemResult, MAX_AT_ONCE, type Resolved } from './process-entries.ts';
import { elsewhere, type ResolveTools, readChainInLane } from './resolve.ts';

/** Maximum number of failed returns of one charge. After that, an operator must return the money. */
const MAX_FAILED_RETURNS = 3;

/**
 * Refunds or voids stray charges. Unlike a charge, such a return has no send window. Right before each send, the charge
 * is read from the processor's books and recorded. The amount to return is then derived from the whole chain, because
 * disputes and other actors' refunds reduce it.
 *
 * @param startedAtMs as in `resolveInquiries`
 */
export async function returnCharges(tools: ResolveTools, startedAtMs: number = tools.clock.nowMs()): Promise<Resolved> {
  const { work } = tools;
  return each(tools, await work.chargesToReturn({ untilMs: startedAtMs, limit: MAX_AT_ONCE }), {
    about: ({ paymentId }) => paymentId,
    handle: (owed, enter) => returnCharge(tools, owed, enter),
    close: (owed) => work.closeReturn(owed),
    keep: (owed, undecidable) =>
      work.postponeReturn(owed, { dueAtMs: nextLookUpMs(returnSchedule(owed), startedAtMs), undecidable }),
  });
}

async function returnCharge(tools: ResolveTools, owed: ChargeToReturn, enter: EnterLane): Promise<ItemResult> {
  const chain = await readChainInLane(tools, owed.paymentId, enter);
  // A restore has lost the payment but kept its queue entry.
  if (chain === undefined) return 'finished';
  const processor = pinnedProcessor(tools, chain.first);
  if (processor === undefined) return elsewhere(tools, owed);
  const own = { ...tools, processor, effects: exceptEntryOf(tools.effects, owed) };
  const decideStep = async (): Promise<NextStep> => {
    const operationId = returnOperation(tools.digest, owed.paymentId, owed.chargeId, { attempt: 0, amountMinor: 0 });
    const read = await readChargeBeforeSend(own, { operationId, ...owed });
    return nextStep(tools, owed, read, processor.abilities);
  };
  await processor.ready();
  let step = await decideStep();
  let refused = false;
  if (step.do === 'send') {
    refused = (await processor.change(step.order, { timeoutMs: SEND_TIMEOUT_MS })).kind === 'refused';
    step = await decideStep();
  }
  if (step.do === 'send') return refused ? 'undecidable' : 'waiting';
  return step.result;
}

/**
 * Wraps the effect store, so that it never increases `seen` in the queue entry of this charge. Otherwise, the run's own
 * reads of the charge would prevent the run from closing the entry.
 */
function exceptEntryOf(
  effects: ResolveTools['effects'],
  { chargeId }: ChargeToReturn,
): Pick<ResolveTools['effects'], 'recordEffect' | 'readEffect' | 'queueOrNote'> {
  return {
    recordEffect: (effect) => effects.recordEffect(effect),
    readEffect: (operationId) => effects.readEffect(operationId),
    queueOrNote: async ({ toReturn, inquiries }) => {
      const others = toReturn.filter((charge) => charge.chargeId !== chargeId);
      if (others.length + inquiries.length > 0) await effects.queueOrNote({ toReturn: others, inquiries });
    },
  };
}

type NextStep =
  | { readonly do: 'send'; readonly order: ChangeOrder }
  | { readonly do: 'rest'; readonly result: ItemResult };

const rest = (result: ItemResult): NextStep => ({ do: 'rest', result });

function nextStep(
  tools: ResolveTools,
  { paymentId, chargeId, by, foundAtMs }: ChargeToReturn,
  read: ReadCharge,
  abilities: ChangeAbilities,
): NextStep {
  const {
    charge,
    chain: { state },
  } = read;
  const order = (attempt: number, amountMinor: number, currency: string): ChangeOrder => ({
    operationId: returnOperation(tools.digest, paymentId, chargeId, { attempt, amountMinor }),
    paymentId,
    chargeId,
    currency,
    change: amountMinor === 0 ? { kind: 'void' } : { kind: 'refund', amountMinor },
  });
  // The charge's metadata was changed after the charge was recorded, and now names another payment. An operator must
  // find out who owns the money.
  if (isOfAnotherPayment(charge, paymentId)) return rest('undecidable');
  // Each queue entry gets a void with its own operation id: a voided hold can reappear, and then needs another void.
  if (by === 'void' && charge.status === 'authorized')
    return { do: 'send', order: order(foundAtMs, 0, charge.currency) };
  const money = moneyOf(chargeId, state);
  // If the hold was captured after it was queued for a void, the transaction of the capture replaced this entry with
  // one for a refund.
  if (money === undefined) return rest(isWithoutMoney(charge) ? 'finished' : 'waiting');
  if (money.leftMinor > 0) {
    if (!canRefund(abilities, money.leftMinor, money.capturedMinor)) return rest('undecidable');
    const returns = [...state.refunds.values()].filter(
      (refund) => refund.chargeId === chargeId && isReturn(refund.refundId),
    );
    if (returns.filter(({ status }) => status === 'failed').length >= MAX_FAILED_RETURNS) return rest('undecidable');
    // A pending return reduces the remaining amount. The remainder needs a separate return, even if it equals the
    // amount of the pending return.
    const refund = order(returns.length + 1, money.leftMinor, money.currency);
    // If the books do not allow the refund, for example because they show less money than the chain, an operator must
    // decide.
    return maySend(refund, read) ? { do: 'send', order: refund } : rest('undecidable');
  }
  // The processor's books do not list a pending refund of the chain under its operation id, so it cannot be looked up.
  // Its outcome may stay unknown, so an operator must decide.
  if (missingRefunds(charge, state, 'pending').length > 0) return rest('undecidable');
  // The charge is queued again if a dispute is won, or if a refund fails after it succeeded.
  return rest(money.pendingMinor > 0 ? 'waiting' : 'finished');
}

function isWithoutMoney({ status }: ProcessorCharge): boolean {
  return status === 'voided' || status === 'declined';
}
