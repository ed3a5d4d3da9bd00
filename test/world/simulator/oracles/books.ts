/**
 * Oracles for a payment's chain, states, postings and reservations, checked after every step that wrote to the payment.
 */

import { isDeepStrictEqual } from 'node:util';
import { systemDigest } from '../../../../lambdas/kernel/platform/platform.ts';
import type { PaymentStatus } from '../../../../lambdas/payments/domain/payment.ts';
import { stateAfter } from '../../../../lambdas/payments/domain/payment-state.ts';
import { storedBegun } from '../../../../lambdas/payments/domain/payment-sums.ts';
import { firstBrokenLink, type Transition } from '../../../../lambdas/payments/domain/transition.ts';
import { isOwnRefund } from '../../../../lambdas/payments/ids.ts';
import type { Violation } from '../contract.ts';
import { chargesOf, dueOn, leftOf, postedOn } from './money.ts';
import type { Written } from './seen.ts';

type Chain = readonly Written<Transition>[];

const NEXT: Readonly<Record<PaymentStatus, readonly PaymentStatus[]>> = {
  processing: ['requires_action', 'requires_capture', 'succeeded', 'failed', 'canceled', 'needs_review'],
  requires_action: ['requires_capture', 'succeeded', 'failed', 'canceled', 'needs_review'],
  requires_capture: ['succeeded', 'canceled', 'needs_review'],
  needs_review: ['succeeded', 'failed', 'canceled'],
  succeeded: [],
  failed: [],
  canceled: [],
};

export function checkPayment(id: string, chain: Chain): readonly Violation[] {
  const found = [states, postings, reservations, holdChanges, sums, links].flatMap((check) => check(chain));
  return found.map((violation) => ({ about: id, ...violation }));
}

/**
 * I6: checks that sequence numbers have no gaps, and that the status, charge and captured amount change only as
 * allowed.
 */
function states(chain: Chain): readonly Violation[] {
  const found: Violation[] = [];
  for (const [index, { row }] of chain.entries()) {
    if (row.sequence !== index + 1) {
      found.push({ oracle: 'I8 append only', what: `transition ${index + 1} has the sequence ${row.sequence}` });
    }
    const before = chain[index - 1]?.row.payment;
    if (before === undefined) continue;
    const { status, chargeId, amountCapturedMinor } = row.payment;
    if (status !== before.status && !NEXT[before.status].includes(status)) {
      found.push({ oracle: 'I6 states', what: `went from ${before.status} to ${status}` });
    }
    if (before.chargeId !== undefined && chargeId !== before.chargeId && before.status !== 'needs_review') {
      found.push({ oracle: 'I1 one charge', what: `changed its charge from ${before.chargeId} to ${chargeId}` });
    }
    if (before.amountCapturedMinor > 0 && amountCapturedMinor !== before.amountCapturedMinor) {
      found.push({ oracle: 'I2 one set of postings', what: 'was captured twice' });
    }
    if (amountCapturedMinor > row.payment.amountMinor) {
      found.push({
        oracle: 'I2 one set of postings',
        what: `captured ${amountCapturedMinor} of ${row.payment.amountMinor}`,
      });
    }
  }
  return found;
}

/** I2: checks that the postings reflect each event exactly once. */
function postings(chain: Chain): readonly Violation[] {
  const posted = postedOn(chain);
  const due = dueOn(chain);
  const found: Violation[] = [];
  for (const name of new Set([...Object.keys(posted), ...Object.keys(due)])) {
    const is = posted[name] ?? 0;
    const must = due[name] ?? 0;
    if (is !== must) found.push({ oracle: 'I2 one set of postings', what: `${name} is ${is} but must be ${must}` });
  }
  const newest = chain.at(-1)?.row.payment;
  if (newest === undefined) return found;
  const own = newest.chargeId === undefined ? undefined : chargesOf(chain).get(newest.chargeId);
  const refundedMinor = own?.isOwn === true ? leftOf(own).refundedMinor : 0;
  if (newest.amountRefundedMinor !== refundedMinor) {
    const what = `shows ${newest.amountRefundedMinor} as refunded but has refunds of ${refundedMinor}`;
    found.push({ oracle: 'I2 one set of postings', what });
  }
  return found;
}

/**
 * Checks that Payonce's own refunds never reserve or refund more than was captured. A failed refund that succeeds later
 * may exceed the captured amount, because facts from the processor are always recorded (I6).
 */
function reservations(chain: Chain): readonly Violation[] {
  const charges = chargesOf(chain);
  const promised = new Map<string, number>();
  const promisedMinor = new Map<string, number>();
  return chain.flatMap(({ row }) => {
    const { subject } = row;
    if (subject?.kind !== 'refund' || !isOwnRefund(subject.refundId)) return [];
    const { refundId, chargeId, amountMinor, status } = subject;
    const nowMinor = status === 'failed' ? 0 : amountMinor;
    const wasMinor = promised.get(refundId);
    const isFact = wasMinor === 0 && status === 'succeeded';
    const reservesMore = nowMinor > (wasMinor ?? 0) && !isFact;
    const sumMinor = (promisedMinor.get(chargeId) ?? 0) + nowMinor - (wasMinor ?? 0);
    promised.set(refundId, nowMinor);
    promisedMinor.set(chargeId, sumMinor);
    const { capturedMinor = Number.POSITIVE_INFINITY } = charges.get(chargeId) ?? {};
    if (!reservesMore || sumMinor <= capturedMinor) return [];
    const what = `refunds of ${sumMinor} were pending or completed for ${chargeId}, which captured ${capturedMinor}`;
    return [{ oracle: 'F31 refunds are reserved', what }];
  });
}

function holdChanges(chain: Chain): readonly Violation[] {
  const pending = new Set<string>();
  for (const { row } of chain) {
    const { subject, payment } = row;
    if (payment.status !== 'requires_capture' && payment.status !== 'requires_action') pending.clear();
    if (subject?.kind !== 'capture' && subject?.kind !== 'void') continue;
    if (subject.status === 'pending') pending.add(subject.operationId);
    else pending.delete(subject.operationId);
    if (pending.size > 1) {
      return [
        {
          oracle: 'F31 one change of a hold',
          what: `${[...pending].join(' and ')} are in progress at the same time`,
        },
      ];
    }
  }
  return [];
}

/**
 * The next change is decided from the sums alone. The reserved amount is computed without production code, the other
 * sums with the production fold.
 */
function sums(chain: Chain): readonly Violation[] {
  const newest = chain.at(-1)?.row;
  if (newest === undefined) return [];
  const wrong = (what: string): readonly Violation[] => [{ oracle: 'F31 sums', what }];
  const own = newest.payment.chargeId;
  if (newest.sums === undefined) {
    const isStray = chain.some(({ row: { subject } }) => subject?.kind === 'stray_charge' && subject.chargeId === own);
    return isStray ? [] : wrong('the newest transition has no sums');
  }
  const charge = own === undefined ? undefined : chargesOf(chain).get(own);
  const reservedMinor = charge === undefined ? 0 : leftOf(charge).pendingMinor;
  if (newest.sums.reservedMinor !== reservedMinor) {
    return wrong(`the newest transition has ${newest.sums.reservedMinor} reserved, the chain ${reservedMinor}`);
  }
  const state = stateAfter(chain.map(({ row }) => row));
  if (!isDeepStrictEqual(newest.sums, state.sums)) {
    return wrong(`the newest transition has ${JSON.stringify(newest.sums)}, the chain ${JSON.stringify(state.sums)}`);
  }
  const beginning = chain[newest.sums.begunAt - 1]?.row;
  const isListed = isDeepStrictEqual(beginning?.begun, beginning && storedBegun(state.buckets, beginning.sequence));
  return isListed ? [] : wrong(`transition ${newest.sums.begunAt} does not show all changes that have begun`);
}

/** I8. A hash covers the commitment to a details row, but not the row itself, so an erasure breaks no link. */
function links(chain: Chain): readonly Violation[] {
  const broken = firstBrokenLink(
    systemDigest,
    chain.map(({ row }) => row),
  );
  return broken === undefined ? [] : [{ oracle: 'I8 hash chain', what: `the link of transition ${broken} is broken` }];
}
