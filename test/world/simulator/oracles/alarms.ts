/** Each event that requires an operator raised its alarm, once. */
import { EventMetric } from '../../../../lambdas/kernel/contract/events.ts';
import { decisionOf } from '../../../../lambdas/payments/domain/operator-decision.ts';
import type { Payment } from '../../../../lambdas/payments/domain/payment.ts';
import type { Transition } from '../../../../lambdas/payments/domain/transition.ts';
import type { Observed, Violation } from '../contract.ts';
import type { Seen, Written } from './seen.ts';

/** A later alarm belongs to another event. Milliseconds. */
const SOON_MS = 24 * 60 * 60_000;
const MINUTE_MS = 60_000;

/** Once quiet. */
export function checkAlarms({ world, payments, orders }: Seen): readonly Violation[] {
  const found: Violation[] = [];
  const expect = (metric: string, sinceMs: number, what: string, about: string): void => {
    const isRaised = world.alarms.some(
      (each) =>
        each.metric === metric &&
        each.about === about &&
        each.atMs >= sinceMs - MINUTE_MS &&
        each.atMs <= sinceMs + SOON_MS,
    );
    if (!isRaised)
      found.push({
        oracle: 'what needs an operator raises an alarm',
        what: `${what}, and the alarm ${metric} was not raised`,
        about,
      });
  };
  for (const [id, chain] of payments) {
    for (const { row, atMs } of chain) {
      if (row.subject?.kind === 'stray_charge') expect('late_success', atMs, 'money came too late', id);
      if (row.type === 'payment.review_required') expect(EventMetric.toReview, atMs, 'it is in review', id);
    }
    for (const atMs of contradictions(chain)) expect('contradiction', atMs, 'a refund that was given up succeeded', id);
  }
  for (const [id, chain] of orders) {
    for (const { row, atMs } of chain) {
      if (row.type === 'order.review_required') expect('order_needs_review', atMs, 'it is in review', id);
    }
  }
  return [...found, ...raisedOnce(world, [...payments.values()].flat()), ...contradictedOnce(world, payments)];
}

/** The relay reports what it reads: once, unless a fault or a mishap has it read again, or has the job publish it too. */
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
      { oracle: 'an alarm is raised once for each event', what: `${metric} was raised ${count} times for ${times}` },
    ];
  });
}

/**
 * A contradiction raises its alarm once for each state of the books and of the chain that shows it, and once more for an operator's decision, which may
 * name a charge that is not there: looks that find the same again raise none. Two processes can find it at the same time.
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

/** When a refund succeeded that Payonce or an operator had given up. */
function contradictions(chain: readonly Written<Transition>[]): readonly number[] {
  const givenUp = new Set<string>();
  return chain.flatMap(({ row, atMs }) => {
    const { subject } = row;
    if (subject?.kind !== 'refund') return [];
    const isBack = subject.status === 'succeeded' && givenUp.has(subject.refundId);
    const code = subject.failure?.code;
    if (code === 'not_attempted' || code === 'decided_by_operator') givenUp.add(subject.refundId);
    return isBack ? [atMs] : [];
  });
}
