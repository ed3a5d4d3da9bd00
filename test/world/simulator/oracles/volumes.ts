/**
 * Oracle: once the system is quiet, the daily volumes equal a fold of the Ledger, per tenant, mode, day, currency and
 * event type.
 */
import { PUBLIC_EVENT_TYPES } from '../../../../lambdas/events/domain/event.ts';
import { ViewsRow } from '../../../../lambdas/kernel/contract/rows.ts';
import type { Transition } from '../../../../lambdas/payments/domain/transition.ts';
import { parseViewRow } from '../../../../lambdas/views/store/dynamodb-views.ts';
import type { Violation } from '../contract.ts';
import type { Seen } from './seen.ts';

interface VolumeEntry {
  readonly type: string;
  readonly currency: string;
  readonly amountMinor: number;
}

class Volumes {
  readonly found = new Map<string, { count: number; amountMinor: number }>();

  add(owner: string, atMs: number, { type, currency, amountMinor }: VolumeEntry, count = 1): void {
    const name = `${owner} ${dayOf(atMs)} ${currency} ${type}`;
    const before = this.found.get(name) ?? { count: 0, amountMinor: 0 };
    this.found.set(name, { count: before.count + count, amountMinor: before.amountMinor + amountMinor });
  }
}

export function checkVolumes({ world, payments, orders }: Seen): readonly Violation[] {
  const due = new Volumes();
  for (const { row } of [...payments.values()].flat()) {
    const { payment, type, occurredAtMs } = row;
    if (isPublic(type)) due.add(ownerOf(payment), occurredAtMs, volumeOf(row));
  }
  for (const { row } of [...orders.values()].flat()) {
    const { order, type, occurredAtMs } = row;
    if (isPublic(type)) due.add(ownerOf(order), occurredAtMs, { ...order, type });
  }

  const rows = world.database.items(world.tables.views).map(parseViewRow);
  const of = (prefix: string) => rows.filter(({ partition }) => partition.startsWith(prefix));
  const listed = new Volumes();
  for (const { partition, sort, body } of of(ViewsRow.event)) {
    listed.add(ownerIn(partition), timeIn(sort), JSON.parse(body) as VolumeEntry);
  }
  const closed = new Volumes();
  const days = new Set<string>();
  for (const { partition, sort, body } of of(ViewsRow.total)) {
    const { kind, volumes } = JSON.parse(body) as { kind: string; volumes?: readonly (VolumeEntry & Totals)[] };
    if (kind !== 'total') continue;
    const owner = ownerIn(partition);
    days.add(`${owner} ${dayOf(timeIn(sort))}`);
    for (const { count, amount, ...entry } of volumes ?? []) {
      closed.add(owner, timeIn(sort), { ...entry, amountMinor: Number(amount) }, count);
    }
  }
  const ofClosed = [...listed.found].filter(([name]) => days.has(name.split(' ').slice(0, 2).join(' ')));
  return [
    ...differences('the events', due.found, listed.found),
    ...differences('the total of a day', new Map(ofClosed), closed.found),
  ];
}

interface Totals {
  readonly count: number;
  readonly amount: string;
}

type Found = ReadonlyMap<string, { readonly count: number; readonly amountMinor: number }>;

function differences(what: string, due: Found, found: Found): readonly Violation[] {
  return [...new Set([...due.keys(), ...found.keys()])].flatMap((name) => {
    const must = JSON.stringify(due.get(name));
    const is = JSON.stringify(found.get(name));
    if (must === is) return [];
    const said = `${what}: ${is}, but the Ledger has ${must}`;
    return [{ oracle: 'volumes are a fold of the Ledger', what: said, about: name }];
  });
}

/** Computed from the transition itself, not from its event. */
function volumeOf({ type, payment, subject }: Transition): VolumeEntry {
  if (subject?.kind === 'refund' || subject?.kind === 'dispute') {
    return { type, amountMinor: subject.amountMinor, currency: subject.currency ?? payment.currency };
  }
  const amountMinor = type === 'payment.completed' ? payment.amountCapturedMinor : payment.amountMinor;
  return { type, amountMinor, currency: payment.currency };
}

function isPublic(type: string): boolean {
  return PUBLIC_EVENT_TYPES.some((each) => each === type);
}

function ownerOf({ tenantId, mode }: { readonly tenantId: string; readonly mode: string }): string {
  return `${tenantId}#${mode}`;
}

function ownerIn(partition: string): string {
  return partition.split('#').slice(1, 3).join('#');
}

/** In Unix milliseconds: the first fifteen digits of the sort key. */
function timeIn(sort: string): number {
  return Number(sort.slice(0, 15));
}

function dayOf(ms: number): number {
  return Math.floor(ms / 86_400_000);
}
