import type { Digest } from '../../kernel/digest.ts';
import { isFault, TerminalError } from '../../kernel/faults.ts';
import { invariant } from '../../kernel/invariant.ts';
import { detailsOf } from '../../payments/domain/transition.ts';
import type {
  OutcomePlace,
  RecentOutcomes,
  SeenEvents,
  TransitionReader,
} from '../../payments/use/transition-reader.ts';
import { eventOf, type PayonceEvent } from '../domain/event.ts';
import type { PublishOutcome } from './event-publisher.ts';
import { type PublishTools, publishAll } from './publish-events.ts';

export interface RepublishTools extends PublishTools {
  readonly transitions: TransitionReader & RecentOutcomes;
  /** @default nobody tells, so that all of the range is published again */
  readonly seen?: SeenEvents;
  readonly digest: Digest;
  /** Told of what nobody can read, and of what the bus refuses. @default nobody is told: it is only counted */
  readonly report?: (error: unknown) => void;
}

export interface RepublishRange {
  /** Unix milliseconds, inclusive; as whole minutes of UTC. */
  readonly sinceMs: number;
  /** Unix milliseconds, exclusive. */
  readonly untilMs: number;
  /** When to stop, and to say where to go on. Unix milliseconds. */
  readonly deadlineMs: number;
}

export interface Republished {
  /** Outcomes that the Ledger has in what was walked through. */
  readonly found: number;
  readonly published: number;
  /** What nobody can read, and what the bus will never take; left out when there is none. They hold up nothing. */
  readonly unpublishable?: number;
  /** Where to go on; left out when all is done. Unix milliseconds. */
  readonly nextMs?: number;
}

const MINUTE_MS = 60_000;
/** Read at once, and held in memory at once. */
const READ_AT_ONCE = 20;

/**
 * Publishes again what the range holds and nobody has seen, so that an outage longer than the Stream's day loses nothing.
 * Whoever has had an event already knows it by its id.
 *
 * @throws RetryableError when the Ledger cannot be read now
 */
export async function republishEvents(tools: RepublishTools, range: RepublishRange): Promise<Republished> {
  const sum = { found: 0, published: 0, unpublishable: 0 };
  const firstMs = Math.floor(range.sinceMs / MINUTE_MS) * MINUTE_MS;
  for (let minuteMs = firstMs; minuteMs < range.untilMs; minuteMs += MINUTE_MS) {
    if (tools.clock.nowMs() >= range.deadlineMs) return { ...told(sum), nextMs: minuteMs };
    const places = await tools.transitions.outcomesOfMinute(minuteMs);
    const missing = tools.seen === undefined ? places : await tools.seen.unseen(places);
    sum.found += places.length;
    for (let start = 0; start < missing.length; start += READ_AT_ONCE) {
      // Whoever comes back to the minute finds the rest, as long as somebody tells what was seen.
      const isOver = start > 0 && tools.seen !== undefined && tools.clock.nowMs() >= range.deadlineMs;
      if (isOver) return { ...told(sum), nextMs: minuteMs };
      const read = await Promise.all(missing.slice(start, start + READ_AT_ONCE).map((place) => eventAt(tools, place)));
      const events = read.filter((event) => event !== undefined);
      const outcomes = await publishAll(tools, events);
      const refused = outcomes.flatMap((outcome, index) => refusal(outcome, events[index]));
      for (const error of refused) tools.report?.(error);
      sum.published += outcomes.filter(({ kind }) => kind === 'published').length;
      sum.unpublishable += read.length - events.length + refused.length;
      // The bus is down: the same minute again, later.
      if (outcomes.some(({ kind }) => kind === 'not_now')) return { ...told(sum), nextMs: minuteMs };
    }
  }
  return told(sum);
}

function refusal(outcome: PublishOutcome, event: PayonceEvent | undefined): readonly TerminalError[] {
  if (outcome.kind !== 'refused') return [];
  return [
    new TerminalError('event_refused_by_bus', `the bus refuses ${event?.event.id ?? 'an event'}: ${outcome.code}`),
  ];
}

function told({ found, published, unpublishable }: Required<Omit<Republished, 'nextMs'>>): Republished {
  return { found, published, ...(unpublishable === 0 ? {} : { unpublishable }) };
}

/** @returns undefined when nobody can read it: a bug, or a form that this code does not know, must not hold up the others */
async function eventAt(
  { transitions, digest, report }: RepublishTools,
  place: OutcomePlace,
): Promise<PayonceEvent | undefined> {
  try {
    const [first, transition] = await Promise.all([
      transitions.readTransition({ ...place, sequence: 1 }),
      transitions.readTransition(place),
    ]);
    invariant(first !== undefined && transition !== undefined, 'what the index names is in the Ledger');
    return eventOf(digest, transition, detailsOf(first));
  } catch (error) {
    if (isFault(error)) throw error;
    report?.(error);
    return undefined;
  }
}
