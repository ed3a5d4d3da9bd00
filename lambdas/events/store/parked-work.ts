import * as z from 'zod';
import type { RedriveRequest } from '../contract.ts';
import type { ParkedWork } from '../use/redrive-parked.ts';
import { readStreamRecord } from './stream-records.ts';

/** The message of Lambda about a batch whose tries are over. It contains the position in the Stream, not the records (Lambda, "on-failure destination"). */
const lostBatch = z.object({
  DDBStreamBatchInfo: z.object({
    approximateArrivalOfFirstRecord: z.iso.datetime({ offset: true }),
    approximateArrivalOfLastRecord: z.iso.datetime({ offset: true }),
  }),
});

/** The message of Lambda about a redrive that failed finally. It contains the request (Lambda, "Capturing records of Lambda asynchronous invocations"). */
const failedRedrive = z.object({
  requestPayload: z.object({ parked: z.string() }) satisfies z.ZodType<RedriveRequest>,
});

/**
 * Transitions are found by their writer's clock, but the batch has AWS's times. Clocks differ by at most five minutes; twice
 * that is harmless. Milliseconds.
 */
const MARGIN_MS = 10 * 60_000;

/** Reads the body of a parked message. Never throws: what is no JSON is a record that cannot be read. */
export function parkedWork(body: string): ParkedWork {
  const content = parsed(body);
  if (content === undefined)
    return {
      kind: 'record',
      record: { position: '', whole: body, content: { kind: 'unreadable', detail: 'no JSON' } },
    };
  const failed = failedRedrive.safeParse(content);
  if (failed.success) return parkedWork(failed.data.requestPayload.parked);
  const lost = lostBatch.safeParse(content);
  if (!lost.success) return { kind: 'record', record: readStreamRecord(content) };
  const { approximateArrivalOfFirstRecord, approximateArrivalOfLastRecord } = lost.data.DDBStreamBatchInfo;
  return {
    kind: 'range',
    sinceMs: Date.parse(approximateArrivalOfFirstRecord) - MARGIN_MS,
    untilMs: Date.parse(approximateArrivalOfLastRecord) + MARGIN_MS,
  };
}

/** The body from which {@link parkedWork} reads this range. */
export function parkedRange({ sinceMs, untilMs }: { readonly sinceMs: number; readonly untilMs: number }): string {
  const at = (timeMs: number): string => new Date(timeMs).toISOString();
  return JSON.stringify({
    DDBStreamBatchInfo: {
      approximateArrivalOfFirstRecord: at(sinceMs + MARGIN_MS),
      approximateArrivalOfLastRecord: at(untilMs - MARGIN_MS),
    },
  } satisfies z.infer<typeof lostBatch>);
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
