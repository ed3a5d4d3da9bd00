/** Oracle: each event that requires an operator raises its alarm, and no alarm is raised more often than necessary. */
import { EventMetric } from '../../../../lambdas/kernel/contract/events.ts';
import { RegistryRow } from '../../../../lambdas/kernel/contract/rows.ts';
import type { Payment } from '../../../../lambdas/payments/domain/payment.ts';
import { decisionOf, type Transition } from '../../../../lambdas/payments/domain/transition.ts';
import { parseInquiry, parseOrphan } from '../../../../lambdas/payments/store/queue-items.ts';
import type { Inquiry } from '../../../../lambdas/payments/use/payment-store.ts';
import { BooksMetric } from '../../../../lambdas/reconciliation/contract.ts';
import { BacklogMetric } from '../../../../lambdas/resolving/contract.ts';
import type { Observed, Violation } from '../contract.ts';
import { hasExpired, mismatches } from './processors.ts';
import { MAX_SKEW_MS, type Seen, type Written } from './seen.ts';

/** Maximum delay of an alarm after its event, in milliseconds. A later alarm belongs to a different event. */
const SOON_MS = 24 * 60 * 60_000;
const MINUTE_MS = 60_000;
/** Called once the system is quiet. */
export function checkAlarms({ world, payments, orders }: Seen): readonly Violation[] {
  const found: Violation[] = [];
  const expect = (metric: string, [soonestMs, atMs]: readonly [number, number], what: string, about: string): void => {
    const isRaised = world.alarms.some(
      (each) => each.metric === metric && each.about === about && each.atMs >= soonestMs && each.atMs <= atMs + SOON_MS,
    );
    if (!isRaised)
      found.push({
        oracle: 'required alarms are raised',
        what: `${what}, but the alarm ${metric} was not raised`,
        about,
      });
  };
  for (const [id, chain] of payments) {
    for (const { row, atMs } of chain) {
      const about = spanOf(row, atMs);
      if (row.subject?.kind === 'stray_charge') expect('late_success', about, 'late money arrived', id);
      if (row.type === 'payment.review_required')
        expect(EventMetric.toReview, about, 'the payment or order is in review', id);
    }
    for (const { givenUpAtMs, atMs } of contradictions(chain)) {
      // The process raises the alarm and records it, then writes the transition. If the process crashes in between, a
      // later inquiry writes the transition.
      const soonest = world.faults.length > 0 ? givenUpAtMs : atMs - MINUTE_MS;
      expect('contradiction', [soonest, atMs], 'a refund succeeded that Payonce had recorded as failed', id);
    }
  }
  for (const [id, chain] of orders) {
    for (const { row, atMs } of chain) {
      if (row.type === 'order.review_required')
        expect('order_needs_review', spanOf(row, atMs), 'the payment or order is in review', id);
    }
  }
  found.push(...unreportedOnceQuiet(world));
  return [...found, ...raisedOnce(world, [...payments.values()].flat()), ...contradictedOnce(world, payments)];
}

/** A recovery can write a row again, long after the row occurred and its alarm was raised. */
function spanOf({ occurredAtMs }: { readonly occurredAtMs: number }, atMs: number): readonly [number, number] {
  return [Math.min(occurredAtMs, atMs) - MINUTE_MS, atMs];
}

function unreportedOnceQuiet(world: Observed): readonly Violation[] {
  const { alarms, database, tables } = world;
  const found: Violation[] = [];
  const unreported = (what: string): void => void found.push({ oracle: 'required alarms are raised', what });
  const newestOf = (metric: string) => alarms.findLast((each) => each.metric === metric);
  const confirmed = mismatches(world).length;
  const counted = newestOf(BooksMetric.mismatches)?.count ?? 0;
  if (confirmed > 0 && counted < confirmed)
    unreported(`${confirmed} mismatches are confirmed, but the newest comparison counted ${counted}`);
  const raised = new Set(alarms.flatMap(({ metric, about }) => (metric === 'undecidable' ? [about] : [])));
  for (const { event } of database.items(tables.registry, RegistryRow.keptOrphan).map(parseOrphan)) {
    if (!raised.has(event.chargeId) && !isOfAnotherProgram(world, event.chargeId))
      unreported(`a callback about ${event.chargeId} was given up without an alarm`);
  }
  for (const atMs of givenUpEarly(world)) unreported(`at ${atMs}, a callback was given up within a day`);
  const oldest = newestOf(BacklogMetric.oldestUnknown);
  for (const { operationId, claimedAtMs } of unknownOutcomes(world)) {
    const ageMs = (oldest?.atMs ?? world.nowMs) - claimedAtMs;
    if (ageMs <= (oldest?.count ?? 0) + MAX_SKEW_MS) continue;
    unreported(
      `the outcome of ${operationId} has been unknown for ${ageMs} ms, but the reported age of the oldest unknown outcome is ${oldest?.count} ms`,
    );
  }
  for (const { queue, fromMs, untilMs } of world.mishaps.waits) {
    const isCounted = alarms.some(
      ({ metric, atMs }) => metric === 'messages_wait' && atMs >= fromMs && atMs <= untilMs,
    );
    if (!isCounted)
      unreported(`messages of ${queue} handled at ${fromMs} had waited for a long time, but were not counted`);
  }
  for (const atMs of withoutAge(world))
    unreported(`at ${atMs}, outcomes had been unknown for a long time, but were reported without an age`);
  return found;
}

function isOfAnotherProgram({ processors }: Observed, chargeId: string): boolean {
  const charges = Object.values(processors).flatMap(({ inside }) => inside.all);
  const charge = charges.find((each) => each.chargeId === chargeId);
  return charge !== undefined && charge.paymentId === undefined;
}

function givenUpEarly(world: Observed): readonly number[] {
  const { alarms, callbacks, database, tables, nowMs } = world;
  const kept = database.items(tables.registry, RegistryRow.keptOrphan).map(parseOrphan);
  if (kept.length === 0) return [];
  const expired = callbacks.flatMap(({ chargeId, takenAtMs = nowMs }) =>
    hasExpired(takenAtMs, nowMs) && isOfAnotherProgram(world, chargeId) ? [takenAtMs] : [],
  );
  const oldestMs = Math.min(...kept.map(({ receivedAtMs }) => receivedAtMs), ...expired);
  return alarms.flatMap(({ metric, count, atMs }) =>
    metric === 'orphan_given_up' && count > 0 && atMs < oldestMs + SOON_MS - MAX_SKEW_MS ? [atMs] : [],
  );
}

/**
 * Returns the time of the report that completes a violation: at least three consecutive reports count unknown outcomes
 * but show an age of 0, over a longer time than clock skew explains. After a pause of that length, reports are about a
 * different outcome. Without a violation, the list is empty.
 */
function withoutAge({ alarms }: Observed): readonly number[] {
  const unknown = new Map(
    alarms.flatMap(({ metric, atMs, count }) => (metric === BacklogMetric.unknownOutcomes ? [[atMs, count]] : [])),
  );
  let row: number[] = [];
  for (const { metric, atMs, count } of alarms) {
    if (metric !== BacklogMetric.oldestUnknown) continue;
    const before = atMs - (row.at(-1) ?? atMs) > 2 * MAX_SKEW_MS ? [] : row;
    row = count === 0 && (unknown.get(atMs) ?? 0) > 0 ? [...before, atMs] : [];
    if (row.length > 2 && atMs - (row[0] ?? atMs) > 2 * MAX_SKEW_MS) return [atMs];
  }
  return [];
}

function unknownOutcomes({ database, tables }: Observed): readonly Inquiry[] {
  const inquiries = database.items(tables.registry, RegistryRow.inquiry).map(parseInquiry);
  return inquiries.filter(({ undecidable }) => undecidable === true);
}

/**
 * Not checked after faults and mishaps, because the relay may read a record twice or a job may also publish the record.
 */
function raisedOnce(world: Observed, written: readonly Written<Transition>[]): readonly Violation[] {
  const { alarms, faults, troubles, mishaps } = world;
  const isReadAgain = troubles.some(({ of }) => of === 'bus' || of === 'relay') || mishaps.changesByHand.length > 0;
  if (faults.length > 0 || isReadAgain || mishaps.wasPoisoned) return [];
  const rows = written.map(({ row }) => row);
  const due = {
    late_success: rows.filter(({ subject }) => subject?.kind === 'stray_charge').length,
    [EventMetric.toReview]: rows.filter(({ type }) => type === 'payment.review_required').length,
  };
  return Object.entries(due).flatMap(([metric, times]) => {
    const ofRelay = alarms.filter((each) => each.metric === metric && each.dimensions['service'] === 'outbox-relay');
    const count = ofRelay.reduce((total, each) => total + each.count, 0);
    if (count <= times) return [];
    return [
      {
        oracle: 'an alarm is raised once for each event',
        what: `${metric} was raised ${count} times for ${times} events`,
      },
    ];
  });
}

/**
 * Allows one alarm for each state of the payment's charges in the processor's books, one for each transition in its
 * chain, and two more for each operator's decision, because a decision may name a missing charge. Two processes may
 * raise the same alarm at the same time.
 */
function contradictedOnce(world: Observed, payments: Seen['payments']): readonly Violation[] {
  if (world.faults.length > 0) return [];
  return [...payments].flatMap(([id, chain]) => {
    const times = world.alarms.flatMap(({ metric, about, atMs }) =>
      metric === 'contradiction' && about === id ? [atMs] : [],
    );
    const count = times.filter((atMs, index) => atMs - (times[index - 1] ?? 0) > MINUTE_MS).length;
    const chargeIds = new Set(chain.flatMap(({ row: { payment, subject } }) => chargesNamed(payment, subject)));
    const states = Object.values(world.processors).flatMap(({ inside }) =>
      inside.all
        .filter(({ chargeId, paymentId }) => paymentId === id || chargeIds.has(chargeId))
        .map(({ chargeId }) => inside.statesOf(chargeId)),
    );
    const decided = chain.filter(({ row }) => decisionOf(row) !== undefined);
    const due = states.reduce((total, each) => total + each, 0) + 2 * decided.length + chain.length;
    if (count <= due) return [];
    const what = `contradiction was raised ${count} times for ${due} states of the books and the chain`;
    return [{ oracle: 'an alarm is raised once for each event', what, about: id }];
  });
}

function chargesNamed({ chargeId }: Payment, subject: object | undefined): readonly string[] {
  const named = subject !== undefined && 'chargeId' in subject ? [String(subject.chargeId)] : [];
  return chargeId === undefined ? named : [chargeId, ...named];
}

function contradictions(
  chain: readonly Written<Transition>[],
): readonly { readonly givenUpAtMs: number; readonly atMs: number }[] {
  const givenUp = new Map<string, number>();
  return chain.flatMap(({ row, atMs }) => {
    const { subject } = row;
    if (subject?.kind !== 'refund') return [];
    const givenUpAtMs = givenUp.get(subject.refundId);
    const code = subject.failure?.code;
    if (code === 'not_attempted' || code === 'decided_by_operator') givenUp.set(subject.refundId, atMs);
    return subject.status === 'succeeded' && givenUpAtMs !== undefined ? [{ givenUpAtMs, atMs }] : [];
  });
}
