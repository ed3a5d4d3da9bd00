/**
 * Counts what histories cover: cells of the state tables, the numbered faults (F01 to F40), and pairs of an act and a
 * fault.
 */
import { LedgerRow } from '../../../lambdas/kernel/contract/rows.ts';
import { parseOrderTransition } from '../../../lambdas/orders/store/order-items.ts';
import { PAYMENT_STATUSES, type PaymentStatus } from '../../../lambdas/payments/domain/payment.ts';
import { CHARGE_TABLE, DISPUTE_TABLE, REFUND_TABLE } from '../../../lambdas/payments/domain/state-tables.ts';
import type { Transition } from '../../../lambdas/payments/domain/transition.ts';
import { parseTransition } from '../../../lambdas/payments/store/items.ts';
import { ACTS } from './acts/all-acts.ts';
import { isEffect } from './acts/objects.ts';
import type { FaultKind, History, Observed, Violation } from './contract.ts';
import type { StepEnd } from './perform.ts';

type Table = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

const TABLES: Readonly<Record<string, Table>> = { charge: CHARGE_TABLE, refund: REFUND_TABLE, dispute: DISPUTE_TABLE };

const FAULT_KINDS: readonly FaultKind[] = [
  'crash_before',
  'crash_after',
  'throttle',
  'conflict',
  'ambiguous_applied',
  'ambiguous_lost',
  'slow',
];

const NEVER_OLDER =
  'the chain is read before the charge, and a charge never returns to this state in the processor’s books, so the fact cannot be older than the chain';
const HAS_CHARGE =
  'a payment in this state has a charge: its decline is `revoked`, its absence `vanished`, and a decline of another charge `stray_nothing`';
const ASKED_WHILE_OPEN =
  'only an inquiry about an open payment has this result, and the payment is still open when the result is decided';
const NOT_SIMULATED =
  'no simulated processor loses a charge, lacks a look-up, or decides after an approval; other tests cover this';
const FEE_AFTER_MONEY = 'the fee is reported after the charge moved money, so the payment is no longer in this state';
const GIVEN_UP_WHILE_PENDING = 'Payonce gives up only pending refunds';

/** Reaching such a cell violates an oracle. */
const UNREACHABLE_CELLS: Readonly<Record<string, string>> = {
  ...noneOf('charge pending', ['requires_capture', 'canceled'], NEVER_OLDER),
  ...noneOf('charge action_required', ['requires_capture', 'needs_review'], NEVER_OLDER),
  ...noneOf(
    'charge declined',
    ['requires_action', 'requires_capture', 'succeeded', 'canceled', 'needs_review'],
    HAS_CHARGE,
  ),
  ...noneOf('charge unknown', ['requires_capture'], NOT_SIMULATED),
  ...noneOf('charge unknown', PAYMENT_STATUSES.filter(isNotOpen), ASKED_WHILE_OPEN),
  ...noneOf('charge not_attempted', ['requires_action', 'requires_capture'], HAS_CHARGE),
  ...noneOf('charge not_attempted', PAYMENT_STATUSES.filter(isNotOpen), ASKED_WHILE_OPEN),
  ...noneOf('charge vanished', ['requires_action', 'requires_capture'], NOT_SIMULATED),
  ...noneOf('charge vanished', PAYMENT_STATUSES.filter(isNotOpen), ASKED_WHILE_OPEN),
  ...noneOf('charge fee', ['processing', 'requires_action', 'requires_capture'], FEE_AFTER_MONEY),
  ...noneOf('charge undecidable', PAYMENT_STATUSES, NOT_SIMULATED),
  ...noneOf('refund pending', ['failed'], NEVER_OLDER),
  ...noneOf('refund given_up', ['none', 'succeeded', 'failed', 'given_up'], GIVEN_UP_WHILE_PENDING),
  ...noneOf('dispute open', ['won', 'lost'], NEVER_OLDER),
};

function noneOf(row: string, columns: readonly string[], why: string): Readonly<Record<string, string>> {
  return Object.fromEntries(columns.map((column) => [`${row} × ${column}`, why]));
}

function isNotOpen(status: PaymentStatus): boolean {
  return status !== 'processing' && status !== 'requires_action' && status !== 'requires_capture';
}

/** Faults that no history can reach, each with the reason. */
const UNREACHABLE_FAULTS: Readonly<Record<string, string>> = {
  F40: 'the variable is read when a function starts; a unit test covers the fault',
};

const lookedUp = new Set<string>();
let isCounting = false;

/**
 * @returns the set of the recorded cells. Every call returns the same set. This function and {@link reachedBy} empty it
 */
export function countCells(): Set<string> {
  lookedUp.clear();
  if (isCounting) return lookedUp;
  isCounting = true;
  for (const [table, rows] of Object.entries(TABLES)) {
    for (const [row, cells] of Object.entries(rows)) {
      for (const [column, cell] of Object.entries(cells)) {
        const get = (): unknown => {
          lookedUp.add(`${table} ${row} × ${column}`);
          return cell;
        };
        Object.defineProperty(cells, column, { get, enumerable: true });
      }
    }
  }
  return lookedUp;
}

const ALL_CELLS = Object.entries(TABLES).flatMap(([table, rows]) =>
  Object.entries(rows).flatMap(([row, cells]) => Object.keys(cells).map((column) => `${table} ${row} × ${column}`)),
);

/**
 * Number of histories that reached each cell, fault, act and act-fault pair. For each act, also the number of drawn
 * steps, of steps that took effect, and of steps with each result. Plain JSON.
 */
export interface Reached {
  histories: number;
  readonly counts: Record<string, number>;
}

export function nothingReached(): Reached {
  return { histories: 0, counts: {} };
}

export function addReached(into: Reached, { histories, counts }: Reached): void {
  into.histories += histories;
  for (const [name, count] of Object.entries(counts)) into.counts[name] = (into.counts[name] ?? 0) + count;
}

/** @param cells set that {@link countCells} returned. This function empties it */
export function reachedBy(
  world: Observed,
  { steps }: History,
  { cells, ends }: { readonly cells: Set<string>; readonly ends: readonly StepEnd[] },
): Reached {
  const names = new Set<string>([...cells].map((cell) => `cell ${cell}`));
  cells.clear();
  const kinds = new Set(world.faults.map(({ kind }) => kind));
  for (const fault of faultsIn(world, steps)) names.add(`fault ${fault}`);
  const counts: Record<string, number> = {};
  for (const { step, end } of ends) {
    const { act } = step;
    for (const name of [`drawn ${act}`, `end ${act}: ${end}`]) counts[name] = (counts[name] ?? 0) + 1;
    if (!isEffect(end)) continue;
    counts[`effect ${act}`] = (counts[`effect ${act}`] ?? 0) + 1;
    names.add(`act ${act}`);
    for (const kind of kinds) names.add(`pair ${act} × ${kind}`);
  }
  for (const name of names) counts[name] = 1;
  return { histories: 1, counts };
}

/** Either the reason given in {@link UNREACHABLE_CELLS} or the production code is wrong. */
export function reachedUnreachableCells({ counts }: Reached): readonly Violation[] {
  return Object.entries(UNREACHABLE_CELLS).flatMap(([cell, why]) => {
    if (counts[`cell ${cell}`] === undefined) return [];
    return [{ oracle: 'cells that cannot be reached are not reached', what: `${cell} was reached although ${why}` }];
  });
}

// -------------------------------------------------------------------------------------------------------------- faults

interface Evidence {
  readonly world: Observed;
  readonly acts: ReadonlySet<string>;
  readonly hasSkew: boolean;
  readonly sources: ReadonlySet<string>;
  readonly transitions: readonly Transition[];
  readonly orderTypes: ReadonlySet<string>;
  readonly codes: ReadonlySet<string>;
  readonly metrics: ReadonlySet<string>;
  /** Kind of each injected fault, with the operation that was called. */
  readonly gates: readonly string[];
}

/** By fault number. */
const SIGNS: Readonly<Record<string, (evidence: Evidence) => boolean>> = {
  F01: ({ gates }) => gates.some((gate) => gate.startsWith('crash_before')),
  F02: ({ gates }) => gates.some((gate) => gate.startsWith('crash_after')),
  F03: ({ gates }) => gates.some((gate) => /^ambiguous_applied .*TransactWrite/.test(gate)),
  F04: ({ gates, sources }) =>
    gates.some((gate) => gate.startsWith('ambiguous_applied http')) || hasSource(sources, 'timeout_charged'),
  F05: ({ gates, sources }) =>
    gates.some((gate) => gate.startsWith('ambiguous_lost http')) || hasSource(sources, 'timeout_not_charged'),
  F06: ({ sources }) => /declined|rate|malformed|error|unauthorized|flaky/.test([...sources].join(' ')),
  F07: ({ gates }) => gates.some((gate) => /^(?:throttle|conflict)/.test(gate)),
  F08: ({ world }) => overlapping(world),
  F09: ({ codes }) => codes.has('idempotency_key_payload_mismatch'),
  F10: ({ world }) => new Set(world.calls.map(({ key }) => key)).size < keyed(world).size,
  F11: ({ metrics }) => metrics.has('takeover'),
  F12: ({ metrics }) => metrics.has('fenced'),
  F13: ({ hasSkew }) => hasSkew,
  F14: ({ codes }) => codes.has('idempotency_key_expired'),
  F15: ({ codes }) => codes.has('idempotency_key_expired'),
  F16: ({ gates }) => gates.some((gate) => gate.startsWith('crash')),
  F17: ({ metrics }) => metrics.has('callback_redelivered'),
  F18: ({ metrics }) => metrics.has('callback_recorded'),
  F19: ({ acts }) => acts.has('habits'),
  F20: ({ transitions }) => transitions.some(({ sequence, cause }) => sequence === 2 && cause.by === 'callback'),
  F21: ({ transitions }) => transitions.some(({ subject }) => subject?.kind === 'stray_charge'),
  F22: ({ metrics }) => metrics.has('callback_orphaned'),
  F23: ({ gates }) => gates.some((gate) => /^(?:crash_after|ambiguous_applied) .*(?:event|bus)/i.test(gate)),
  F24: ({ metrics }) => metrics.has('event_publish_failed'),
  F25: ({ acts, metrics }) => acts.has('poison') && metrics.has('event_parked'),
  F26: ({ world }) => world.mishaps.trimmed > 0,
  F27: ({ metrics }) => metrics.has('event_consumed_before'),
  F28: ({ acts }) => acts.has('republish') || acts.has('redrive'),
  F29: ({ acts }) => acts.has('run_job'),
  F30: ({ orderTypes }) => orderTypes.has('reversal.pending'),
  F31: ({ codes }) => codes.has('amount_exceeds_left') || codes.has('change_in_progress'),
  F32: ({ acts }) => acts.has('processor_outage'),
  F33: ({ metrics }) => metrics.has('outbound_probe') || metrics.has('outbound_breaker_opened'),
  F34: ({ acts, gates }) => acts.has('service_outage') && gates.length > 0,
  F35: ({ acts }) => acts.has('deploy'),
  F36: ({ world }) => world.mishaps.refusedCredentials > 0,
  F37: ({ transitions }) => transitions.some(({ type, postings }) => type === 'refund.failed' && postings.length > 0),
  F38: ({ acts }) => acts.has('rebuild'),
  F39: ({ world }) => world.mishaps.changesByHand.length > 0,
};

function hasSource(sources: ReadonlySet<string>, part: string): boolean {
  return [...sources].some((source) => source.includes(part));
}

function faultsIn(world: Observed, steps: History['steps']): readonly string[] {
  const { database, tables } = world;
  const orders = database.items(tables.ledger, LedgerRow.order).map(parseOrderTransition);
  const evidence: Evidence = {
    world,
    acts: new Set(steps.map(({ act }) => act)),
    hasSkew: steps.some(({ act, clockSkewMs }) => act === 'faults' && clockSkewMs !== 0),
    sources: new Set(steps.flatMap(({ source }) => (typeof source === 'string' ? [source] : []))),
    transitions: database.items(tables.ledger, LedgerRow.payment).map(parseTransition),
    orderTypes: new Set(orders.map(({ type }) => type)),
    codes: new Set(world.calls.flatMap(({ answer }) => /"code":"([a-z_]+)"/.exec(answer?.body ?? '')?.[1] ?? [])),
    metrics: new Set(world.alarms.map(({ metric }) => metric)),
    gates: world.faults.map(({ kind, label }) => `${kind} ${label}`),
  };
  return Object.entries(SIGNS).flatMap(([fault, isIn]) => (isIn(evidence) ? [fault] : []));
}

function keyed({ calls }: Observed): ReadonlySet<string> {
  return new Set(calls.map(({ tenant, method, path, key }) => JSON.stringify([tenant, method, path, key])));
}

function overlapping({ calls }: Observed): boolean {
  const untilMs = new Map<string, number>();
  return calls.some(({ tenant, method, path, key, sentAtMs, answer }) => {
    if (key === undefined) return false;
    const name = JSON.stringify([tenant, method, path, key]);
    const isDuring = sentAtMs < (untilMs.get(name) ?? 0);
    untilMs.set(name, Math.max(untilMs.get(name) ?? 0, answer?.atMs ?? sentAtMs));
    return isDuring;
  });
}

// ---------------------------------------------------------------------------------------------------------------- report

type Kind = 'cell' | 'fault' | 'act' | 'pair';

/** Includes unreachable items. */
function allOf(kind: Kind): readonly string[] {
  const acts = ACTS.map(({ name }) => name);
  switch (kind) {
    case 'cell':
      return ALL_CELLS;
    case 'fault':
      return [...new Set([...Object.keys(SIGNS), ...Object.keys(UNREACHABLE_FAULTS)])].toSorted();
    case 'act':
      return acts;
    case 'pair':
      return acts.flatMap((act) => FAULT_KINDS.map((fault) => `${act} × ${fault}`));
  }
}

const REASONS: Readonly<Partial<Record<Kind, Readonly<Record<string, string>>>>> = {
  cell: UNREACHABLE_CELLS,
  fault: UNREACHABLE_FAULTS,
};

export function sorted(kind: Kind, { counts }: Reached) {
  const all = allOf(kind);
  const reasons = REASONS[kind] ?? {};
  const left = all.filter((name) => counts[`${kind} ${name}`] === undefined);
  return {
    all,
    reached: all
      .filter((name) => !left.includes(name))
      .map((name) => ({ name, count: counts[`${kind} ${name}`] ?? 0 })),
    never: left.filter((name) => reasons[name] === undefined),
    unreachable: left.flatMap((name) => (reasons[name] === undefined ? [] : [{ name, why: reasons[name] }])),
  };
}

export function reportReached(reached: Reached): readonly string[] {
  const kinds: readonly Kind[] = ['cell', 'fault', 'act', 'pair'];
  return [
    `${reached.histories} histories`,
    ...kinds.flatMap((kind) => {
      const { all, reached: found, never, unreachable } = sorted(kind, reached);
      return [
        `${kind}s reached: ${found.length} of ${all.length}`,
        ...(kind === 'pair' ? [] : found.map(({ name, count }) => `  in ${count}: ${name}`)),
        ...never.map((name) => `  never reached, although it can be reached: ${name}`),
        ...unreachable.map(({ name, why }) => `  not reachable: ${name}: ${why}`),
      ];
    }),
    ...ACTS.map(({ name }) => `act ${name}: ${effectOf(name, reached)}`),
  ];
}

function effectOf(act: string, { counts }: Reached): string {
  const drawn = counts[`drawn ${act}`] ?? 0;
  const effect = counts[`effect ${act}`] ?? 0;
  const others = Object.entries(counts)
    .flatMap(([name, count]) => (name.startsWith(`end ${act}: `) ? [[name.slice(act.length + 6), count] as const] : []))
    .filter(([end]) => !isEffect(end))
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, 3)
    .map(([end, count]) => `${end} ${count}`);
  const share = drawn === 0 ? 'never drawn' : `${Math.round((100 * effect) / drawn)} % of ${drawn} steps took effect`;
  return `${share}${others.length === 0 ? '' : ` (else: ${others.join(', ')})`}`;
}
