import * as z from 'zod';
import type { ParkedWork } from '../use/redrive-parked.ts';
import { firstParked, parsedJson } from './failed-redrive.ts';
import { readStreamRecord } from './stream-records.ts';

/**
 * Lambda's message about a batch whose attempts are exhausted. It contains the position in the Stream, not the records
 * (Lambda, "on-failure destination").
 */
const lostBatch = z.object({
  DDBStreamBatchInfo: z.object({
    approximateArrivalOfFirstRecord: z.iso.datetime({ offset: true }),
    approximateArrivalOfLastRecord: z.iso.datetime({ offset: true }),
  }),
});

/**
 * Margin around the time range of a batch, in milliseconds. The times of a batch are from AWS's clocks, but the Ledger
 * finds transitions by the times of their writers' clocks. Clocks differ by at most five minutes; a margin of twice
 * this difference does no harm.
 */
const MARGIN_MS = 10 * 60_000;

/** Never throws: text that is not JSON is an unreadable record. */
export function parkedWork(message: string): ParkedWork {
  const body = firstParked(message);
  const content = parsedJson(body);
  if (content === undefined)
    return {
      kind: 'record',
      record: { position: '', whole: body, content: { kind: 'unreadable', detail: 'not JSON' } },
    };
  const lost = lostBatch.safeParse(content);
  if (!lost.success) return { kind: 'record', record: readStreamRecord(content) };
  const { approximateArrivalOfFirstRecord, approximateArrivalOfLastRecord } = lost.data.DDBStreamBatchInfo;
  return {
    kind: 'range',
    sinceMs: Date.parse(approximateArrivalOfFirstRecord) - MARGIN_MS,
    untilMs: Date.parse(approximateArrivalOfLastRecord) + MARGIN_MS,
  };
}

/** Returns a message body that {@link parkedWork} parses as this range. */
export function parkedRangeBody({ sinceMs, untilMs }: { readonly sinceMs: number; readonly untilMs: number }): string {
  const at = (timeMs: number): string => new Date(timeMs).toISOString();
  return JSON.stringify({
    DDBStreamBatchInfo: {
      approximateArrivalOfFirstRecord: at(sinceMs + MARGIN_MS),
      approximateArrivalOfLastRecord: at(untilMs - MARGIN_MS),
    },
  } satisfies z.infer<typeof lostBatch>);
}
