import type { JobMarks } from '../../jobs/use/job-marks.ts';
import { fullJitter } from '../../kernel/backoff.ts';
import { timeOf } from '../../payments/use/transition-reader.ts';
import { LOST_EVENTS_JOB, RELAY_MAX_AGE_SECONDS } from '../contract.ts';
import type { StreamRecord } from './ledger-stream.ts';
import { type Relayed, type RelayTools, relayTransitions } from './relay-transitions.ts';

/**
 * Upper limits of the first and of the longest wait between two attempts, in milliseconds. The limit doubles; each wait
 * is random (full jitter).
 */
const FIRST_WAIT_MS = 5_000;
const LONGEST_WAIT_MS = 120_000;

export interface RetryingRelayTools extends RelayTools {
  /** Reads the mark of the job `republish-events`: the position up to which it has processed the Ledger. */
  readonly marks: Pick<JobMarks, 'readMark'>;
  readonly onAttempt: (attempt: RelayAttempt) => void;
}

export interface RelayAttempt extends Relayed {
  readonly deferred: number;
}

/**
 * Lambda parks a batch after twenty retries, whether a record is bad or the bus was unavailable, so the relay waits
 * within a delivery:
 *
 *   delivery 1   bus down ── 5 s ── down ── 10 s ── … ── 9 minutes: redeliver from record 1
 *   delivery 2   bus down ── 5 s ── published
 *
 * The relay leaves records that have waited for {@link RELAY_MAX_AGE_SECONDS} to the job that publishes lost events, so
 * that no record is parked merely because it waited.
 *
 * @param deadlineMs the time after which no attempt begins; Unix milliseconds
 * @returns the position of the first record that the Stream must deliver again; undefined when there is none
 */
export async function relayWithRetries(
  tools: RetryingRelayTools,
  records: readonly StreamRecord[],
  deadlineMs: number,
): Promise<string | undefined> {
  const { clock, entropy, onAttempt } = tools;
  let waiting = records;
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS)) {
    const relayed = await relayTransitions(tools, waiting);
    waiting = 'redeliverFrom' in relayed ? from(waiting, relayed.redeliverFrom) : [];
    const deferred = await countDeferred(tools, waiting);
    onAttempt({ ...relayed, deferred });
    waiting = waiting.slice(deferred);
    const jitteredMs = fullJitter(waitMs, entropy);
    const [first] = waiting;
    if (first === undefined || clock.nowMs() + jitteredMs > deadlineMs) return first?.position;
    await clock.sleep(jitteredMs);
  }
}

function from(records: readonly StreamRecord[], redeliverFrom: string | undefined): readonly StreamRecord[] {
  return records.slice(records.findIndex(({ position }) => position === redeliverFrom));
}

/**
 * A record is deferred only if the job's mark has not passed it, so that the job still reads the record in the Ledger.
 * The mark does not advance until the bus has accepted the event. A record that is redriven days later is never
 * deferred.
 */
async function countDeferred(
  { clock, marks, report }: RetryingRelayTools,
  records: readonly StreamRecord[],
): Promise<number> {
  const keptSinceMs = clock.nowMs() - RELAY_MAX_AGE_SECONDS * 1_000;
  const kept = records.findIndex((record) => occurredAtMs(record) >= keptSinceMs);
  const old = kept === -1 ? records : records.slice(0, kept);
  if (old.length === 0) return 0;
  try {
    const mark = await marks.readMark(LOST_EVENTS_JOB);
    const markMs = mark === undefined ? Number.POSITIVE_INFINITY : timeOf(mark);
    const passed = old.findIndex((record) => occurredAtMs(record) <= markMs);
    return passed === -1 ? old.length : passed;
  } catch (error) {
    report(error);
    return 0;
  }
}

/**
 * Returns the time of the record's event, in Unix milliseconds. For a record without an event, returns infinity: such a
 * record is never deferred to the job, but parked if it cannot be processed.
 */
function occurredAtMs({ content }: StreamRecord): number {
  return content.kind === 'transition' ? content.transition.occurredAtMs : Number.POSITIVE_INFINITY;
}
