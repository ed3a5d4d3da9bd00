/** Oracle: every object that a processor has shown as open is in a queue, or has raised an alarm. */
import type { Payment } from '../../../../lambdas/payments/domain/payment.ts';
import type { ProcessorCharge } from '../../../../lambdas/payments/domain/processor-charge.ts';
import { chargeOperation, isReturn } from '../../../../lambdas/payments/ids.ts';
import type { Violation } from '../contract.ts';
import { booksOf } from '../processors.ts';
import {
  isDecidedOtherwise,
  isOrphanGivenUp,
  isReportedOtherwise,
  isShown,
  mismatches,
  orphansOf,
} from './processors.ts';
import type { Seen } from './seen.ts';
import { type Queued, queuedIn } from './unfinished.ts';

/**
 * Time after which an object must be in a queue, in milliseconds. Functions that have read the object write its queue
 * entry within this time.
 */
const WRITTEN_MS = 10 * 60_000;

/** An object can close before the system is quiet, so a check at the end can miss it. */
export class OpenObjects {
  /** In Unix milliseconds, by the name of the violation. */
  readonly #since = new Map<string, number>();

  /** Called after every step. */
  afterStep(seen: Seen): readonly Violation[] {
    const { nowMs } = seen.world;
    const found = untracked(seen, (id, chargeId, queued) => isAtWork(seen, id, chargeId, queued));
    const names = new Set(found.map(nameOf));
    for (const name of this.#since.keys()) if (!names.has(name)) this.#since.delete(name);
    return found.filter((each) => {
      const sinceMs = this.#since.get(nameOf(each)) ?? nowMs;
      this.#since.set(nameOf(each), sinceMs);
      return nowMs - sinceMs >= WRITTEN_MS;
    });
  }
}

/** Called once the system is quiet. */
export function checkOpenObjects(seen: Seen): readonly Violation[] {
  return untracked(seen, () => false);
}

const nameOf = ({ what, about = '' }: Violation): string => `${about} ${what}`;

/**
 * Returns true if the charge needs no queue entry now. Usually Payonce will still read the charge again: a callback of
 * the charge waits for its payment, or a function has read the charge but is not finished. If that function crashed,
 * another process continues the claim or the inquiry of the payment or of its change.
 */
function isAtWork({ world, claims, payments }: Seen, id: string, chargeId: string, { inquiries }: Queued): boolean {
  if (orphansOf(world).has(chargeId)) return true;
  const payment = payments.get(id)?.at(-1)?.row.payment;
  // The function that compares an operator's decision with the charge may have crashed. No queue holds unfinished
  // decisions.
  if (world.faults.some(({ of }) => of === 'ledger')) return true;
  const inside = payment === undefined ? undefined : world.processors[booksOf(payment)]?.inside;
  // An operator has named the charge for another payment. The alarm about that payment reports the charge.
  const others = [...payments].filter(
    ([other, chain]) => other !== id && chain.at(-1)?.row.payment.chargeId === chargeId,
  );
  if (others.some(([, chain]) => isDecidedOtherwise(world, chain))) return true;
  const letters = id.slice('pay_'.length);
  const isClaimed = [...claims].some((operation) => operation.includes(letters));
  const isInquired = [...inquiries].some((inquiry) => inquiry.startsWith(`${id} `));
  return (isClaimed || isInquired) && inside?.isShown(chargeId, false) === true;
}

/** @param isExcused returns true for a charge that needs no queue entry yet */
function untracked(
  seen: Seen,
  isExcused: (id: string, chargeId: string, queued: Queued) => boolean,
): readonly Violation[] {
  const { world, payments } = seen;
  const queued = queuedIn(world);
  // A restore can keep the record of a callback but lose its facts. The comparison of the books then reports them.
  const reported = world.restores.length > 0 ? mismatches(world) : [];
  return [...payments].flatMap(([id, chain]) => {
    const newest = chain.at(-1)?.row.payment;
    if (newest === undefined || reported.some((row) => row.includes(id))) return [];
    const books = booksOf(newest);
    const shown = (world.processors[books]?.inside.all ?? []).filter(
      (charge) =>
        charge.paymentId === id &&
        isUnfinished(charge) &&
        isShown(world, books, charge.chargeId) &&
        !isReportedOtherwise(world, newest, charge.chargeId) &&
        !isOrphanGivenUp(world, charge.chargeId) &&
        !isExcused(id, charge.chargeId, queued),
    );
    return shown.flatMap((charge) =>
      openIn(charge, { id, isOwn: isOwnCharge(charge, newest) }, { queued, claims: seen.claims }).map(
        (what): Violation => ({
          oracle: 'what the processor has shown as open is in a queue',
          what: `${what} of ${charge.chargeId} is in no queue`,
          about: id,
        }),
      ),
    );
  });
}

function openIn(
  charge: ProcessorCharge,
  { id, isOwn }: { readonly id: string; readonly isOwn: boolean },
  { queued, claims }: { readonly queued: Queued; readonly claims: Seen['claims'] },
): readonly string[] {
  const { chargeId, refunds, disputes } = charge;
  if (queued.books.has(id) || queued.inquiries.has(`${id} ${chargeId}`)) return [];
  const isAsked = (operation: string): boolean => claims.has(operation) || queued.inquiries.has(`${id} ${operation}`);
  const isReturned = queued.returns.has(`${id} ${chargeId}`);
  const isWaiting = isReturned || (isOwn && (isAsked(id) || queued.holds.has(id)));
  return [
    ...(isOpenCharge(charge) && !isWaiting ? [`the charge, ${charge.status},`] : []),
    ...refunds
      .filter(({ refundId, status }) => status === 'pending' && !isAsked(refundId))
      .filter(({ refundId }) => !(isReturn(refundId) && isReturned))
      .map(({ refundId }) => `the pending refund ${refundId}`),
    ...disputes.filter(({ status }) => status === 'open').map(({ disputeId }) => `the open dispute ${disputeId}`),
  ];
}

/** Returns true if the inquiry about the payment itself finds the charge. */
function isOwnCharge({ chargeId, operationId }: ProcessorCharge, payment: Pick<Payment, 'id' | 'chargeId'>): boolean {
  return payment.chargeId === undefined ? operationId === chargeOperation(payment.id) : chargeId === payment.chargeId;
}

function isOpenCharge({ status }: ProcessorCharge): boolean {
  return status === 'pending' || status === 'requires_action' || status === 'authorized';
}

function isUnfinished(charge: ProcessorCharge): boolean {
  return (
    isOpenCharge(charge) || [...charge.refunds, ...charge.disputes].some(({ status }) => /pending|open/.test(status))
  );
}
