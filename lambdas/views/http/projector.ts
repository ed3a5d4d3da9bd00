import type { PayonceEvent } from '../../events/domain/event.ts';
import { DAY_MS, dayOf, type ViewOwner } from '../domain/views.ts';
import { type CloseDaysTools, closeDays } from '../use/close-days.ts';
import { type ProjectTools, projectEvent } from '../use/project-event.ts';

/** At once, so that a batch stays well within its time: after a long outage the days are closed batch by batch. */
const DAYS_AT_ONCE = 2;
/** Days are closed an hour after their end. */
const HOUR_MS = 60 * 60 * 1000;
/** Where days cannot be closed now, or others are at it, it is tried again after this, and not with every event. */
const BUSY_MS = 60_000;
/** Owners of whom it is remembered when their days were last looked at; forgetting one costs a few reads. */
const MAX_REMEMBERED = 10_000;

export interface ProjectorTools extends CloseDaysTools, ProjectTools {
  readonly report: (error: unknown) => void;
}

/**
 * Writes events into the Views, and closes the days that have passed of those whose events come in: where nothing comes
 * in, there is nothing to add up.
 */
export class Projector {
  readonly #tools: ProjectorTools;
  /** By owner: before this there is nothing to close. Unix milliseconds. */
  readonly #restsUntilMs = new Map<string, number>();

  constructor(tools: ProjectorTools) {
    this.#tools = tools;
  }

  /** @throws as {@link projectEvent} */
  async take(event: PayonceEvent): Promise<'projected' | 'projected_before'> {
    const projected = await projectEvent(this.#tools, event);
    if (event.postings.length > 0) await this.#closeDays({ tenantId: event.tenant, mode: event.mode });
    return projected;
  }

  /** What fails here is made up for by a later event: nothing but the speed of a balance depends on it. */
  async #closeDays(owner: ViewOwner): Promise<void> {
    const name = `${owner.tenantId}#${owner.mode}`;
    const nowMs = this.#tools.clock.nowMs();
    const rests = this.#restsUntilMs;
    if (nowMs < (rests.get(name) ?? 0)) return;
    if (rests.size >= MAX_REMEMBERED) rests.clear();
    rests.set(name, dayOf(nowMs - HOUR_MS) + DAY_MS + HOUR_MS);
    try {
      const { closed, more } = await closeDays(this.#tools, owner, DAYS_AT_ONCE);
      if (more) rests.set(name, closed > 0 ? nowMs : nowMs + BUSY_MS);
    } catch (error) {
      rests.set(name, nowMs + BUSY_MS);
      this.#tools.report(error);
    }
  }
}
