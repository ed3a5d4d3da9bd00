import type { Digest } from '../core/digest.ts';
import { eventOf, type PayonceEvent } from '../core/event.ts';
import { invariant } from '../core/invariant.ts';
import { detailsOf } from '../core/transition.ts';
import type { OutcomePlace, RecentOutcomes, SeenEvents, TransitionReader } from './ports/transition-reader.ts';
import { type PublishTools, publishAll } from './publish-events.ts';

export interface RepublishTools extends PublishTools {
  readonly transitions: TransitionReader & RecentOutcomes;
  /** @default nobody tells, so that all of the range is published again */
  readonly seen?: SeenEvents;
  readonly digest: Digest;
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
  let found = 0;
  let published = 0;
  const firstMs = Math.floor(range.sinceMs / MINUTE_MS) * MINUTE_MS;
  for (let minuteMs = firstMs; minuteMs < range.untilMs; minuteMs += MINUTE_MS) {
    if (tools.clock.nowMs() >= range.deadlineMs) return { found, published, nextMs: minuteMs };
    const places = await tools.transitions.outcomesOfMinute(minuteMs);
    const missing = tools.seen === undefined ? places : await tools.seen.unseen(places);
    found += places.length;
    for (let start = 0; start < missing.length; start += READ_AT_ONCE) {
      const events = await Promise.all(
        missing.slice(start, start + READ_AT_ONCE).map((place) => eventAt(tools, place)),
      );
      const outcomes = await publishAll(tools, events);
      published += outcomes.filter(({ kind }) => kind === 'published').length;
      // The bus is down: the same minute again, later.
      if (outcomes.some(({ kind }) => kind === 'not_now')) return { found, published, nextMs: minuteMs };
    }
  }
  return { found, published };
}

async function eventAt({ transitions, digest }: RepublishTools, place: OutcomePlace): Promise<PayonceEvent> {
  const [first, transition] = await Promise.all([
    transitions.readTransition({ ...place, sequence: 1 }),
    transitions.readTransition(place),
  ]);
  invariant(first !== undefined && transition !== undefined, 'what the index names is in the Ledger');
  return eventOf(digest, transition, detailsOf(first));
}
