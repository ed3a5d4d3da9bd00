import * as z from 'zod';
import {
  type EventSource,
  id,
  type ReadEvent,
  readEventBody,
  unreadable,
} from '../../../lambdas/processors/event-body.ts';

const notice = z.object({ notice: id, sale: id, what: z.string() });

export function readTillhouseNotice(source: EventSource, body: Uint8Array): ReadEvent {
  const read = readEventBody(body);
  if (read.kind === 'unreadable') return read;
  const checked = notice.safeParse(read.value);
  if (!checked.success) return unreadable(checked.error);
  const { notice: eventId, sale: chargeId, what: type } = checked.data;
  return { kind: 'event', event: { ...source, eventId, type, chargeId } };
}
