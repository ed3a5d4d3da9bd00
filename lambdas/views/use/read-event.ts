import { type PayonceEvent, type PublicEventType, parseEventId } from '../../events/domain/event.ts';
import { type LedgerEventTools, readLedgerEvent } from '../../events/use/ledger-events.ts';
import { timeSortKey } from '../../kernel/places.ts';
import type { Owner } from '../../tenants/owners.ts';
import { eventList, eventSortKey, idOf, timeOf, type ViewOwner } from '../domain/lists.ts';
import { type EventBody, isPublicType } from '../domain/views.ts';
import { type ListOutcome, type ListPage, listFrom, shownPage } from './list-page.ts';
import { mergedRows } from './merged-rows.ts';
import type { ViewStore } from './view-store.ts';

export type ReadEventTools = LedgerEventTools;

/**
 * The read is strongly consistent, and the event never changes.
 *
 * @returns undefined when the event does not exist or is not public
 */
export async function readEvent(tools: ReadEventTools, id: string): Promise<PayonceEvent | undefined> {
  const place = parseEventId(id);
  const event = place === undefined ? undefined : await readLedgerEvent(tools, place);
  return event?.event.id === id && isPublicType(event.event.type) ? event : undefined;
}

export async function readOwnEvent(
  tools: ReadEventTools,
  { tenantId, mode }: ViewOwner,
  id: string,
): Promise<PayonceEvent | undefined> {
  const event = await readEvent(tools, id);
  return event?.tenant === tenantId && event.mode === mode ? event : undefined;
}

/** The cursors are event ids from the request, not yet validated. */
export interface ListEvents extends ListPage {
  readonly type?: PublicEventType;
}

/**
 * The `body` of a row is the API object.
 *
 * @throws RetryableError when the page cannot be read now
 */
export async function listEvents(
  tools: ReadEventTools & { readonly views: Pick<ViewStore, 'range'> },
  caller: Owner,
  { type, after, before, ...page }: ListEvents,
): Promise<ListOutcome> {
  const findSortKey = async (id: string): Promise<string | undefined> => {
    const found = await readOwnEvent(tools, caller, id);
    return found === undefined ? undefined : eventSortKey({ occurredAtMs: found.occurredAtMs, id });
  };
  return listFrom({ after, before, findSortKey }, (cursors) =>
    shownPage(
      tools.views,
      eventList(caller, type),
      { ...page, ...cursors },
      {
        findSortKey,
        show: async (row) => {
          const found = await readOwnEvent(tools, caller, idOf(row.sort));
          return found === undefined ? undefined : { ...row, body: JSON.stringify(found.event) };
        },
      },
    ),
  );
}

export interface EventRange extends ViewOwner {
  /** Inclusive. */
  readonly fromMs: number;
  /** Exclusive. */
  readonly untilMs: number;
  readonly cursor?: string;
  readonly limit: number;
}

interface ListedEvent {
  readonly eventId: string;
  readonly type: string;
  readonly occurredAtMs: number;
}

export interface EventRangePage {
  readonly events: readonly ListedEvent[];
  /** Absent on the last page. */
  readonly cursor?: string;
}

/**
 * Oldest first. Reads at most a few times as many rows as the page has, regardless of other tenants' events.
 *
 * @throws RetryableError when the events cannot be read now
 */
export async function eventsOfRange(
  views: Pick<ViewStore, 'range'>,
  { fromMs, untilMs, cursor, limit, ...owner }: EventRange,
): Promise<EventRangePage> {
  const rows = await mergedRows(views, {
    ...eventList(owner, undefined),
    // The cursor followed by a space is the next possible sort key.
    from: cursor === undefined ? timeSortKey(fromMs) : `${cursor} `,
    until: timeSortKey(untilMs),
    limit: limit + 1,
    consistent: true,
  });
  const page = rows.slice(0, limit);
  const events = page.map(({ sort, body }) => {
    const { type } = JSON.parse(body) as EventBody;
    return { eventId: idOf(sort), type, occurredAtMs: timeOf(sort) };
  });
  const last = page.at(-1);
  return rows.length > limit && last !== undefined ? { events, cursor: last.sort } : { events };
}
