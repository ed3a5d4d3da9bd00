/**
 * Oracles: the processors' effects agree with the Ledger (I1, I9), and money that is already refunded or disputed is
 * never refunded.
 */
import { RegistryRow, ViewsRow } from '../../../../lambdas/kernel/contract/rows.ts';
import type { PaymentId } from '../../../../lambdas/kernel/ids.ts';
import { NOT_ATTEMPTED, type Payment } from '../../../../lambdas/payments/domain/payment.ts';
import type { ProcessorCharge } from '../../../../lambdas/payments/domain/processor-charge.ts';
import { decisionOf, type Transition } from '../../../../lambdas/payments/domain/transition.ts';
import { chargeOperation, isOwnRefund, isReturn } from '../../../../lambdas/payments/ids.ts';
import { parseOrphan } from '../../../../lambdas/payments/store/queue-items.ts';
import { FOREIGN_KEPT_DAYS } from '../../../../lambdas/payments/use/effect-store.ts';
import type { Observed, Violation } from '../contract.ts';
import { booksOf } from '../processors.ts';
import { type ChargeSeen, chargesOf, leftOf, postedOn, sum } from './money.ts';
import { MAX_SKEW_MS, type Seen, type Written } from './seen.ts';

/** Time within which a recurring contradiction raises no further alarm, in milliseconds. */
const ONE_CALL_MS = 10 * 60_000;
/** Time window after the claim during which a request may be sent, in milliseconds. */
const SEND_WINDOW_MS = 15 * 60_000;
/** Maximum time between a read of the chain and the send that depends on it, including retries, in milliseconds. */
const LOOK_MS = 20_000;

/** Called after every step. */
export function checkProcessors({ world, payments, released }: Seen): readonly Violation[] {
  return Object.entries(world.processors).flatMap(([name, { inside }]) => {
    const found: Violation[] = [];
    const made = new Set<string>();
    for (const { operationId, kind } of inside.applied) {
      if (made.has(operationId)) {
        found.push({
          oracle: 'I1 one change',
          what: `${name} applied ${kind} ${operationId} twice`,
          about: operationId,
        });
      }
      made.add(operationId);
    }
    for (const each of inside.sent) {
      const chain = payments.get(each.paymentId);
      if (chain !== undefined) found.push(...checkSend(each, chain));
      if (each.kind === 'charge' && each.askedAtMs < (released.get(each.operationId) ?? 0) && isCharged(each, inside)) {
        const what = `was released as not sent, but an earlier request created a charge at ${name}`;
        found.push({ oracle: 'F05 absence is proven', what, about: each.paymentId });
      }
    }
    return found;
  });
}

function isCharged({ operationId, atMs, isRepeated }: Sent, inside: Observed['processors'][string]['inside']): boolean {
  const own = inside.all.filter((each) => each.operationId === operationId);
  return !isRepeated && own.some(({ chargeId }) => inside.madeByKeyAtMs(chargeId) === atMs);
}

const BOOKS = 'the books are read before each send';

type Sent = Observed['processors'][string]['inside']['sent'][number];

function checkSend(sent: Sent, chain: readonly Written<Transition>[]): readonly Violation[] {
  const { kind, paymentId, askedAtMs: atMs } = sent;
  if (kind === 'charge') {
    const claimedAtMs = chain[0]?.atMs ?? atMs;
    const isLate = atMs > claimedAtMs + SEND_WINDOW_MS + MAX_SKEW_MS;
    if (!isLate) return [];
    const minutes = Math.round((atMs - claimedAtMs) / 60_000);
    return [{ oracle: 'F05 send window', what: `was sent ${minutes} minutes after its claim`, about: paymentId }];
  }
  if (sent.isRepeated || sent.chargeId === undefined) return [];
  if (sent.wasOfAnother) {
    const what = `a ${kind} was sent although the books had shown that the charge belongs to another payment`;
    return [{ oracle: BOOKS, what, about: paymentId }];
  }
  if (kind !== 'refund') {
    if (!sent.wasOverBefore) return [];
    return [
      {
        oracle: BOOKS,
        what: `a ${kind} was sent although the books had shown that the hold had ended`,
        about: paymentId,
      },
    ];
  }
  // A write and the send that depends on it can take place in the same millisecond.
  const known = chargesOf(chain.filter((each) => each.atMs <= atMs)).get(sent.chargeId);
  // The chain is read before the send. Transitions between the read and the send matter only for the next send.
  const between = chain.map((each) => each.atMs).filter((each) => each > atMs - LOOK_MS && each < atMs);
  const goneMinor = Math.min(...[atMs - LOOK_MS, ...between, atMs].map((each) => goneAt(sent, chain, each)));
  if (known !== undefined && sent.amountMinor > known.capturedMinor - goneMinor) {
    const what = `a refund of ${sent.amountMinor} was sent although ${goneMinor} of ${known.capturedMinor} was gone`;
    return [{ oracle: 'money is rechecked before each send', what, about: paymentId }];
  }
  if (sent.amountMinor <= sent.leftBeforeMinor) return [];
  const what = `a refund of ${sent.amountMinor} was sent although the books had shown only ${sent.leftBeforeMinor} as remaining`;
  return [{ oracle: BOOKS, what, about: paymentId }];
}

/** In minor units, according to the chain at that time. */
function goneAt({ chargeId = '' }: Sent, chain: readonly Written<Transition>[], atMs: number): number {
  const charge = chargesOf(chain.filter((each) => each.atMs <= atMs)).get(chargeId);
  if (charge === undefined) return 0;
  const { refundedMinor, disputedMinor } = leftOf(charge);
  return refundedMinor + disputedMinor;
}

/**
 * Checks, once the system is quiet, that each payment's money at the processor equals the posted amounts, or that
 * reconciliation has reported the difference. Changes that no callback reports are ignored, because Payonce cannot know
 * them. Also runs the other checks of a payment's charges and refunds.
 */
export function checkBooks({ world, payments }: Seen): readonly Violation[] {
  const charges = chargesByPayment(world);
  const reported = mismatches(world);
  // After a fault in the function that compares the books, a comparison may have reported nothing.
  const isWellCompared = world.faults.every(({ of }) => of !== 'upkeep-jobs');
  const ids = [...payments.keys()];
  const namedBy = Map.groupBy(ids, (id) => payments.get(id)?.at(-1)?.row.payment.chargeId);
  const isOtherwise = (id: string): boolean => isDecidedOtherwise(world, payments.get(id) ?? []);
  return [...payments].flatMap(([id, chain]) => {
    const newest = chain.at(-1)?.row;
    if (newest === undefined) return [];
    const known = chargesOf(chain);
    // A charge by another user of the processor's account may also name the payment's operation.
    const operation: string = chargeOperation(id as PaymentId);
    // The payment's own charge remains its own even if the charge's metadata now names a different payment.
    const isMoved = (charge: ProcessorCharge): boolean =>
      charge.chargeId === newest.payment.chargeId && charge.operationId === operation && charge.paymentId !== id;
    const everywhere = Object.values(world.processors).flatMap(({ inside }) => inside.all);
    const own = [...(charges.get(id) ?? []), ...everywhere.filter(isMoved)];
    const found = Object.values(world.processors).flatMap(({ inside }) =>
      inside.all
        .filter((charge) => charge.operationId === operation && inside.madeByKeyAtMs(charge.chargeId) !== undefined)
        // Skip a charge of a different payment, even if the charge's metadata now names this payment.
        .filter(({ chargeId }) => namedBy.get(chargeId)?.includes(newest.payment.id) !== false)
        .flatMap((charge) => attempted(charge, chain)),
    );
    // If neither a response nor a callback reported a charge, reconciliation reports it.
    const knownCharges = own.filter(({ chargeId }) => known.has(chargeId) || chargeId === newest.payment.chargeId);
    const areShown = knownCharges.every(({ chargeId }) =>
      isShown(world, booksOf(newest.payment), chargeId, isWellCompared),
    );
    const isCompared = world.restores.length > 0 && reported.some((row) => row.includes(id));
    found.push(
      ...postedTwice(world, chain),
      ...acceptedThenDenied(chain),
      ...unseenAtDecision(world, chain),
      ...unreadAtEnd(world, chain),
      // A restore can keep the record of a callback but lose its facts. The comparison of the books then reports them.
      ...(isCompared ? [] : unrecorded(world, chain)),
    );
    if (newest.payment.status === 'needs_review' || !areShown) return found;
    // If the processor's books contradict themselves, they cannot be posted, and an alarm notifies the operator.
    if (knownCharges.some(({ chargeId }) => isReported(world, newest.payment, chargeId))) return found;
    if (isDecidedOtherwise(world, chain) || isUnknownCharge(world, chain)) return found;
    if (knownCharges.some(({ chargeId }) => isReportedOtherwise(world, newest.payment, chargeId))) return found;
    if (knownCharges.some(({ chargeId }) => isNameless(world, newest.payment, chargeId, known))) return found;
    // If an operator named the charge for a different payment, the inquiry about that payment reports the charge.
    if (knownCharges.some(({ chargeId }) => namedBy.get(chargeId)?.some(isOtherwise))) return found;
    const heldMinor: Record<string, number> = {};
    const counted = disputesBeyondLimit(world, newest.payment, known);
    for (const charge of knownCharges)
      heldMinor[charge.currency] = (heldMinor[charge.currency] ?? 0) + heldOf(counted(charge));
    const posted = postedOn(chain);
    for (const currency of new Set([...Object.keys(heldMinor), newest.payment.currency])) {
      const booked = (posted[`processor_clearing ${currency}`] ?? 0) + (posted[`fees ${currency}`] ?? 0);
      const held = heldMinor[currency] ?? 0;
      if (held === booked || reported.some((row) => row.includes(id))) continue;
      const what = `the processor has ${held} ${currency}, but ${booked} is posted`;
      found.push({ oracle: 'I9 processor and books', what, about: id });
    }
    return found;
  });
}

/** Further disputes are not recorded, but raise an alarm. */
const MAX_DISPUTES = 50;

/**
 * Returns true if an alarm reports that the payment has more disputes than Payonce records. An operator must then
 * finish the work on the payment's charges.
 */
export function hasMaxDisputes(
  world: Observed,
  { id }: Pick<Payment, 'id'>,
  known: ReadonlyMap<string, ChargeSeen>,
): boolean {
  const recorded = [...known.values()].reduce((count, { disputes }) => count + disputes.size, 0);
  return recorded >= MAX_DISPUTES && isRaised(world, 'contradiction', id, 0);
}

/**
 * Returns a function that removes a charge's unrecorded disputes if the payment has the maximum number of recorded
 * disputes and an alarm was raised. Otherwise, the function changes nothing.
 */
function disputesBeyondLimit(
  world: Observed,
  { id }: Pick<Payment, 'id'>,
  known: ReadonlyMap<string, ChargeSeen>,
): (charge: ProcessorCharge) => ProcessorCharge {
  if (!hasMaxDisputes(world, { id }, known)) return (charge) => charge;
  const recorded = new Set([...known.values()].flatMap(({ disputes }) => [...disputes.keys()]));
  return (charge) => ({ ...charge, disputes: charge.disputes.filter(({ disputeId }) => recorded.has(disputeId)) });
}

/** Not checked if an operator has decided about the payment or its changes. */
function postedTwice(world: Observed, chain: readonly Written<Transition>[]): readonly Violation[] {
  const payment = chain.at(-1)?.row.payment;
  if (payment === undefined || chain.some(({ row }) => decisionOf(row) !== undefined)) return [];
  return [...chargesOf(chain)].flatMap(([chargeId, { refunds }]) => {
    const there = world.processors[booksOf(payment)]?.inside.all.find((charge) => charge.chargeId === chargeId);
    const count = [...refunds.values()].filter(({ status }) => status === 'succeeded').length;
    if (there === undefined || count <= there.refunds.length || isReported(world, payment, chargeId)) return [];
    const what = `${chargeId} has ${there.refunds.length} refunds, but ${count} were posted`;
    return [{ oracle: 'I9 processor and books', what, about: payment.id }];
  });
}

/** Holds even if the refund's metadata changes. */
function acceptedThenDenied(chain: readonly Written<Transition>[]): readonly Violation[] {
  const accepted = new Set<string>();
  return chain.flatMap(({ row: { payment, subject } }) => {
    if (subject?.kind !== 'refund') return [];
    if (subject.accepted) accepted.add(subject.refundId);
    if (subject.failure?.code !== NOT_ATTEMPTED || !accepted.has(subject.refundId)) return [];
    const what = `${subject.refundId} was recorded as not attempted, but the processor had accepted it`;
    return [{ oracle: 'F05 absence is proven', what, about: payment.id }];
  });
}

/** The read makes Payonce notice changes by other users of the processor's account. */
function unreadAtEnd(world: Observed, chain: readonly Written<Transition>[]): readonly Violation[] {
  return chain.flatMap(({ row: { payment, subject, cause }, atMs }) => {
    // A read by the operators' function does not count, because that function records no facts.
    if (cause.by === 'operator') return [];
    const failure = subject !== undefined && 'failure' in subject ? subject.failure : undefined;
    const changedAtMs = world.processors[booksOf(payment)]?.inside.changedAtMs(payment.chargeId ?? '') ?? atMs;
    if (failure?.code !== NOT_ATTEMPTED || changedAtMs >= atMs) return [];
    if (isShown(world, booksOf(payment), payment.chargeId ?? '')) return [];
    return [
      { oracle: BOOKS, what: 'a change was recorded as not attempted, but the books were not read', about: payment.id },
    ];
  });
}

/**
 * Checks that a further charge that has money and names the payment is recorded after its callback, or that the
 * callback is kept until the payment exists.
 */
function unrecorded(world: Observed, chain: readonly Written<Transition>[]): readonly Violation[] {
  const payment = chain.at(-1)?.row.payment;
  const books = payment === undefined ? '' : booksOf(payment);
  const known = chargesOf(chain);
  const kept = orphansOf(world);
  const found = (world.processors[books]?.inside.all ?? []).filter(
    ({ chargeId, paymentId, operationId = '', capturedMinor }) =>
      paymentId === payment?.id &&
      capturedMinor > 0 &&
      !operationId.startsWith('pay_') &&
      !known.has(chargeId) &&
      !kept.has(chargeId) &&
      chargeId !== payment?.chargeId &&
      hasCallbackSince(world, books, chargeId, world.processors[books]?.inside.changedAtMs(chargeId) ?? 0),
  );
  return found.map(({ chargeId }) => {
    const what = `a callback reported the money of ${chargeId}, but it was not recorded`;
    return { oracle: 'I9 processor and books', what, about: payment?.id ?? '' };
  });
}

/**
 * Checks the charges that named the payment and had captured money when an operator decided about the payment. Each of
 * them must be recorded, even if the search of the processor's books lagged.
 */
function unseenAtDecision({ processors }: Observed, chain: readonly Written<Transition>[]): readonly Violation[] {
  const decided = chain.findLast(({ row }) => row.subject?.kind === 'decision');
  const inside = decided === undefined ? undefined : processors[booksOf(decided.row.payment)]?.inside;
  if (decided === undefined || inside === undefined) return [];
  const { id } = decided.row.payment;
  const known = chargesOf(chain);
  const unseen = inside.all.filter(
    ({ chargeId, paymentId, operationId = id, capturedMinor }) =>
      paymentId === id &&
      (operationId === id || !operationId.startsWith('pay_')) &&
      capturedMinor > 0 &&
      !known.has(chargeId) &&
      (inside.changedAtMs(chargeId) ?? decided.atMs) < decided.atMs,
  );
  return unseen.map(({ chargeId }) => {
    const what = `${chargeId} existed when an operator decided, but was not recorded`;
    return { oracle: 'I9 processor and books', what, about: id };
  });
}

/**
 * Checks, once the system is quiet, that Payonce has read the newest state of each charge with a delivered callback,
 * unless the charge changed after the callback's event, or the callback was given up with an alarm.
 */
export function checkCallbacks({ world, payments }: Seen): readonly Violation[] {
  const paymentOf = new Map<string, string>();
  const kept = orphansOf(world);
  const own = new Set([...payments.values()].map((chain) => chain.at(-1)?.row.payment.chargeId));
  for (const [id, charges] of chargesByPayment(world)) for (const { chargeId } of charges) paymentOf.set(chargeId, id);
  return world.callbacks.flatMap(({ processor, chargeId, firstAtMs, takenAtMs }) => {
    const id = paymentOf.get(chargeId) ?? '';
    const isTaken = takenAtMs !== undefined;
    // When the callback was delivered, the charge's metadata may have named a different payment. It may now name a
    // payment that does not exist.
    const isKept = kept.has(chargeId) || own.has(chargeId) || (id === '' && hasExpired(takenAtMs ?? 0, world.nowMs));
    if (isTaken && !payments.has(id)) return isKept ? [] : [orphaned(chargeId)];
    const changedAtMs = world.processors[processor]?.inside.changedAtMs(chargeId);
    const isNewest = changedAtMs !== undefined && firstAtMs >= changedAtMs;
    if (!isTaken || !isNewest || kept.has(chargeId) || isShown(world, processor, chargeId)) return [];
    const what = `a callback about ${chargeId} was delivered, but the charge was not read`;
    return [{ oracle: 'F18 delivered callbacks are processed', what, about: id }];
  });
}

export function hasExpired(takenAtMs: number, nowMs: number): boolean {
  return takenAtMs + FOREIGN_KEPT_DAYS * 86_400_000 <= nowMs + 2 * MAX_SKEW_MS;
}

/**
 * Called once the system is quiet. Fees must be posted in their currencies as soon as Payonce has read them, or
 * reconciliation must have reported the difference.
 */
export function checkFees({ world, payments }: Seen): readonly Violation[] {
  const reported = mismatches(world);
  // After a fault in the function that compares the books, a comparison may have reported nothing.
  const isWellCompared = world.faults.every(({ of }) => of !== 'upkeep-jobs');
  return [...payments].flatMap(([id, chain]) => {
    const payment = chain.at(-1)?.row.payment;
    if (payment?.status !== 'succeeded' || reported.some((row) => row.includes(id))) return [];
    const { chargeId = '' } = payment;
    const books = booksOf(payment);
    const inside = world.processors[books]?.inside;
    const isCaptured = inside?.all.some((charge) => charge.chargeId === chargeId && charge.status === 'succeeded');
    const shown = inside?.feesOf(chargeId);
    if (shown === undefined || !isCaptured || !isShown(world, books, chargeId, isWellCompared)) return [];
    // Payonce posts nothing for a charge whose metadata names another payment, but reports the charge.
    if (isReportedOtherwise(world, payment, chargeId)) return [];
    // Stray charges are refunded, and the merchant does not pay their fees.
    if (chargesOf(chain).get(chargeId)?.isOwn !== true) return [];
    const posted = Object.entries(postedOn(chain)).filter(([name, minor]) => name.startsWith('fees ') && minor !== 0);
    const booked = Object.entries(shown).filter(([, minor]) => minor !== 0);
    const [there, here] = [booked.map(([currency, minor]) => `${minor} ${currency}`), posted.map(feeText)];
    if (there.sort().join() === here.sort().join()) return [];
    const what = `the processor shows fees of ${there.join(', ') || 'nothing'}, but ${here.join(', ') || 'nothing'} was posted`;
    return [{ oracle: 'the fee of a charge is posted', what, about: id }];
  });
}

function feeText([name, minor]: readonly [string, number]): string {
  return `${minor} ${name.slice('fees '.length)}`;
}

function orphaned(chargeId: string): Violation {
  const what = `a callback about ${chargeId}, which belongs to no payment, was delivered but not kept`;
  return { oracle: 'F18 delivered callbacks are processed', what, about: chargeId };
}

/** Returns the confirmed mismatches as JSON text. Each run of the comparison raises an alarm about them. */
export function mismatches({ database, tables }: Observed): readonly string[] {
  return database.items(tables.views, ViewsRow.allMismatches).flatMap(({ body }) => {
    return typeof body === 'string' && body.includes('"confirmed"') ? [body] : [];
  });
}

function attempted(charge: ProcessorCharge, chain: readonly Written<Transition>[]): readonly Violation[] {
  const given = chain.find(({ row }) => row.payment.failure?.code === 'not_attempted');
  if (given === undefined || charge.createdAtSeconds * 1_000 >= given.atMs) return [];
  const what = `was recorded as not attempted, but ${charge.chargeId} existed before`;
  return [{ oracle: 'F05 absence is proven', what, about: chain[0]?.row.payment.id ?? '' }];
}

/** In minor units. */
export function heldOf({ capturedMinor, refunds, disputes }: ProcessorCharge): number {
  const refundedMinor = sum(refunds.filter(({ status }) => status === 'succeeded'));
  return capturedMinor - refundedMinor - sum(disputes.filter(({ status }) => status !== 'won'));
}

/**
 * Returns true if Payonce has read the newest state of the charge, or has itself caused that state.
 *
 * @param isCompared whether a list that the comparison of the books has read also counts as a read
 */
export function isShown(
  { processors, callbacks }: Observed,
  processor: string,
  chargeId: string,
  isCompared = false,
): boolean {
  const inside = processors[processor]?.inside;
  const changedAtMs = inside?.changedAtMs(chargeId) ?? Number.POSITIVE_INFINITY;
  const hasCallback = hasCallbackSince({ callbacks }, processor, chargeId, changedAtMs);
  return inside?.isShown(chargeId, hasCallback, isCompared) === true;
}

function hasCallbackSince(
  { callbacks }: Pick<Observed, 'callbacks'>,
  processor: string,
  chargeId: string,
  sinceMs: number,
): boolean {
  return callbacks.some(
    (each) => each.processor === processor && each.chargeId === chargeId && (each.takenAtMs ?? 0) >= sinceMs,
  );
}

/**
 * Returns true if the processor contradicted its own books of the charge, and an operator is notified: an alarm about
 * the payment was raised, or the refund of the charge waits for an operator. A recurring contradiction needs another
 * alarm only if a callback reports it and ten minutes have passed since the last alarm.
 */
export function isReported(
  world: Observed,
  payment: Pick<Payment, 'id' | 'processorName' | 'mode'>,
  chargeId = '',
): boolean {
  const processor = booksOf(payment);
  const contradicted = world.processors[processor]?.inside.contradicted(chargeId);
  if (contradicted === undefined) return false;
  const { atMs, shownAtMs } = contradicted;
  const hasCallback = hasCallbackSince(world, processor, chargeId, atMs);
  const sinceMs = hasCallback ? Math.max(shownAtMs, atMs - ONE_CALL_MS - MAX_SKEW_MS) : shownAtMs;
  return (
    ['contradiction', 'undecidable'].some((metric) => isRaised(world, metric, payment.id, sinceMs)) ||
    isTried(world, payment.id, chargeId)
  );
}

/**
 * Returns true if the metadata of a payment's charge names a different payment or none, and an alarm reports this. The
 * alarm may be about the payment itself, the payment that the metadata names, or the payment that created the charge.
 */
export function isReportedOtherwise(
  world: Observed,
  payment: Pick<Payment, 'id' | 'processorName' | 'mode'>,
  chargeId: string,
): boolean {
  const id: string = payment.id;
  const charge = world.processors[booksOf(payment)]?.inside.all.find((each) => each.chargeId === chargeId);
  if (charge === undefined) return false;
  const isOfAnother = charge.operationId?.startsWith('pay_') === true && charge.operationId !== id;
  if (charge.paymentId === id && !isOfAnother) return false;
  const named = [id, charge.paymentId, charge.operationId].filter((each) => each !== undefined);
  const isAlarmed = named.some((about) => isRaised(world, 'contradiction', about, 0));
  return isAlarmed || orphansOf(world).has(chargeId);
}

/**
 * Returns true if the metadata of a recorded refund was removed at the processor, the refund failed there later, and an
 * alarm reports the failure.
 */
export function isNameless(
  world: Observed,
  payment: Pick<Payment, 'id' | 'processorName' | 'mode'>,
  chargeId: string,
  known: ReadonlyMap<string, ChargeSeen>,
): boolean {
  const inside = world.processors[booksOf(payment)]?.inside;
  const there = inside?.all.find((charge) => charge.chargeId === chargeId);
  const names = new Set(there?.refunds.map(({ refundId }) => refundId));
  const failed = there?.refunds.filter(({ refundId, status }) => status === 'failed' && !isOwnRefund(refundId)) ?? [];
  const isMissing = [...(known.get(chargeId)?.refunds ?? [])].some(
    ([refundId, { status, amountMinor }]) =>
      status === 'succeeded' &&
      isOwnRefund(refundId) &&
      !names.has(refundId) &&
      failed.some((refund) => refund.amountMinor === amountMinor),
  );
  return isMissing && isRaised(world, 'contradiction', payment.id, (inside?.changedAtMs(chargeId) ?? 0) - MAX_SKEW_MS);
}

/**
 * Returns the charges of stored callbacks without a payment, including callbacks that were given up, which have raised
 * an alarm.
 */
export function orphansOf({ database, tables }: Pick<Observed, 'database' | 'tables'>): ReadonlySet<string> {
  return new Set(
    [RegistryRow.orphan, RegistryRow.keptOrphan].flatMap((prefix) =>
      database.items(tables.registry, prefix).map((item) => parseOrphan(item).event.chargeId),
    ),
  );
}

/**
 * Returns true if an alarm after an operator's decision about the payment reported that the processor's books differ
 * from the decision.
 */
export function isDecidedOtherwise(world: Observed, chain: readonly Written<Transition>[]): boolean {
  const decided = chain.find(({ row }) => decisionOf(row) !== undefined);
  return decided !== undefined && isRaised(world, 'contradiction', decided.row.payment.id, decided.atMs);
}

function isUnknownCharge(world: Observed, chain: readonly Written<Transition>[]): boolean {
  const decided = chain.find(({ row }) => decisionOf(row) !== undefined);
  const payment = chain.at(-1)?.row.payment;
  if (decided === undefined || payment === undefined) return false;
  const isThere = world.processors[booksOf(payment)]?.inside.all.some(({ chargeId }) => chargeId === payment.chargeId);
  return isThere !== true && isRaised(world, 'undecidable', payment.id, decided.atMs);
}

/**
 * Returns true if the refund of a stray charge waits for an operator: its queue entry is marked as undecidable, and an
 * alarm was raised. The processor has rejected the refund several times, or does not have the charge.
 */
export function isTried(world: Observed, id: string, chargeId: string): boolean {
  const entries = world.database.items(world.tables.registry, RegistryRow.return);
  const isMarked = entries.some((each) => each['chargeId'] === chargeId && each['undecidable'] === true);
  return isMarked && isRaised(world, 'undecidable', id, 0);
}

/**
 * Returns true if the void of a hold waits for an operator, because the processor has refused it many times: its queue
 * entry is marked as undecidable, and an alarm was raised.
 */
export function isStuck(world: Observed, id: string): boolean {
  const entries = world.database.items(world.tables.registry, RegistryRow.hold);
  const isMarked = entries.some((each) => each['paymentId'] === id && each['undecidable'] === true);
  return isMarked && isRaised(world, 'undecidable', id, 0);
}

/**
 * Returns true if the refund waits for an operator (queue entry marked as undecidable, alarm raised) for a valid
 * reason: the processor does not have the charge, the charge's currency differs from the payment's, or the refund's
 * metadata was removed.
 */
export function isLeftToOperator(
  world: Observed,
  payment: Pick<Payment, 'id' | 'processorName' | 'mode' | 'currency'>,
  chargeId: string,
  { refundId, amountMinor }: { readonly refundId: string; readonly amountMinor: number },
): boolean {
  const entries = world.database.items(world.tables.registry, RegistryRow.inquiry);
  const isMarked = entries.some((each) => each['operationId'] === refundId && each['undecidable'] === true);
  const isLeft = isReturn(refundId) ? isTried(world, payment.id, chargeId) : isMarked;
  if (!isLeft || !isRaised(world, 'undecidable', payment.id, 0)) return false;
  const there = world.processors[booksOf(payment)]?.inside.all.find((charge) => charge.chargeId === chargeId);
  if (there === undefined || there.currency !== payment.currency) return true;
  if (there.refunds.some((refund) => refund.refundId === refundId)) return false;
  return there.refunds.some((refund) => !isOwnRefund(refund.refundId) && refund.amountMinor === amountMinor);
}

export function isKnownThere(
  { processors }: Observed,
  payment: Pick<Payment, 'processorName' | 'mode'>,
  chargeId: string,
): boolean {
  return processors[booksOf(payment)]?.inside.all.some((charge) => charge.chargeId === chargeId) === true;
}

export function isOrphanGivenUp(world: Observed, chargeId: string): boolean {
  return isRaised(world, 'undecidable', chargeId, 0);
}

function isRaised({ alarms }: Observed, name: string, id: string, sinceMs: number): boolean {
  return alarms.some(({ metric, about, atMs }) => metric === name && about === id && atMs >= sinceMs);
}

export function chargesByPayment({ processors }: Observed): ReadonlyMap<string, readonly ProcessorCharge[]> {
  const found = new Map<string, ProcessorCharge[]>();
  for (const charge of Object.values(processors).flatMap(({ inside }) => inside.all)) {
    if (charge.paymentId === undefined) continue;
    found.set(charge.paymentId, [...(found.get(charge.paymentId) ?? []), charge]);
  }
  return found;
}
