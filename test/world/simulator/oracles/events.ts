/** Oracle: once the system is quiet, events, lists, balances, volumes and webhooks equal a fold of the Ledger. */
import { PUBLIC_EVENT_TYPES } from '../../../../lambdas/events/domain/event.ts';
import { RegistryRow, ViewsRow } from '../../../../lambdas/kernel/contract/rows.ts';
import { isOrderOutcome } from '../../../../lambdas/orders/domain/order.ts';
import { isOutcome } from '../../../../lambdas/payments/domain/payment.ts';
import type { Posting } from '../../../../lambdas/payments/domain/posting.ts';
import { parseViewRow } from '../../../../lambdas/views/store/dynamodb-views.ts';
import { ENDPOINT_STATES, ENDPOINT_TEST } from '../../../../lambdas/webhooks/domain/webhook-endpoint.ts';
import { parseBook, parseDelivery, parseNotice } from '../../../../lambdas/webhooks/store/webhook-items.ts';
import type { Observed, Violation } from '../contract.ts';
import type { Seen } from './seen.ts';
import { checkVolumes } from './volumes.ts';

/**
 * Maximum time between an event's publication and the creation of its deliveries, including queue retries, in
 * milliseconds.
 */
const FAN_OUT_MS = 10 * 60_000;

/** Age at which delivery rows may have expired, in milliseconds. */
const DELIVERIES_KEPT_MS = 90 * 86_400_000;

/** Outcome in the Ledger, for which one event must be published. */
interface Outcome {
  readonly chainId: string;
  readonly sequence: number;
  readonly type: string;
  readonly owner: string;
  readonly isPublic: boolean;
  /** In Unix milliseconds of simulated time. */
  readonly atMs: number;
  readonly postings: readonly Posting[];
  /** Whether the event became too old to be published, because the parked records were redriven too late. */
  readonly isForgotten: boolean;
}

export function checkEvents(seen: Seen): readonly Violation[] {
  const outcomes = outcomesOf(seen);
  return [
    ...published(seen.world, outcomes),
    ...endpointEvents(seen.world),
    ...lists(seen, outcomes),
    ...checkVolumes(seen),
    ...webhooks(seen, outcomes),
  ];
}

function outcomesOf({ world, payments, orders }: Seen): readonly Outcome[] {
  const found: Outcome[] = [];
  const isForgotten = (timeMs: number): boolean =>
    world.mishaps.forgotten.some(({ sinceMs, untilMs }) => sinceMs <= timeMs && timeMs < untilMs);
  for (const [chainId, chain] of payments) {
    for (const { row, atMs } of chain) {
      const { type, sequence, postings, payment, occurredAtMs } = row;
      if (!isOutcome(type)) continue;
      const owner = `${payment.tenantId}#${payment.mode}`;
      const flags = { isPublic: isPublic(type), isForgotten: isForgotten(occurredAtMs) };
      found.push({ chainId, sequence, type, owner, atMs, postings, ...flags });
    }
  }
  for (const [chainId, chain] of orders) {
    for (const { row, atMs } of chain) {
      const { type, sequence, order, occurredAtMs } = row;
      if (!isOrderOutcome(type)) continue;
      const owner = `${order.tenantId}#${order.mode}`;
      const flags = { isPublic: isPublic(type), isForgotten: isForgotten(occurredAtMs) };
      found.push({ chainId, sequence, type, owner, atMs, postings: [], ...flags });
    }
  }
  return found;
}

function isPublic(type: string): boolean {
  return PUBLIC_EVENT_TYPES.some((each) => each === type);
}

/** Fields of a published event that identify the event and the transition that it is about (I4). */
interface Named {
  readonly event: { readonly id: string; readonly sequence: number; readonly type: string };
  readonly payment?: { readonly id: string };
  readonly order?: { readonly id: string };
}

function namedIn(detail: unknown): Named {
  return (typeof detail === 'string' ? JSON.parse(detail) : detail) as Named;
}

function placeOf({ event, payment, order }: Named): string {
  return `${(payment ?? order)?.id} ${event.sequence}`;
}

function published(world: Observed, outcomes: readonly Outcome[]): readonly Violation[] {
  const ids = new Map<string, string>();
  for (const { detail } of world.published) {
    const named = namedIn(detail);
    if (!isOfEndpoint(named)) ids.set(placeOf(named), named.event.type);
  }
  const found: Violation[] = [];
  for (const { chainId, sequence, type, isForgotten } of outcomes) {
    const publishedType = ids.get(`${chainId} ${sequence}`);
    ids.delete(`${chainId} ${sequence}`);
    if (publishedType === type || (publishedType === undefined && isForgotten)) continue;
    const what =
      publishedType === undefined ? `${type} was never published` : `${type} was published as ${publishedType}`;
    found.push({ oracle: 'I4 events', what, about: chainId });
  }
  for (const [name, type] of ids)
    found.push({ oracle: 'I4 events', what: `${type} is not in the Ledger`, about: name });
  return found;
}

function isOfEndpoint({ event: { type } }: Named): boolean {
  return Object.values<string>(ENDPOINT_STATES).includes(type);
}

function endpointEvents({ database, tables, published: all }: Observed): readonly Violation[] {
  const made = database.items(tables.registry, RegistryRow.webhookNotice).map((row) => parseNotice(row).eventId);
  const named = all.map(({ detail }) => namedIn(detail)).filter(isOfEndpoint);
  const ids = new Set(named.map(({ event }) => event.id));
  const wrong = (what: string) => (about: string) => ({ oracle: 'I4 events', what, about });
  return made.filter((id) => !ids.has(id)).map(wrong('the event of an endpoint was never published'));
}

// --------------------------------------------------------------------------------------------------------------- lists

interface Newest {
  readonly status: string;
  readonly sequence: number;
}

/** Undefined for a payment or order without an outcome. */
function newestOutcomes({ payments, orders }: Seen): ReadonlyMap<string, Newest | undefined> {
  const found = new Map<string, Newest | undefined>();
  for (const [id, chain] of payments) {
    const row = chain.findLast((each) => isOutcome(each.row.type))?.row;
    found.set(id, row === undefined ? undefined : { status: row.payment.status, sequence: row.sequence });
  }
  for (const [id, chain] of orders) {
    const row = chain.findLast((each) => isOrderOutcome(each.row.type))?.row;
    found.set(id, row === undefined ? undefined : { status: row.order.status, sequence: row.sequence });
  }
  return found;
}

function lists(seen: Seen, outcomes: readonly Outcome[]): readonly Violation[] {
  const { world } = seen;
  const rows = world.database.items(world.tables.views).map(parseViewRow);
  const found: Violation[] = [];
  const wrong = (what: string, about: string): void =>
    void found.push({ oracle: 'lists are a fold of the Ledger', what, about });
  const of = (prefix: string) => rows.filter(({ partition }) => partition.startsWith(prefix));
  const heads = Map.groupBy([...of(ViewsRow.payment), ...of(ViewsRow.order)], ({ chainId }) => chainId as string);
  for (const [id, newest] of newestOutcomes(seen)) {
    const own = heads.get(id) ?? [];
    heads.delete(id);
    if (own.length > 1) wrong('is listed more than once', id);
    if (newest === undefined) continue;
    const [head] = own;
    const { status, sequence } = newest;
    if (head === undefined) wrong('is in no list', id);
    else if (!head.body.includes(`"${status}"`) || head.list?.includes(`#${status}#`) !== true)
      wrong(`is ${status}, but listed as ${head.list} ${head.body}`, id);
    else if (head.sequence !== sequence)
      wrong(`has the sequence ${sequence}, but is listed with the sequence ${head.sequence}`, id);
  }
  for (const id of heads.keys()) wrong('is listed, but not in the Ledger', id);
  const listed = new Map(of(ViewsRow.event).map((row) => [`${row.chainId} ${row.sequence}`, row.body]));
  for (const { chainId, sequence, type, isPublic: isListed } of outcomes) {
    const body = listed.get(`${chainId} ${sequence}`);
    if (isListed && body?.includes(`"${type}"`) !== true) wrong(`the event ${type} is not listed`, chainId);
  }
  return [...found, ...balances(rows, outcomes)];
}

type Row = ReturnType<typeof parseViewRow>;

function balances(rows: readonly Row[], outcomes: readonly Outcome[]): readonly Violation[] {
  const due = new Map<string, number>();
  for (const { owner, postings } of outcomes) post(due, owner, postings);
  const entered = new Map<string, number>();
  const perDay = new Map<string, number>();
  const book = rows.filter(({ partition }) => new RegExp(`^${ViewsRow.book}.*#all#\\d+$`).test(partition));
  for (const { partition, sort, body } of book) {
    const [tenant, mode] = partition.slice(ViewsRow.book.length).split('#');
    const { legs } = JSON.parse(body) as { legs: readonly Posting[] };
    post(entered, `${tenant}#${mode}`, legs);
    post(perDay, `${tenant}#${mode} ${dayOf(sort)}`, legs);
  }
  const found = differences('the entries', due, entered);
  const totals = new Map<string, number>();
  const closed = new Set<string>();
  for (const { partition, sort, body } of rows.filter((row) => row.partition.startsWith(ViewsRow.total))) {
    const total = JSON.parse(body) as {
      kind: string;
      sums?: readonly { account: string; currency: string; debit: string; credit: string }[];
    };
    if (total.kind !== 'total') continue;
    const day = `${partition.slice(ViewsRow.total.length)} ${dayOf(sort)}`;
    closed.add(day);
    for (const { account, currency, debit, credit } of total.sums ?? []) {
      totals.set(`${day} ${account} ${currency}`, Number(debit) - Number(credit));
    }
  }
  const ofClosed = [...perDay].filter(([name]) => closed.has(name.split(' ').slice(0, 2).join(' ')));
  return [...found, ...differences('the total of a day', new Map(ofClosed), totals)];
}

function post(sums: Map<string, number>, owner: string, postings: readonly Posting[]): void {
  for (const { account, currency, direction, amountMinor } of postings) {
    const name = `${owner} ${account} ${currency}`;
    sums.set(name, (sums.get(name) ?? 0) + (direction === 'debit' ? amountMinor : -amountMinor));
  }
}

function differences(
  what: string,
  due: ReadonlyMap<string, number>,
  found: ReadonlyMap<string, number>,
): readonly Violation[] {
  return [...new Set([...due.keys(), ...found.keys()])].flatMap((name) => {
    const [must = 0, is = 0] = [due.get(name), found.get(name)];
    if (must === is) return [];
    return [
      {
        oracle: 'balances are a fold of the Ledger',
        what: `${what}: ${is}, but the Ledger has ${must}`,
        about: name,
      },
    ];
  });
}

/** The sort key begins with the time as fifteen digits of milliseconds. */
function dayOf(sort: string): number {
  return Math.floor(Number(sort.slice(0, 15)) / 86_400_000);
}

// ------------------------------------------------------------------------------------------------------------ webhooks

/** Checks that each endpoint received every event since its creation, except for times when it was disabled. */
function webhooks(seen: Seen, outcomes: readonly Outcome[]): readonly Violation[] {
  const { world } = seen;
  const { database, tables } = world;
  const publishedAtMs = firstPublished(world);
  const found: Violation[] = [];
  const wrong = (what: string, about: string): void =>
    void found.push({ oracle: 'webhooks deliver every event', what, about });
  const accepted = new Set(
    world.webhooks.flatMap((each) => (each.accepted ? [`${each.endpointId} ${each.eventId}`] : [])),
  );
  const deliveries = database.items(tables.registry, RegistryRow.webhookDelivery).map(parseDelivery);
  const made = new Set(deliveries.map(({ endpointId, eventId }) => `${endpointId} ${placeIn(eventId)}`));
  const posted = new Set(world.webhooks.map(({ endpointId, eventId }) => `${endpointId} ${placeIn(eventId)}`));
  for (const { endpointId, eventId, type, status, tries, attempts } of deliveries) {
    if (status === 'pending') wrong(`the delivery of ${eventId} is pending`, endpointId);
    if (status === 'delivered' && !accepted.has(`${endpointId} ${eventId}`))
      wrong(`${eventId} was not accepted`, endpointId);
    // A 410 Gone response ends the delivery and disables the endpoint. The merchant may have enabled the endpoint and
    // requested a resend afterwards.
    const isGone = attempts.some((attempt) => attempt.status === 410);
    const isScheduled = type !== ENDPOINT_TEST && !isGone;
    if (status === 'failed' && tries < 10 && isScheduled && isEnabled(world, endpointId))
      wrong(`${eventId} was given up after ${tries} attempts`, endpointId);
  }
  for (const { endpoints, tenantId, mode } of database
    .items(tables.registry, RegistryRow.webhookEndpoints)
    .map(parseBook)) {
    for (const { id, events, disabled, createdAtMs } of endpoints) {
      if (disabled !== undefined) continue;
      for (const { owner, chainId, sequence, type, atMs, isPublic: isWebhookEvent, isForgotten } of outcomes) {
        const isWanted = isWebhookEvent && !isForgotten && events.some((each) => each === '*' || each === type);
        const isLater = atMs > createdAtMs + FAN_OUT_MS;
        if (owner !== `${tenantId}#${mode}` || !isWanted || !isLater) continue;
        // No deliveries are created for events while the endpoint is disabled. The merchant can request a replay of
        // these events.
        const deliveredByMs = (publishedAtMs.get(`${chainId} ${sequence}`) ?? atMs) + FAN_OUT_MS;
        const spans = seen.disabled.get(id) ?? [];
        if (spans.some(({ fromMs, untilMs = deliveredByMs }) => fromMs <= deliveredByMs && untilMs >= atMs)) continue;
        const delivered = atMs < world.nowMs - DELIVERIES_KEPT_MS ? posted : made;
        if (!delivered.has(`${id} ${chainId} ${sequence}`)) wrong(`never received ${type} of ${chainId}`, id);
      }
    }
  }
  return found;
}

/** In Unix milliseconds, by chain and sequence. */
function firstPublished(world: Observed): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const { detail, atMs } of world.published) {
    const place = placeOf(namedIn(detail));
    if (!found.has(place)) found.set(place, atMs);
  }
  return found;
}

function isEnabled({ database, tables }: Observed, endpointId: string): boolean {
  const books = database.items(tables.registry, RegistryRow.webhookEndpoints).map(parseBook);
  return books.some(({ endpoints }) =>
    endpoints.some(({ id, disabled }) => id === endpointId && disabled === undefined),
  );
}

function placeIn(eventId: string): string {
  const [, order = '', letters = '', digits = ''] = /^evt_((?:ord_)?)([a-z2-7]{32})(\d{6})/.exec(eventId) ?? [];
  return `${order === '' ? 'pay_' : order}${letters} ${Number(digits)}`;
}
