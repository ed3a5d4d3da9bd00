import { eventOf, type PayonceEvent, type PublicEventType, parseEventId } from '../../events/domain/event.ts';
import type { Digest } from '../../kernel/digest.ts';
import { parsePaymentId } from '../../kernel/ids.ts';
import { detailsOf } from '../../payments/domain/transition.ts';
import type { TransitionReader } from '../../payments/use/transition-reader.ts';
import type { Owner } from '../../tenants/owners.ts';
import { eventPartitions, eventPlace, isPublicType, placeOf, timeOf, type ViewOwner } from '../domain/views.ts';
import { type ListPage, listPage } from './list-page.ts';
import { type ListOutcome, listFrom } from './list-payments.ts';
import { mergedRows } from './merged-rows.ts';
import type { ViewStore } from './view-store.ts';

export interface ReadEventTools {
  readonly transitions: TransitionReader;
  readonly digest: Digest;
}

/**
 * The caller's event with this id, derived again from its transition. The read is strongly consistent, and the result never
 * changes.
 *
 * @returns undefined when the event does not exist, is not public, or belongs to another tenant or mode
 */
export async function readOwnEvent(
  { transitions, digest }: ReadEventTools,
  { tenantId, mode }: Owner,
  id: string,
): Promise<PayonceEvent | undefined> {
  const place = parseEventId(id);
  const paymentId = place === undefined ? undefined : parsePaymentId(place.paymentId);
  if (place === undefined || paymentId === undefined || place.sequence < 1) return undefined;
  const [first, transition] = await Promise.all([
    transitions.readTransition({ paymentId, sequence: 1 }),
    transitions.readTransition({ paymentId, sequence: place.sequence }),
  ]);
  if (first === undefined || transition === undefined || !isPublicType(transition.type)) return undefined;
  if (first.payment.tenantId !== tenantId || first.payment.mode !== mode) return undefined;
  const event = eventOf(digest, transition, detailsOf(first));
  return event.event.id === id ? event : undefined;
}

/** The cursors are event ids from the request, not validated. */
export interface ListEvents extends ListPage {
  readonly type?: PublicEventType;
}

/** A page of the caller's events, newest first. @throws RetryableError when it cannot be read now */
export async function listEvents(
  tools: ReadEventTools & { readonly views: Pick<ViewStore, 'range'> },
  caller: Owner,
  { type, after, before, ...page }: ListEvents,
): Promise<ListOutcome> {
  const placed = async (id: string): Promise<string | undefined> => {
    const event = await readOwnEvent(tools, caller, id);
    return event === undefined ? undefined : eventPlace(event);
  };
  const partitions = eventPartitions(caller, type ?? 'all');
  return listFrom({ after, before, placed }, (cursors) => listPage(tools.views, partitions, { ...page, ...cursors }));
}

/** A page of one account owner's events in a range of time. */
export interface EventRange extends ViewOwner {
  /** Unix milliseconds, inclusive. */
  readonly fromMs: number;
  /** Unix milliseconds, exclusive. */
  readonly untilMs: number;
  /** From the previous page. */
  readonly cursor?: string;
  readonly limit: number;
}

/** An event of the list with its rendered body. */
interface ListedEvent {
  readonly eventId: string;
  readonly type: string;
  /** Unix milliseconds. */
  readonly occurredAtMs: number;
  readonly body: string;
}

export interface EventRangePage {
  readonly events: readonly ListedEvent[];
  /** Absent on the last page. */
  readonly cursor?: string;
}

/** A cursor of the previous version: a minute of the Ledger and the number of its outcomes that were read. */
const MINUTE_CURSOR = /^(?<minuteMs>\d{1,15}):\d{1,9}$/;

/** Start of the next page. A cursor from before a deployment names a minute, which is read again as a whole. */
function placeAfter(cursor: string, fromMs: number): string {
  const minuteMs = MINUTE_CURSOR.exec(cursor)?.groups?.['minuteMs'];
  // A trailing space gives the next possible sort key.
  return minuteMs === undefined ? `${cursor} ` : placeOf(Math.max(fromMs, Number(minuteMs)));
}

/**
 * The owner's events of a range, oldest first. It reads about twice the rows of the page, independent of other tenants.
 *
 * @throws RetryableError when they cannot be read now
 */
export async function eventsOfRange(
  views: Pick<ViewStore, 'range'>,
  { fromMs, untilMs, cursor, limit, ...owner }: EventRange,
): Promise<EventRangePage> {
  const rows = await mergedRows(views, {
    partitions: eventPartitions(owner, 'all'),
    from: cursor === undefined ? placeOf(fromMs) : placeAfter(cursor, fromMs),
    until: placeOf(untilMs),
    limit: limit + 1,
    consistent: true,
  });
  const page = rows.slice(0, limit);
  const events = page.map(({ sort, body }) => {
    const { id, type } = JSON.parse(body) as { readonly id: string; readonly type: string };
    return { eventId: id, type, occurredAtMs: timeOf(sort), body };
  });
  const last = page.at(-1);
  return rows.length > limit && last !== undefined ? { events, cursor: last.sort } : { events };
}
