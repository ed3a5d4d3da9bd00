import { eventOf, type PayonceEvent, type PublicEventType, parseEventId } from '../../events/domain/event.ts';
import type { Digest } from '../../kernel/digest.ts';
import { parsePaymentId } from '../../kernel/ids.ts';
import { detailsOf } from '../../payments/domain/transition.ts';
import type { TransitionReader } from '../../payments/use/transition-reader.ts';
import type { Caller } from '../../tenants/authenticate.ts';
import { eventPartitions, eventPlace, isPublicType } from '../domain/views.ts';
import { type ListPage, listPage } from './list-page.ts';
import { type ListOutcome, listFrom } from './list-payments.ts';
import type { ViewStore } from './view-store.ts';

export interface ReadEventTools {
  readonly transitions: TransitionReader;
  readonly digest: Digest;
}

/**
 * The caller's event of that id, made again from its transition: read consistently, and the same for ever.
 *
 * @returns undefined when he has none, whatever the reason
 */
export async function readOwnEvent(
  { transitions, digest }: ReadEventTools,
  { tenantId, mode }: Caller,
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

/** Cursors are ids of events, as the client gave them. */
export interface ListEvents extends ListPage {
  readonly type?: PublicEventType;
}

/** A page of the caller's events, newest first. @throws RetryableError when it cannot be read now */
export async function listEvents(
  tools: ReadEventTools & { readonly views: Pick<ViewStore, 'range'> },
  caller: Caller,
  { type, after, before, ...page }: ListEvents,
): Promise<ListOutcome> {
  const placed = async (id: string): Promise<string | undefined> => {
    const event = await readOwnEvent(tools, caller, id);
    return event === undefined ? undefined : eventPlace(event);
  };
  const partitions = eventPartitions(caller, type ?? 'all');
  return listFrom({ after, before, placed }, (cursors) => listPage(tools.views, partitions, { ...page, ...cursors }));
}
