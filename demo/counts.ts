import { setTimeout as sleep } from 'node:timers/promises';
import type { Charge } from '../lambdas/processors/sandbox/sandbox-api.ts';
import type { EventKind } from './contract.ts';
import type { Scenario } from './scenarios.ts';
import type { Side } from './side.ts';
import type { Counts } from './verdict.ts';

/** If the expected count is 0, there is no result to wait for. */
export interface Subject extends Pick<Scenario, 'moves' | 'deliveries' | 'expected'> {
  readonly payment: string;
}

const POLL_INTERVAL_MS = 250;
/** These counts are only for display. */
const SHOWN_INTERVAL_MS = 500;
/** Unchanged counts are final after this time: an event reaches its consumer within a second. */
const QUIET_MS = 2_500;
/** Longer than QUIET_MS, because an event may still be in transit. */
const QUIET_WITHOUT_ANY_MS = 4 * QUIET_MS;

/**
 * Waits at most for the side's `givenUpAfterMs`.
 *
 * @param endedMs time of `performance.now()` at which the failure ended
 * @throws Error if the event was not delivered as often as the subject requires
 */
export async function countAtRest(side: Side, subject: Subject, endedMs: number): Promise<Counts> {
  const begunMs = performance.now();
  const [fewest, quietMs] = subject.expected === 0 ? [0, QUIET_WITHOUT_ANY_MS] : [1, QUIET_MS];
  let last = await count(side, subject);
  let changedAtMs = begunMs;
  for (;;) {
    const nowMs = performance.now();
    const { counts, deliveries } = last;
    const isThere =
      Object.values(counts).every((found) => found >= fewest) && deliveries >= (subject.deliveries ?? fewest);
    if (isThere && nowMs - changedAtMs >= quietMs) return counts;
    if (nowMs - endedMs >= side.config.givenUpAfterMs && nowMs - begunMs >= QUIET_WITHOUT_ANY_MS)
      return lateCounts(last, subject);
    await sleep(POLL_INTERVAL_MS);
    const next = await count(side, subject);
    if (JSON.stringify(next) !== JSON.stringify(last)) changedAtMs = performance.now();
    last = next;
  }
}

export async function countRepeatedly(
  side: Side,
  subject: Subject,
  counted: (counts: Counts) => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    // Ignore a failed count. These counts are only displayed; `countAtRest` returns the final ones.
    const found = await count(side, subject).catch(() => undefined);
    if (found !== undefined && !signal.aborted) counted(found.counts);
    await sleep(SHOWN_INTERVAL_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** @throws Error if the event was not delivered again, because the counts would then prove nothing */
function lateCounts({ counts, deliveries }: Found, subject: Subject): Counts {
  if (counts.events > 0 && deliveries < (subject.deliveries ?? 1)) {
    throw new Error(`the event of ${subject.payment} was not delivered again`);
  }
  return counts;
}

interface Found {
  readonly counts: Counts;
  readonly deliveries: number;
}

async function count(side: Side, { payment, moves }: Subject): Promise<Found> {
  const kind: EventKind = moves === 'charge' ? 'payment.completed' : 'refund.completed';
  const receipts = (await side.config.receipts(payment)).filter((receipt) => receipt.kind === kind);
  const deliveries = receipts.flatMap((receipt) => (receipt.row === 'delivery' ? [receipt.eventId] : []));
  const counts = {
    atProcessor: atProcessor(await side.charges(payment), kind),
    postings: await side.config.postings(payment, kind),
    events: new Set(deliveries).size,
    effects: receipts.length - deliveries.length,
  };
  return { counts, deliveries: deliveries.length };
}

function atProcessor(charges: readonly Charge[], kind: EventKind): number {
  if (kind === 'payment.completed') return charges.filter(({ amount_captured }) => amount_captured > 0).length;
  return charges.flatMap(({ refunds }) => refunds).filter(({ status }) => status === 'succeeded').length;
}
