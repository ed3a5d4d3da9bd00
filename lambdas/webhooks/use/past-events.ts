import { eventOf, type PayonceEvent } from '../../events/domain/event.ts';
import type { Digest } from '../../kernel/digest.ts';
import { isFault } from '../../kernel/faults.ts';
import { invariant } from '../../kernel/invariant.ts';
import { detailsOf } from '../../payments/domain/transition.ts';
import type { OutcomePlace, RecentOutcomes, TransitionReader } from '../../payments/use/transition-reader.ts';
import type { PastEvents, PastEventsPage, PastEventsQuery } from './webhooks.ts';

const MINUTE_MS = 60_000;
/** Each is a query of every shard of the index: so many take a second or two. */
const MINUTES_PER_PAGE = 20;
/** Of all tenants, each two reads. */
const OUTCOMES_PER_PAGE = 250;

/** The minute, and how many of its outcomes were looked at. */
const CURSOR = /^(?<minute>\d{1,15}):(?<offset>\d{1,9})$/;

/**
 * The events of a tenant as the Ledger's index of outcomes has them, minute by minute: it knows no tenants, so all are looked
 * at. A page is bounded by what it looks at; a long range is many pages.
 *
 * @param report told of what nobody can read: it is left out, because it may be another tenant's
 */
export function ledgerPastEvents(
  transitions: TransitionReader & RecentOutcomes,
  digest: Digest,
  report: (error: unknown) => void,
): PastEvents {
  return { page: (query) => new PageWalk(transitions, digest, query, report).walk() };
}

class PageWalk {
  readonly #transitions: TransitionReader & RecentOutcomes;
  readonly #digest: Digest;
  readonly #query: PastEventsQuery;
  readonly #report: (error: unknown) => void;
  readonly #events: PayonceEvent[] = [];
  #looked = 0;

  constructor(
    transitions: TransitionReader & RecentOutcomes,
    digest: Digest,
    query: PastEventsQuery,
    report: (error: unknown) => void,
  ) {
    this.#transitions = transitions;
    this.#digest = digest;
    this.#query = query;
    this.#report = report;
  }

  async walk(): Promise<PastEventsPage> {
    const { fromMs, untilMs, cursor } = this.#query;
    const { minute, offset } = cursor === undefined ? {} : (CURSOR.exec(cursor)?.groups ?? {});
    let minuteMs = minute === undefined ? Math.floor(fromMs / MINUTE_MS) * MINUTE_MS : Number(minute);
    let from = Number(offset ?? 0);
    for (let minutes = 0; minutes < MINUTES_PER_PAGE; minutes += 1) {
      if (minuteMs >= untilMs) return { events: this.#events };
      const stoppedAt = await this.#minute(minuteMs, from);
      if (stoppedAt !== undefined) return { events: this.#events, cursor: `${minuteMs}:${stoppedAt}` };
      minuteMs += MINUTE_MS;
      from = 0;
    }
    return minuteMs >= untilMs ? { events: this.#events } : { events: this.#events, cursor: `${minuteMs}:0` };
  }

  /** @returns where in the minute the page is full; undefined when the minute is done */
  async #minute(minuteMs: number, from: number): Promise<number | undefined> {
    const places = [...(await this.#transitions.outcomesOfMinute(minuteMs))].sort(byPlace);
    for (let index = from; index < places.length; index += 1) {
      if (this.#events.length >= this.#query.limit || this.#looked >= OUTCOMES_PER_PAGE) return index;
      const place = places[index];
      invariant(place !== undefined, 'the index is within the list');
      this.#looked += 1;
      const event = await this.#readable(place);
      if (event !== undefined) this.#events.push(event);
    }
    return undefined;
  }

  async #readable(place: OutcomePlace): Promise<PayonceEvent | undefined> {
    try {
      return await this.#ownEvent(place);
    } catch (error) {
      if (isFault(error)) throw error;
      this.#report(error);
      return undefined;
    }
  }

  async #ownEvent(place: OutcomePlace): Promise<PayonceEvent | undefined> {
    const { tenantId, mode, fromMs, untilMs } = this.#query;
    const transition = await this.#transitions.readTransition(place);
    invariant(transition !== undefined, 'what the index names is in the Ledger');
    const { payment, occurredAtMs } = transition;
    if (payment.tenantId !== tenantId || payment.mode !== mode) return undefined;
    if (occurredAtMs < fromMs || occurredAtMs >= untilMs) return undefined;
    const first = await this.#transitions.readTransition({ ...place, sequence: 1 });
    invariant(first !== undefined, 'a payment has a first transition');
    return eventOf(this.#digest, transition, detailsOf(first));
  }
}

/** The index gives them in any order, and a cursor needs one. */
function byPlace(left: OutcomePlace, right: OutcomePlace): number {
  if (left.paymentId !== right.paymentId) return left.paymentId < right.paymentId ? -1 : 1;
  return left.sequence - right.sequence;
}
