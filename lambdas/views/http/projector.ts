import type { PayonceEvent } from '../../events/domain/event.ts';
import { type ViewOwner } from '../domain/lists.ts';
import { DAY_MS, dayOf } from '../domain/views.ts';
import { type CloseDaysTools, closeDays } from '../use/close-days.ts';
import { type ProjectTools, projectEvent } from '../use/project-event.ts';

/**
 * Maximum number of days that one event closes, so that a batch stays within its timeout. After a long outage, later
 * events close the remaining days.
 */
const DAYS_AT_ONCE = 2;
/** Time between the end of a day and its closing, in milliseconds. */
const HOUR_MS = 60 * 60 * 1000;
/** Time until the next attempt to close days, in milliseconds, after a failure or while a rival closes them. */
const BUSY_MS = 60_000;
/**
 * Maximum number of owners (a tenant in a mode) in memory. When it is reached, all owners are removed, which costs a
 * few reads for each owner with new events.
 */
const MAX_REMEMBERED = 10_000;

export interface ProjectorTools extends CloseDaysTools, Omit<ProjectTools, 'clock'> {
  readonly report: (error: unknown) => void;
}

/**
 * Writes events into the Views, and closes the completed days of the events' owners. The job `close-days` closes the
 * days of owners without new events.
 */
export class Projector {
  readonly #tools: ProjectorTools;
  /** For each owner, the time before which no day needs to be closed, in Unix milliseconds. */
  readonly #nextCloseAtMs = new Map<string, number>();

  constructor(tools: ProjectorTools) {
    this.#tools = tools;
  }

  /** @throws as {@link projectEvent} */
  async take(event: PayonceEvent): Promise<'projected' | 'projected_before'> {
    const projected = await projectEvent(this.#tools, event);
    await this.#closeDays({ tenantId: event.tenant, mode: event.mode });
    return projected;
  }

  /** If closing fails, a later event closes the days: closed days only speed up balance reads. */
  async #closeDays(owner: ViewOwner): Promise<void> {
    const name = `${owner.tenantId}#${owner.mode}`;
    const nowMs = this.#tools.clock.nowMs();
    const nextClose = this.#nextCloseAtMs;
    if (nowMs < (nextClose.get(name) ?? 0)) return;
    if (nextClose.size >= MAX_REMEMBERED) nextClose.clear();
    nextClose.set(name, dayOf(nowMs - HOUR_MS) + DAY_MS + HOUR_MS);
    try {
      const { closed, more } = await closeDays(this.#tools, owner, DAYS_AT_ONCE);
      if (more) nextClose.set(name, closed > 0 ? nowMs : nowMs + BUSY_MS);
    } catch (error) {
      nextClose.set(name, nowMs + BUSY_MS);
      this.#tools.report(error);
    }
  }
}
